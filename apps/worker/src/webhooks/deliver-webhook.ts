import { Injectable } from '@nestjs/common';
import { WEBHOOK_TEST, webhookEventId } from '#contract/webhook-event.js';
import { Logger } from '#telemetry/logger.js';
import { openSpan, type OpenSpan } from '#telemetry/spans.js';
import { DeliveryTransitions, type ClaimedDelivery } from '#webhooks/delivery-transitions.js';
import { nextStep } from '#webhooks/next-step.js';
import { SendDeliveries } from '#webhooks/send-deliveries.js';
import { WebhooksConfig } from '#webhooks/webhooks.config.js';
import { AttemptDelivery } from './attempt-delivery.js';

/** Lease time beyond the request timeout, for reading the task and secrets and saving the result. */
const MARGIN_MS = 10_000;

/** One attempt of one delivery, from its claim to the next place in the queue. */
@Injectable()
export class DeliverWebhook {
  private readonly retrySeconds: readonly number[];
  private running = 0;

  constructor(
    private readonly transitions: DeliveryTransitions,
    private readonly deliveries: SendDeliveries,
    private readonly attempts: AttemptDelivery,
    private readonly config: WebhooksConfig,
    private readonly logger: Logger,
  ) {
    this.retrySeconds = config.retrySeconds.map(Number);
  }

  /** How many attempts are running. */
  get size(): number {
    return this.running;
  }

  /**
   * Throws only when the database does not answer. Then, or when this process dies, the delivery is attempted again
   * after its lease expires: a receiver may get an event twice, but never misses one.
   */
  async run(deliveryId: string): Promise<void> {
    this.running++;
    try {
      await this.attempt(deliveryId);
    } finally {
      this.running--;
    }
  }

  private async attempt(deliveryId: string): Promise<void> {
    const claimed = await this.transitions.claim(deliveryId, this.config.timeoutMs + MARGIN_MS);
    if (claimed === undefined) return;
    const begun = performance.now();
    const { taskId, attempt, traceParent } = claimed;
    const span = openSpan({
      name: 'webhook.deliver',
      kind: 'client',
      about: deliveryId,
      parent: traceParent ?? undefined,
      fields: { deliveryId, taskId: taskId ?? undefined, attempt },
    });
    try {
      await this.deliver(claimed, begun, span);
    } finally {
      span.end();
    }
  }

  private async deliver(claimed: ClaimedDelivery, begun: number, span: OpenSpan): Promise<void> {
    const { id: deliveryId } = claimed;
    const result = await this.attempts.attempt(claimed, span.traceparent);
    const durationMs = Math.round(performance.now() - begun);
    // Tests are not retried: the user sees the response and can repeat the test.
    const isTest = claimed.event === WEBHOOK_TEST || claimed.event === 'alert.test';
    const step = nextStep(result, claimed.tries, isTest ? [] : this.retrySeconds);
    span.set(
      'status' in result
        ? { status: result.status, outcome: step.state }
        : { error: result.error, outcome: step.state },
    );
    const entry = await this.transitions.finish(claimed, result, step, durationMs);
    this.logger.info(step.state === 'pending' ? 'webhook.postponed' : `webhook.${step.state}`, {
      deliveryId,
      eventId: claimed.message?.id ?? webhookEventId(claimed.taskId ?? claimed.id),
      ...(claimed.taskId === null ? {} : { taskId: claimed.taskId }),
      accountId: claimed.accountId,
      attempt: claimed.attempt,
      durationMs,
      ...('status' in result ? { status: result.status } : { reason: result.error }),
    });
    if (entry !== undefined && step.state === 'pending') await this.deliveries.enqueue(entry);
    await this.deliveries.follow(claimed.accountId);
  }

  /** Aborts running attempts. */
  stop(): void {
    this.attempts.stop();
  }
}
