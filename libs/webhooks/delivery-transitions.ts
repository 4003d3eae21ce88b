import { Injectable } from '@nestjs/common';
import { CHANNEL_KINDS, type AlertMessage, type ChannelKind } from '#contract/alert-message.js';
import { SENT_EVENTS, type SentEventType } from '#contract/webhook-event.js';
import { oneOf } from './one-of.js';
import { PrismaService } from '#database/prisma.service.js';
import type { WebhookEntry } from '#queue/webhook-queue.js';
import { Metrics } from '#telemetry/metrics.js';
import { claimDelivery, finishDelivery, lockAccountOf } from './delivery.sql.js';
import type { AttemptResult, NextStep } from './next-step.js';
import { WebhooksConfig } from './webhooks.config.js';

/** A delivery in the hands of one worker; `attempt` is the fence that its outcome must name. */
export interface ClaimedDelivery {
  readonly id: string;
  readonly accountId: string;
  /** Null: a test of the endpoint, or an alert. */
  readonly taskId: string | null;
  /** Null: the task's own callback_url. */
  readonly endpointId: string | null;
  readonly event: SentEventType;
  readonly createdAt: Date;
  readonly attempt: number;
  /** Attempts of the running schedule, this one included. */
  readonly tries: number;
  /** Where to; undefined when the endpoint or the task is no more. */
  readonly url: string | undefined;
  /** W3C traceparent of the task that it tells of, where that was traced. */
  readonly traceParent: string | null;
  /** The endpoint is switched off. */
  readonly disabled: boolean;
  /** What an alert says; null: a task, or a test of an endpoint. */
  readonly message: AlertMessage | null;
  /** Null: the endpoint is no channel of alerts. */
  readonly channel: ChannelKind | null;
}

/**
 * The transitions of a delivery: one statement each, fenced by the attempt like those of a task, by the database's clock.
 * That there is a delivery at all is the doing of a trigger on the tasks, or of who tests an endpoint.
 */
@Injectable()
export class DeliveryTransitions {
  constructor(
    private readonly prisma: PrismaService,
    private readonly config: WebhooksConfig,
    private readonly metrics: Metrics,
  ) {}

  /**
   * Begins an attempt, or answers undefined: it has ended, is in other hands, is not due yet, or its account or its slow
   * endpoint has no place free. For the last reason it comes again when one of the account has ended (DeliveryLine).
   */
  async claim(id: string, leaseMs: number): Promise<ClaimedDelivery | undefined> {
    const claimed = await this.prisma.$transaction(async (transaction) => {
      await lockAccountOf(transaction, id);
      return await claimDelivery(transaction, id, leaseMs, this.config.concurrencyPerAccount);
    });
    if (claimed === undefined) return undefined;
    const { event, url, channel } = claimed;
    return {
      ...{ ...claimed, event: oneOf(SENT_EVENTS, event), url: url ?? undefined },
      channel: channel === null ? null : oneOf(CHANNEL_KINDS, channel),
    };
  }

  /** Notes an attempt's outcome and carries out its step; undefined when the delivery is in other hands meanwhile. */
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
