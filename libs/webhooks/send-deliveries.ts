import type { WebhookEntry, WebhookQueue } from '#queue/webhook-queue.js';
import type { Logger } from '#telemetry/logger.js';
import type { DeliveryMoves } from './delivery-moves.js';

/** Rings for deliveries. Nothing depends on being heard: the row says what is due, and the sweep asks it. */
export class SendDeliveries {
  constructor(
    private readonly moves: DeliveryMoves,
    private readonly queue: WebhookQueue,
    private readonly logger: Logger,
  ) {}

  /** The task has ended: what is to be told of it is told at once. Never fails. */
  announce(taskId: string): void {
    this.moves
      .pendingOf(taskId)
      .then((entries) => this.queue.addAll(entries))
      .catch((error: unknown) => {
        this.logger.debug('webhook.not_enqueued', { taskId, error });
      });
  }

  /** A delivery has become due in another way. Never fails. */
  async enqueue(entry: WebhookEntry): Promise<void> {
    await this.queue.addAll([entry]).catch((error: unknown) => {
      this.logger.debug('webhook.not_enqueued', { deliveryId: entry.deliveryId, error });
    });
  }

  /** Enqueues what is due without a job: whoever ended its task died just then, or Redis lost it. Answers how many. */
  async enqueueForgotten(): Promise<number> {
    const due = await this.moves.due();
    if (due.length === 0) return 0;
    const missing = await this.queue.missing(due);
    await this.queue.addAll(missing);
    for (const { deliveryId } of missing) this.logger.debug('webhook.was_not_queued', { deliveryId });
    return missing.length;
  }
}
