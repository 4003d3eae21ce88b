import { Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { Logger } from '#telemetry/logger.js';
import { producerConnection } from './connections.js';
import { ImageQueue } from './image-queue.js';
import { QueueLine } from './queue-line.js';
import { QueueHealth } from './queue-health.js';
import { QueueConfig } from './queue.config.js';
import { ServiceTimes } from './service-times.js';
import { WebhookQueue } from './webhook-queue.js';

/** The connection for short commands: enqueue, publish, counters. */
export const PRODUCER_REDIS = Symbol('producer redis');

const producer = { provide: PRODUCER_REDIS, inject: [QueueConfig, Logger], useFactory: producerConnection };
const queue = {
  provide: ImageQueue,
  inject: [PRODUCER_REDIS, QueueConfig],
  useFactory: (redis: Redis, config: QueueConfig) => new ImageQueue(redis, config.redisPrefix),
};
const webhooks = {
  provide: WebhookQueue,
  inject: [PRODUCER_REDIS, QueueConfig],
  useFactory: (redis: Redis, config: QueueConfig) => new WebhookQueue(redis, config.redisPrefix),
};
const health = {
  provide: QueueHealth,
  inject: [PRODUCER_REDIS, QueueConfig],
  useFactory: (redis: Redis, config: QueueConfig) => new QueueHealth(redis, config.redisPrefix),
};
const line = {
  provide: QueueLine,
  inject: [PRODUCER_REDIS, QueueConfig],
  useFactory: (redis: Redis, config: QueueConfig) => new QueueLine(redis, config.redisPrefix),
};
const times = {
  provide: ServiceTimes,
  inject: [PRODUCER_REDIS, QueueConfig],
  useFactory: (redis: Redis, config: QueueConfig) => new ServiceTimes(redis, config.redisPrefix),
};
const providers = [producer, queue, webhooks, health, line, times];

@Module({ providers, exports: providers })
export class QueueModule implements OnApplicationShutdown {
  constructor(
    @Inject(PRODUCER_REDIS) private readonly redis: Redis,
    private readonly queue: ImageQueue,
    private readonly webhooks: WebhookQueue,
    private readonly health: QueueHealth,
  ) {}

  async onApplicationShutdown(): Promise<void> {
    this.health.stop();
    await this.queue.close().catch(() => undefined);
    await this.webhooks.close().catch(() => undefined);
    this.redis.disconnect();
  }
}
