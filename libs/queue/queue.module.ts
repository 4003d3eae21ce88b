import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import type { Redis } from 'ioredis';
import { PRODUCER_REDIS, ProducerRedisModule, JOBS_REDIS, JobsRedisModule } from '#redis/redis.module.js';
import { RedisConfig } from '#redis/redis.config.js';
import { FairOrder } from './fair-order.js';
import { ImageQueue } from './image-queue.js';
import { IMAGE_QUEUE, THUMBNAIL_QUEUE, WEBHOOK_QUEUE } from './job-catalog.js';
import { QueueHealth } from './queue-health.js';
import { QueueLine } from './queue-line.js';
import { IMAGE_SENDER, senderOptions, THUMBNAIL_SENDER, WEBHOOK_SENDER } from './queue-sender.js';
import { ServiceTimes } from './service-times.js';
import { ThumbnailQueue } from './thumbnail-queue.js';
import { WebhookQueue } from './webhook-queue.js';
import { JobHandlers } from './job-handlers.js';

/** A queue under its producer's token. Nest closes it before the connection, which ProducerRedisModule owns. */
function sender(token: string, queue: string): Parameters<typeof BullModule.registerQueueAsync>[0] {
  return {
    name: token,
    imports: [ProducerRedisModule],
    inject: [PRODUCER_REDIS, RedisConfig],
    useFactory: (...parts: Parameters<typeof senderOptions>) => ({ name: queue, ...senderOptions(...parts) }),
  };
}

const parts = [FairOrder, ImageQueue, WebhookQueue, ThumbnailQueue, QueueHealth, QueueLine, ServiceTimes];

/** The producers of the queues, and what is known about the tasks in line. */
@Module({
  imports: [
    ProducerRedisModule,
    BullModule.registerQueueAsync(
      sender(IMAGE_SENDER, IMAGE_QUEUE),
      sender(WEBHOOK_SENDER, WEBHOOK_QUEUE),
      sender(THUMBNAIL_SENDER, THUMBNAIL_QUEUE),
    ),
  ],
  providers: parts,
  exports: [...parts, ProducerRedisModule],
})
export class QueueModule {}

/** For processes that take jobs: lets @Processor create their workers, and checks that every job has its handler. */
@Module({
  imports: [
    DiscoveryModule,
    BullModule.forRootAsync({
      imports: [JobsRedisModule],
      inject: [JOBS_REDIS, RedisConfig],
      useFactory: (connection: Redis, config: RedisConfig) => ({ connection, prefix: config.redisPrefix }),
    }),
    // Registers no queue, but without it nothing would discover the processors.
    BullModule.registerQueue(),
  ],
  providers: [JobHandlers],
})
export class JobsModule {}
