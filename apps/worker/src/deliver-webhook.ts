import { WEBHOOK_TEST, webhookEventId } from '#contract/webhook-event.js';
import type { PublicPoster } from '#egress/post-public-url.js';
import { UnreadableSecret } from '#secrets/sealed-text.js';
import type { Logger } from '#telemetry/logger.js';
import type { ClaimedDelivery, DeliveryMoves } from '#webhooks/delivery-moves.js';
import { nextStep, type AttemptResult } from '#webhooks/next-step.js';
import type { SendDeliveries } from '#webhooks/send-deliveries.js';
import type { WebhooksConfig } from '#webhooks/webhooks.config.js';
import type { WebhookMessages } from './webhook-message.js';

/** What an attempt may take beside its request: reading the task and the secrets, and noting the outcome. */
const MARGIN_MS = 10_000;

/** One attempt of one delivery, from claim to the next place in the queue. */
export class DeliverWebhook {
  private readonly stopping = new AbortController();
  private readonly retrySeconds: readonly number[];

  constructor(
    private readonly deliveries: { readonly moves: DeliveryMoves; readonly send: SendDeliveries },
    private readonly messages: WebhookMessages,
    private readonly poster: PublicPoster,
    private readonly config: WebhooksConfig,
    private readonly logger: Logger,
  ) {
    this.retrySeconds = config.retrySeconds.map(Number);
  }

  /**
   * Throws only when the database does not answer. Then, as when this process dies, the delivery is attempted again
   * once its lease is over: a receiver may get an event twice, but never not at all.
   */
  async run(deliveryId: string): Promise<void> {
    const claimed = await this.deliveries.moves.claim(deliveryId, this.config.timeoutMs + MARGIN_MS);
    if (claimed === undefined) return;
    const begun = performance.now();
    const result = await this.attempt(claimed);
    const durationMs = Math.round(performance.now() - begun);
    // Who tests an endpoint looks at the answer, and tries again themselves.
    const step = nextStep(result, claimed.tries, claimed.event === WEBHOOK_TEST ? [] : this.retrySeconds);
    const entry = await this.deliveries.moves.finish(claimed, result, step, durationMs);
    this.logger.info(step.state === 'pending' ? 'webhook.postponed' : `webhook.${step.state}`, {
      deliveryId,
      eventId: webhookEventId(claimed.taskId ?? claimed.id),
      ...(claimed.taskId === null ? {} : { taskId: claimed.taskId }),
      accountId: claimed.accountId,
      attempt: claimed.attempt,
      durationMs,
      ...('status' in result ? { status: result.status } : { reason: result.error }),
    });
    if (entry !== undefined && step.state === 'pending') await this.deliveries.send.enqueue(entry);
    await this.deliveries.send.follow(claimed.accountId);
  }

  /** Cuts short what is being sent, so that it is sent anew by another process. */
  stop(): void {
    this.stopping.abort(new Error('the process is stopping'));
  }

  private async attempt(claimed: ClaimedDelivery): Promise<AttemptResult> {
    const { id, url, disabled } = claimed;
    if (url === undefined) return { error: 'removed' };
    if (disabled) return { error: 'endpoint_disabled' };
    const message = await this.messages.of(claimed).catch((error: unknown) => {
      if (error instanceof UnreadableSecret) return error;
      throw error;
    });
    if (message === undefined) return { error: 'removed' };
    if (message instanceof UnreadableSecret) {
      this.logger.error('webhook.secret_unreadable', { deliveryId: id, error: message });
      return { error: 'secret_unreadable' };
    }
    const { signal } = this.stopping;
    const { timeoutMs } = this.config;
    const answer = await this.poster.post(url, { ...message, timeoutMs, signal }).catch(() => undefined);
    if (answer === undefined) return { error: 'interrupted' };
    if ('status' in answer) return answer;
    this.logger.debug('webhook.no_answer', { deliveryId: id, reason: answer.failure, error: answer.cause });
    return { error: answer.failure };
  }
}
