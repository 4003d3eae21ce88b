import { InjectQueue } from '@nestjs/bullmq';
import { Inject, Injectable } from '@nestjs/common';
import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { PRODUCER_REDIS } from '#redis/redis.module.js';
import { RedisConfig } from '#redis/redis.config.js';
import { DELIVER_WEBHOOK, WEBHOOK_QUEUE, webhookJobId } from './job-catalog.js';
import { WEBHOOK_SENDER, whileConnected } from './queue-sender.js';

/** A delivery to enqueue for an attempt. */
export interface WebhookEntry {
  readonly deliveryId: string;
  readonly epoch: number;
  /** Milliseconds before a worker may take it. */
  readonly delayMs?: number;
}

/** As with images: the row is the record and handles retries, so a job runs once and leaves nothing behind. */
const JOB_OPTIONS = { attempts: 1, removeOnComplete: true, removeOnFail: true } as const;

/** The producer of the webhook delivery queue, separate from the images so that neither waits for the other. */
@Injectable()
export class WebhookQueue {
  constructor(
    @InjectQueue(WEBHOOK_SENDER) private readonly queue: Queue,
    @Inject(PRODUCER_REDIS) private readonly redis: Redis,
    private readonly config: RedisConfig,
  ) {
    queue.on('error', () => undefined); // reported by the connection itself
  }

  /** Throws when Redis refuses, is down, or does not answer within the command timeout. */
  async addAll(entries: readonly WebhookEntry[]): Promise<void> {
    if (entries.length === 0) return;
    const queue = whileConnected(this.queue, this.redis);
    await queue.addBulk(
      entries.map(({ deliveryId, epoch, delayMs }) => ({
        name: DELIVER_WEBHOOK,
        data: { deliveryId },
        opts: {
          ...JOB_OPTIONS,
          jobId: webhookJobId(deliveryId, epoch),
          ...(delayMs === undefined ? {} : { delay: delayMs }),
        },
      })),
    );
  }

  /** The entries that have no job, because it was never added or was lost with Redis. Throws like `addAll`. */
  async missing<T extends WebhookEntry>(entries: readonly T[]): Promise<T[]> {
    const pipeline = this.redis.pipeline();
    const jobs = `${this.config.redisPrefix}:${WEBHOOK_QUEUE}`;
    for (const { deliveryId, epoch } of entries) pipeline.exists(`${jobs}:${webhookJobId(deliveryId, epoch)}`);
    const replies = (await pipeline.exec()) ?? [];
    return entries.filter((_entry, index) => {
      const [error, exists] = replies[index] ?? [new Error('no reply'), 1];
      if (error) throw error;
      return exists === 0;
    });
  }
}
