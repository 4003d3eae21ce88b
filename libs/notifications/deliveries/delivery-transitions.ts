import { Injectable } from '@nestjs/common';
import { lockAccount } from '#accounts/accounts.sql.js';
import { CHANNEL_KINDS, type AlertMessage, type ChannelKind } from '#contract/alert-message.js';
import { SENT_EVENTS, type SentEventType } from '#contract/webhook-event.js';
import { oneOf } from '../one-of.js';
import { PrismaService } from '#database/prisma.service.js';
import type { WebhookEntry } from '#queue/webhook-queue.js';
import { Metrics } from '#telemetry/metrics.js';
import { claimDelivery, finishDelivery } from './delivery.sql.js';
import type { AttemptResult, NextStep } from './next-step.js';
import { WebhooksConfig } from '../webhooks.config.js';

/** A delivery held by one worker; `attempt` is the fencing token that its outcome must name. */
export interface ClaimedDelivery {
  readonly id: string;
  readonly accountId: string;
  /** Null: a test of the endpoint, or an alert. */
  readonly taskId: string | null;
  /** Null = the task’s callback_url. */
  readonly endpointId: string | null;
  readonly event: SentEventType;
  readonly createdAt: Date;
  readonly attempt: number;
  /** Attempts of the current schedule, including this one. */
  readonly tries: number;
  /** The receiver's URL; undefined when the endpoint, the task or the account no longer exists. */
  readonly url: string | undefined;
  /** W3C traceparent of its task, if that was traced. */
  readonly traceParent: string | null;
  /** The endpoint is switched off. */
  readonly disabled: boolean;
  /** The message of an alert; null: about a task, or a test of an endpoint. */
  readonly message: AlertMessage | null;
  /** Null: the endpoint is not an alert channel. */
  readonly channel: ChannelKind | null;
}

/**
 * The transitions of a delivery, fenced by the attempt like a task's, by the database's clock: `claim` is a transaction
 * that locks the account, `finish` one statement.
 * Deliveries are created by a trigger on the tasks table, by tests of endpoints, and for alerts.
 */
@Injectable()
export class DeliveryTransitions {
  constructor(
    private readonly prisma: PrismaService,
    private readonly config: WebhooksConfig,
    private readonly metrics: Metrics,
  ) {}

  /**
   * Begins an attempt; undefined when it has ended, is held by another worker, is not due, or its account or slow
   * endpoint has no slot free. In the last case, it is enqueued again when one of the account's ends (DeliveryLine).
   */
  async claim(id: string, leaseMs: number): Promise<ClaimedDelivery | undefined> {
    const delivery = await this.prisma.webhookDelivery.findUnique({ where: { id }, select: { accountId: true } });
    if (delivery === null) return undefined;
    const claimed = await this.prisma.$transaction(async (transaction) => {
      await lockAccount(transaction, delivery.accountId);
      return await claimDelivery(transaction, id, leaseMs, this.config.concurrencyPerAccount);
    });
    if (claimed === undefined) return undefined;
    const { event, url, channel } = claimed;
    return {
      ...claimed,
      event: oneOf(SENT_EVENTS, event),
      url: url ?? undefined,
      channel: channel === null ? null : oneOf(CHANNEL_KINDS, channel),
    };
  }

  /** Records an attempt's outcome and applies its next step; undefined when another attempt has begun meanwhile. */
  async finish(
    claimed: ClaimedDelivery,
    result: AttemptResult,
    step: NextStep,
    durationMs: number,
  ): Promise<WebhookEntry | undefined> {
    const outcome =
      'status' in result
        ? { status: result.status, error: null, answer: result.text ?? null }
        : { status: null, error: result.error, answer: null };
    const epoch = await finishDelivery(this.prisma, claimed, { ...outcome, durationMs: Math.round(durationMs) }, step);
    const told = 'status' in result ? `${Math.floor(result.status / 100)}xx` : result.error;
    if (epoch !== undefined) this.metrics.webhookAttempts.inc({ outcome: told, then: step.state });
    return epoch === undefined ? undefined : { deliveryId: claimed.id, epoch, delayMs: step.delayMs };
  }
}
