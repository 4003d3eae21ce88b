import { Injectable } from '@nestjs/common';
import { PublicPoster } from '#egress/post-public-url.js';
import { UnreadableSecret } from '#secrets/sealed-text.js';
import { Logger } from '#telemetry/logger.js';
import { channelAddress } from '#webhooks/channel-store.js';
import type { ClaimedDelivery } from '#webhooks/delivery-transitions.js';
import type { AttemptResult } from '#webhooks/next-step.js';
import { WebhooksConfig } from '#webhooks/webhooks.config.js';
import { AlertMails } from './alert-mails.js';
import { WebhookMessages } from './webhook-message.js';

/** Makes one attempt to send a delivery. */
@Injectable()
export class AttemptDelivery {
  private readonly stopping = new AbortController();

  constructor(
    private readonly messages: WebhookMessages,
    private readonly poster: PublicPoster,
    private readonly config: WebhooksConfig,
    private readonly mails: AlertMails,
    private readonly logger: Logger,
  ) {}

  /** Returns the result; sends the traceparent to the receiver. Throws only when the database does not answer. */
  async attempt(claimed: ClaimedDelivery, traceparent?: string): Promise<AttemptResult> {
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
    const answer = await this.poster
      .post(url, { headers, body: message.body, timeoutMs, signal })
      .catch(() => undefined);
    if (answer === undefined) return { error: 'interrupted' };
    if ('status' in answer) return answer;
    this.logger.debug('webhook.no_answer', { deliveryId: id, reason: answer.failure, error: answer.cause });
    return { error: answer.failure };
  }

  /** Aborts running attempts, which another process will repeat. */
  stop(): void {
    this.stopping.abort(new Error('the process is stopping'));
  }
}
