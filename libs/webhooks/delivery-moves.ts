import type { SentEventType } from '#contract/webhook-event.js';
import type { Queryable } from '#database/queryable.js';
import type { WebhookEntry } from '#queue/webhook-queue.js';
import type { AttemptResult, NextStep } from './next-step.js';

/** Clocks of Redis and the database may differ by this much, in ms. */
const TOLERANCE_MS = 1_000;
const BATCH = 1_000;

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

const CLAIM = {
  name: 'webhook_claim',
  text: `WITH claimed AS (
      UPDATE webhook_deliveries SET attempts = attempts + 1, tries = tries + 1,
        lease_until = now() + $2 * interval '1 millisecond'
      WHERE id = $1 AND state = 'pending' AND next_try_at <= now() + ${TOLERANCE_MS} * interval '1 millisecond'
        AND (lease_until IS NULL OR lease_until < now())
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
    disabled AS (
      UPDATE webhook_endpoints AS endpoint SET disabled_at = now(), disabled_reason = 'gone' FROM moved
      WHERE $8::boolean AND endpoint.id = moved.endpoint_id AND endpoint.account_id = moved.account_id
        AND endpoint.disabled_at IS NULL)
    SELECT epoch FROM moved`,
};

/**
 * The moves of a delivery: one statement each, fenced by the attempt like those of a task, by the database's clock.
 * That there is a delivery at all is the doing of a trigger on the tasks, or of who tests an endpoint.
 */
export class DeliveryMoves {
  constructor(private readonly database: Queryable) {}

  /** Begins an attempt, or answers undefined: it has ended, is in other hands, or is not due yet. */
  async claim(id: string, leaseMs: number): Promise<ClaimedDelivery | undefined> {
    const { rows } = await this.database.query<ClaimedRow>({ ...CLAIM, values: [id, leaseMs] });
    return rows[0] && { ...rows[0], url: rows[0].url ?? undefined };
  }

  /** Notes an attempt's outcome and carries out its step; undefined when the delivery is in other hands meanwhile. */
  async finish(
    claimed: ClaimedDelivery,
    result: AttemptResult,
    step: NextStep,
    durationMs: number,
  ): Promise<WebhookEntry | undefined> {
    const [status, error] = 'status' in result ? [result.status, null] : [null, result.error];
    const { rows } = await this.database.query<{ epoch: number }>({
      ...FINISH,
      values: [
        ...[claimed.id, claimed.attempt, status, error, Math.round(durationMs)],
        ...[step.state, step.delayMs, step.gone, step.counts],
      ],
    });
    return rows[0] && { deliveryId: claimed.id, epoch: rows[0].epoch, delayMs: step.delayMs };
  }

  /** What is still to be delivered of one task. */
  async pendingOf(taskId: string): Promise<WebhookEntry[]> {
    const { rows } = await this.database.query<WebhookEntry>({
      name: 'webhook_pending',
      text: `SELECT id AS "deliveryId", epoch FROM webhook_deliveries WHERE task_id = $1 AND state = 'pending'`,
      values: [taskId],
    });
    return rows;
  }

  /** What is due and in nobody's hands, the longest waiting first. */
  async due(): Promise<WebhookEntry[]> {
    const { rows } = await this.database.query<WebhookEntry>({
      name: 'webhook_due',
      text: `SELECT id AS "deliveryId", epoch FROM webhook_deliveries
        WHERE state = 'pending' AND next_try_at <= now() AND (lease_until IS NULL OR lease_until < now())
        ORDER BY next_try_at LIMIT ${BATCH}`,
    });
    return rows;
  }
}
