import { Injectable } from '@nestjs/common';
import { WEBHOOK_TEST, webhookEventId } from '#contract/webhook-event.js';
import { PublicPoster } from '#egress/post-public-url.js';
import { UnreadableSecret } from '#secrets/sealed-text.js';
import { Logger } from '#telemetry/logger.js';
import { openSpan, type OpenSpan } from '#telemetry/spans.js';
import { channelAddress } from '#notifications/endpoint-store.js';
import { DeliveryTransitions, type ClaimedDelivery } from '#notifications/deliveries/delivery-transitions.js';
import { nextStep, type AttemptResult } from '#notifications/deliveries/next-step.js';
import { EnqueueDeliveries } from '#notifications/deliveries/enqueue-deliveries.js';
import { WebhooksConfig } from '#notifications/webhooks.config.js';
import { AlertMails } from './alert-mails.js';
import { WebhookMessages } from './webhook-message.js';

/** Lease time beyond the request timeout, for reading the task and secrets and saving the result. */
const MARGIN_MS = 10_000;

/** One attempt of one delivery, from its claim to the next place in the queue. */
@Injectable()
export class DeliverWebhook {
  private readonly retrySeconds: readonly number[];
  private readonly stopping = new AbortController();
  private running = 0;

  constructor(
    private readonly transitions: DeliveryTransitions,
    private readonly enqueueDeliveries: EnqueueDeliveries,
    private readonly messages: WebhookMessages,
    private readonly poster: PublicPoster,
    private readonly mails: AlertMails,
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

  /** Aborts running attempts, which another process will repeat. */
  stop(): void {
    this.stopping.abort(new Error('the process is stopping'));
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
      const result = await this.send(claimed, span.traceparent);
      await this.settle(claimed, result, Math.round(performance.now() - begun), span);
    } finally {
      span.end();
    }
  }

  /** Returns the result; sends the traceparent to the receiver. Throws only when the database does not answer. */
  private async send(claimed: ClaimedDelivery, traceparent?: string): Promise<AttemptResult> {
    const { id, accountId, url, disabled } = claimed;
    const { signal } = this.stopping;
    const { timeoutMs } = this.config;
    if (url === undefined) return { error: 'removed' };
    if (disabled) return { error: 'endpoint_disabled' };
    if (claimed.channel === 'email' && claimed.message !== null) {
      const alert = this.messages.alert(claimed.message);
      return await this.mails.send({ accountId, address: channelAddress(url) }, alert, { timeoutMs, signal });
    }
    const message = await this.messages.of(claimed).catch((error: unknown) => {
      if (error instanceof UnreadableSecret) return error;
      throw error;
    });
    if (message === undefined) return { error: 'removed' };
    if (message instanceof UnreadableSecret) {
      this.logger.error('webhook.secret_unreadable', { deliveryId: id, error: message });
      return { error: 'secret_unreadable' };
    }
    const headers = traceparent === undefined ? message.headers : { ...message.headers, traceparent };
    // Endpoints and channels were entered by admins; a callback_url, by anybody with a key.
    const plainLoopback = claimed.endpointId !== null;
    const answer = await this.poster
      .post(url, { headers, body: message.body, timeoutMs, signal, plainLoopback })
      .catch(() => undefined);
    if (answer === undefined) return { error: 'interrupted' };
    if ('status' in answer) return answer;
    this.logger.debug('webhook.no_answer', { deliveryId: id, reason: answer.failure, error: answer.cause });
    return { error: answer.failure };
  }

  /** Writes down what follows from the result, and queues the next attempt. */
  private async settle(
    claimed: ClaimedDelivery,
    result: AttemptResult,
    durationMs: number,
    span: OpenSpan,
  ): Promise<void> {
    const { id: deliveryId } = claimed;
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
    if (entry !== undefined && step.state === 'pending') await this.enqueueDeliveries.enqueue(entry);
    await this.enqueueDeliveries.enqueueNext(claimed.accountId);
  }
}
