import { Injectable } from '@nestjs/common';
import { batched } from '#database/batched.js';
import { WebhookQueue, type WebhookEntry } from '#queue/webhook-queue.js';
import { Logger } from '#telemetry/logger.js';
import { DeliveryLine } from './delivery-line.js';

/** Enqueues deliveries at once. Nothing depends on it: rows say what is due, and the sweep enqueues what was missed. */
@Injectable()
export class EnqueueDeliveries {
  private readonly lookAt = batched(async (taskIds: readonly string[]) => {
    await this.enqueueHeads(this.line.headsOfTasks(taskIds));
    return taskIds;
  });

  constructor(
    private readonly line: DeliveryLine,
    private readonly queue: WebhookQueue,
    private readonly logger: Logger,
  ) {}

  /** Enqueues the deliveries of an ended task, as soon as its account has a slot free. Never fails. */
  enqueueOfTask(taskId: string): void {
    this.lookAt(taskId).catch((error: unknown) => {
      this.logger.debug('webhook.not_enqueued', { taskId, error });
    });
  }

  /** Enqueues the next deliveries in an account's line, after one of its slots became free. Never fails. */
  async enqueueNext(accountId: string): Promise<void> {
    await this.enqueueHeads(this.line.headsOfAccount(accountId)).catch((error: unknown) => {
      this.logger.debug('webhook.not_enqueued', { accountId, error });
    });
  }

  /** Enqueues a delivery that became due in another way. Never fails. */
  async enqueue(entry: WebhookEntry): Promise<void> {
    await this.queue.addAll([entry]).catch((error: unknown) => {
      this.logger.debug('webhook.not_enqueued', { deliveryId: entry.deliveryId, error });
    });
  }

  /** Enqueues due deliveries without a job, because its process died or Redis lost it. Returns how many. */
  async enqueueForgotten(): Promise<number> {
    const missing = await this.enqueueHeads(this.line.heads());
    for (const { deliveryId } of missing) this.logger.debug('webhook.was_not_queued', { deliveryId });
    return missing.length;
  }

  private async enqueueHeads(heads: Promise<WebhookEntry[]>): Promise<WebhookEntry[]> {
    const found = await heads;
    if (found.length === 0) return [];
    const missing = await this.queue.missing(found);
    await this.queue.addAll(missing);
    return missing;
  }
}
