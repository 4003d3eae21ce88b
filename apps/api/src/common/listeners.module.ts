import { Module, type OnApplicationShutdown } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { patientConnection } from '#queue/connections.js';
import { QueueConfig } from '#queue/queue.config.js';
import { TaskBellListener } from '#tasks/task-events.js';
import { TaskPartialsListener } from '#tasks/task-partials.js';
import { Logger } from '#telemetry/logger.js';

/** The one connection of a process that is subscribed: it can do nothing else. */
const LISTENING_REDIS = Symbol('listening redis');

const redis = {
  provide: LISTENING_REDIS,
  inject: [QueueConfig, Logger],
  useFactory: (config: QueueConfig, logger: Logger) => patientConnection(config, 'bell', logger),
};
const bell = {
  provide: TaskBellListener,
  inject: [LISTENING_REDIS, QueueConfig],
  useFactory: (connection: Redis, { redisPrefix }: QueueConfig) => new TaskBellListener(connection, redisPrefix),
};
const partials = {
  provide: TaskPartialsListener,
  inject: [LISTENING_REDIS, QueueConfig],
  useFactory: (connection: Redis, { redisPrefix }: QueueConfig) => new TaskPartialsListener(connection, redisPrefix),
};

/** What the process hears of tasks: that they moved, and their partial pictures. */
@Module({ providers: [redis, bell, partials], exports: [bell, partials] })
export class ListenersModule implements OnApplicationShutdown {
  constructor(private readonly listener: TaskBellListener) {}

  /** After the features that wait for tasks, which import this. */
  onApplicationShutdown(): void {
    this.listener.close();
  }
}
