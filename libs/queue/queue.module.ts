import { Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { Logger } from '#telemetry/logger.js';
import { producerConnection } from './connections.js';
import { ImageQueue } from './image-queue.js';
import { QueueHealth } from './queue-health.js';
import { QueueConfig } from './queue.config.js';

/** The connection for short commands: enqueue, publish, counters. */
export const PRODUCER_REDIS = Symbol('producer redis');

const producer = { provide: PRODUCER_REDIS, inject: [QueueConfig, Logger], useFactory: producerConnection };
const queue = {
  provide: ImageQueue,
  inject: [PRODUCER_REDIS, QueueConfig],
  useFactory: (redis: Redis, config: QueueConfig) => new ImageQueue(redis, config.redisPrefix),
};
const health = {
  provide: QueueHealth,
  inject: [PRODUCER_REDIS, QueueConfig],
  useFactory: (redis: Redis, config: QueueConfig) => new QueueHealth(redis, config.redisPrefix),
};

@Module({ providers: [producer, queue, health], exports: [producer, queue, health] })
export class QueueModule implements OnApplicationShutdown {
  constructor(
    @Inject(PRODUCER_REDIS) private readonly redis: Redis,
    @Inject(ImageQueue) private readonly queue: ImageQueue,
    @Inject(QueueHealth) private readonly health: QueueHealth,
  ) {}

  async onApplicationShutdown(): Promise<void> {
    this.health.stop();
    await this.queue.close().catch(() => undefined);
    this.redis.disconnect();
  }
}
