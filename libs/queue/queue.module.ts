import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { FairOrder } from './fair-order.js';
import { ImageQueue } from './image-queue.js';
import { IMAGE_QUEUE, WEBHOOK_QUEUE } from './job-catalog.js';
import { PRODUCER_REDIS } from './connections.js';
import { ProducerRedisModule } from './producer-redis.module.js';
import { QueueHealth } from './queue-health.js';
import { QueueLine } from './queue-line.js';
import { IMAGE_SENDER, senderOptions, WEBHOOK_SENDER } from './queue-sender.js';
import { QueueConfig } from './queue.config.js';
import { ServiceTimes } from './service-times.js';
import { WebhookQueue } from './webhook-queue.js';

/** A queue under the token of its sending end. Nest closes it before the connection, which its module owns. */
function sender(token: string, queue: string): Parameters<typeof BullModule.registerQueueAsync>[0] {
  return {
    name: token,
    imports: [ProducerRedisModule],
    inject: [PRODUCER_REDIS, QueueConfig],
    useFactory: (...parts: Parameters<typeof senderOptions>) => ({ name: queue, ...senderOptions(...parts) }),
  };
}

const parts = [FairOrder, ImageQueue, WebhookQueue, QueueHealth, QueueLine, ServiceTimes];

/** The sending ends of the queues, and what is known of those who wait in them. */
@Module({
  imports: [
    ProducerRedisModule,
    BullModule.registerQueueAsync(sender(IMAGE_SENDER, IMAGE_QUEUE), sender(WEBHOOK_SENDER, WEBHOOK_QUEUE)),
  ],
  providers: parts,
  exports: [...parts, ProducerRedisModule],
})
export class QueueModule {}
