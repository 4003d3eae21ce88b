import { Injectable } from '@nestjs/common';
import type { SentEventType } from '#contract/webhook-event.js';
import { PrismaService } from '#database/prisma.service.js';
import { inTransaction } from '#database/in-transaction.js';
import type { WebhookEntry } from '#queue/webhook-queue.js';
import type { AttemptResult, NextStep } from './next-step.js';
import { WebhooksConfig } from './webhooks.config.js';

/** Clocks of Redis and the database may differ by this much, in ms. */
const TOLERANCE_MS = 1_000;
/** After so many timeouts in a row an endpoint gets one delivery at a time, until it answers again. */
export const SLOW_AFTER = 3;

/** A delivery in the hands of one worker; `attempt` is the fence that its outcome must name. */
export interface ClaimedDelivery {
  readonly id: string;
  readonly accountId: string;
  /** Null: a test of the endpoint. */
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
  /** The endpoint is switched off. */
  readonly disabled: boolean;
}

interface ClaimedRow extends Omit<ClaimedDelivery, 'url'> {
  readonly url: string | null;
}

/** Claims of one account come one after the other, because each counts those before it. */
const LOCK = {
  name: 'webhook_lock',
  text: `SELECT pg_advisory_xact_lock(hashtextextended('webhooks ' || account_id, 0)) FROM webhook_deliveries WHERE id = $1`,
};

const CLAIM = {
  name: 'webhook_claim',
  text: `WITH claimed AS (
      UPDATE webhook_deliveries AS delivery SET attempts = attempts + 1, tries = tries + 1,
        lease_until = now() + $2 * interval '1 millisecond'
      WHERE id = $1 AND state = 'pending' AND next_try_at <= now() + ${TOLERANCE_MS} * interval '1 millisecond'
        AND (lease_until IS NULL OR lease_until < now())
        AND (SELECT count(*) FROM webhook_deliveries AS sent WHERE sent.account_id = delivery.account_id
          AND sent.state = 'pending' AND sent.lease_until >= now()) < $3
        AND NOT EXISTS (SELECT FROM webhook_endpoints AS slow JOIN webhook_deliveries AS sent
          ON sent.account_id = delivery.account_id AND sent.endpoint_id = slow.id
            AND sent.state = 'pending' AND sent.lease_until >= now()
          WHERE slow.id = delivery.endpoint_id AND slow.timeouts >= ${SLOW_AFTER})
      RETURNING id, account_id, task_id, endpoint_id, event, created_at, attempts, tries),
    noted AS (INSERT INTO webhook_attempts (delivery_id, number) SELECT id, attempts FROM claimed)
    SELECT claimed.id, claimed.account_id AS "accountId", claimed.task_id AS "taskId",
      claimed.endpoint_id AS "endpointId", claimed.event, claimed.created_at AS "createdAt",
      claimed.attempts AS attempt, claimed.tries, endpoint.disabled_at IS NOT NULL AS disabled,
      CASE WHEN claimed.endpoint_id IS NULL THEN task.callback_url ELSE endpoint.url END AS url
    FROM claimed
    LEFT JOIN webhook_endpoints AS endpoint
      ON endpoint.id = claimed.endpoint_id AND endpoint.account_id = claimed.account_id
    LEFT JOIN tasks AS task ON task.id = claimed.task_id AND task.account_id = claimed.account_id`,
};
const FINISH = {
  name: 'webhook_finish',
  text: `WITH noted AS (
      UPDATE webhook_attempts SET status = $3, error = $4, duration_ms = $5 WHERE delivery_id = $1 AND number = $2),
    moved AS (
      UPDATE webhook_deliveries SET state = $6, epoch = epoch + 1, lease_until = NULL,
        tries = tries - (NOT $9::boolean)::int,
        next_try_at = CASE WHEN $6 = 'pending' THEN now() + $7 * interval '1 millisecond' END,
        ended_at = CASE WHEN $6 <> 'pending' THEN now() END
      WHERE id = $1 AND attempts = $2 AND state = 'pending'
      RETURNING account_id, endpoint_id, epoch),
    judged AS (
      UPDATE webhook_endpoints AS endpoint SET
        timeouts = CASE WHEN $4 = 'timeout' THEN LEAST(timeouts + 1, ${SLOW_AFTER}) ELSE 0 END,
        disabled_at = CASE WHEN $8::boolean THEN COALESCE(disabled_at, now()) ELSE disabled_at END,
        disabled_reason = CASE WHEN $8::boolean THEN COALESCE(disabled_reason, 'gone') ELSE disabled_reason END
      FROM moved
      WHERE endpoint.id = moved.endpoint_id AND endpoint.account_id = moved.account_id
        AND (($8::boolean AND disabled_at IS NULL) OR ($4 = 'timeout' AND timeouts < ${SLOW_AFTER})
          OR ($3::int IS NOT NULL AND timeouts > 0)))
    SELECT epoch FROM moved`,
};

/**
 * The moves of a delivery: one statement each, fenced by the attempt like those of a task, by the database's clock.
 * That there is a delivery at all is the doing of a trigger on the tasks, or of who tests an endpoint.
 */
@Injectable()
export class DeliveryMoves {
  constructor(
    private readonly prisma: PrismaService,
    private readonly config: WebhooksConfig,
  ) {}

  /**
   * Begins an attempt, or answers undefined: it has ended, is in other hands, is not due yet, or its account or its slow
   * endpoint has no place free. For the last reason it comes again when one of the account has ended (DeliveryLine).
   */
  async claim(id: string, leaseMs: number): Promise<ClaimedDelivery | undefined> {
    const claimed = await inTransaction(this.prisma.pool, async (client) => {
      await client.query({ ...LOCK, values: [id] });
      const { rows } = await client.query<ClaimedRow>({
        ...CLAIM,
        values: [id, leaseMs, this.config.concurrencyPerAccount],
      });
      return rows[0];
    });
    return claimed && { ...claimed, url: claimed.url ?? undefined };
  }

  /** Notes an attempt's outcome and carries out its step; undefined when the delivery is in other hands meanwhile. */
  async finish(
    claimed: ClaimedDelivery,
    result: AttemptResult,
    step: NextStep,
    durationMs: number,
  ): Promise<WebhookEntry | undefined> {
    const [status, error] = 'status' in result ? [result.status, null] : [null, result.error];
    const { rows } = await this.prisma.pool.query<{ epoch: number }>({
      ...FINISH,
      values: [
        ...[claimed.id, claimed.attempt, status, error, Math.round(durationMs)],
        ...[step.state, step.delayMs, step.gone, step.counts],
      ],
    });
    return rows[0] && { deliveryId: claimed.id, epoch: rows[0].epoch, delayMs: step.delayMs };
  }
}
