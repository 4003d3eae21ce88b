import type { Redis } from 'ioredis';
import { DELIVER_WEBHOOK, WEBHOOK_QUEUE, webhookJobId } from './job-catalog.js';
import { JobSender } from './job-sender.js';

/** A delivery that wants to be attempted. */
export interface WebhookEntry {
  readonly deliveryId: string;
  readonly epoch: number;
  /** Milliseconds before a worker may take it. */
  readonly delayMs?: number;
}

/** As with pictures: the row owns retries and is the record, so a job runs once and leaves nothing behind. */
const JOB_OPTIONS = { attempts: 1, removeOnComplete: true, removeOnFail: true } as const;

/** The sending end of the queue of webhook deliveries, apart from the pictures so that neither waits for the other. */
export class WebhookQueue {
  private readonly sender: JobSender;

  constructor(redis: Redis, prefix: string) {
    this.sender = new JobSender(redis, prefix, WEBHOOK_QUEUE);
  }

  /** Throws when Redis refuses, is down, or does not answer within the command timeout. */
  async addAll(entries: readonly WebhookEntry[]): Promise<void> {
    if (entries.length === 0) return;
    const queue = await this.sender.open();
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

  /** Those of the entries that have no job: never added, or lost with Redis. Throws like `addAll`. */
  async missing<T extends WebhookEntry>(entries: readonly T[]): Promise<T[]> {
    return this.sender.missing(entries, ({ deliveryId, epoch }) => webhookJobId(deliveryId, epoch));
  }

  async close(): Promise<void> {
    await this.sender.close();
  }
}
