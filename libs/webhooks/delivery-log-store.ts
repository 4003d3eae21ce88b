import type { WebhookEventType } from '#contract/webhook-event.js';
import type { Queryable } from '#database/queryable.js';
import type { WebhookEntry } from '#queue/webhook-queue.js';
import type { AttemptError, DeliveryState } from './next-step.js';

export interface LoggedAttempt {
  /** 1 = the first. */
  readonly number: number;
  readonly startedAt: Date;
  /** Absent while it runs, and for ever when its worker died. */
  readonly durationMs: number | null;
  readonly status: number | null;
  readonly error: AttemptError | null;
}

/** One receiver of one event, with all that was tried. */
export interface LoggedDelivery {
  readonly id: string;
  readonly taskId: string;
  readonly event: WebhookEventType;
  /** Null: the task's own callback_url. */
  readonly endpointId: string | null;
  readonly state: DeliveryState;
  readonly createdAt: Date;
  /** When it is tried next; null once it has ended. */
  readonly nextTryAt: Date | null;
  readonly attempts: readonly LoggedAttempt[];
}

interface LoggedRow extends Omit<LoggedDelivery, 'attempts'> {
  readonly attempts: readonly (Omit<LoggedAttempt, 'startedAt'> & { startedAt: string })[];
}

interface LogQuery {
  readonly taskId?: string | undefined;
  /** 1..100 */
  readonly limit: number;
}

/** What was delivered, what was tried, and once more on request. Every query names the account. */
export class DeliveryLogStore {
  constructor(private readonly database: Queryable) {}

  /** Newest first. */
  async list(accountId: string, { taskId, limit }: LogQuery): Promise<LoggedDelivery[]> {
    const { rows } = await this.database.query<LoggedRow>(
      `SELECT id, task_id AS "taskId", event, endpoint_id AS "endpointId", state, created_at AS "createdAt",
        next_try_at AS "nextTryAt", COALESCE((
          SELECT json_agg(json_build_object('number', number, 'startedAt', started_at, 'durationMs', duration_ms,
            'status', status, 'error', error) ORDER BY number)
          FROM webhook_attempts WHERE delivery_id = id), '[]') AS attempts
      FROM webhook_deliveries WHERE account_id = $1 AND ($2::text IS NULL OR task_id = $2)
      ORDER BY created_at DESC, id DESC LIMIT $3`,
      [accountId, taskId ?? null, limit],
    );
    return rows.map((row) => ({
      ...row,
      attempts: row.attempts.map((attempt) => ({ ...attempt, startedAt: new Date(attempt.startedAt) })),
    }));
  }

  /**
   * Makes a delivery due at once, under the same webhook-id, and begins its schedule anew. Undefined when the account
   * has no such delivery, or when it is being attempted right now. The answer is for SendDeliveries.enqueue; without
   * it a sweep finds the delivery within seconds.
   */
  async resend(accountId: string, id: string): Promise<WebhookEntry | undefined> {
    const { rows } = await this.database.query<WebhookEntry>(
      `UPDATE webhook_deliveries SET state = 'pending', tries = 0, epoch = epoch + 1, next_try_at = now(),
        lease_until = NULL, ended_at = NULL
      WHERE id = $1 AND account_id = $2 AND (lease_until IS NULL OR lease_until < now())
      RETURNING id AS "deliveryId", epoch`,
      [id, accountId],
    );
    return rows[0];
  }
}
