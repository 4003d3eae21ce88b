import { Inject, Injectable } from '@nestjs/common';
import { WEBHOOK_TEST, type SentEventType } from '#contract/webhook-event.js';
import { POOL, type Queryable } from '#database/queryable.js';
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
  /** Null: a test of the endpoint. */
  readonly taskId: string | null;
  readonly event: SentEventType;
  /** Null: the task's own callback_url. */
  readonly endpointId: string | null;
  /** Null when the endpoint, or the task whose callback_url it is, is no more. */
  readonly url: string | null;
  readonly state: DeliveryState;
  readonly createdAt: Date;
  /** When it is tried next; null once it has ended. */
  readonly nextTryAt: Date | null;
  readonly attempts: readonly LoggedAttempt[];
}

interface LoggedRow extends Omit<LoggedDelivery, 'attempts'> {
  readonly attempts: readonly (Omit<LoggedAttempt, 'startedAt'> & { startedAt: string })[];
}

export interface DeliveryQuery {
  readonly taskId?: string | undefined;
  readonly endpointId?: string | undefined;
  readonly state?: DeliveryState | undefined;
  /** Id of the last delivery of the page before. */
  readonly after?: string | undefined;
  /** 1..101 */
  readonly limit: number;
}

/** What was delivered, what was tried, and once more on request. Every query names the account. */
@Injectable()
export class DeliveryLogStore {
  constructor(@Inject(POOL) private readonly database: Queryable) {}

  /** Newest first. After a delivery that is no more comes nothing: what is older went with it. */
  async list(accountId: string, { taskId, endpointId, state, after, limit }: DeliveryQuery): Promise<LoggedDelivery[]> {
    const { rows } = await this.database.query<LoggedRow>(
      `SELECT delivery.id, delivery.task_id AS "taskId", delivery.event, delivery.endpoint_id AS "endpointId",
        delivery.state, delivery.created_at AS "createdAt", delivery.next_try_at AS "nextTryAt",
        CASE WHEN delivery.endpoint_id IS NULL THEN task.callback_url ELSE endpoint.url END AS url,
        COALESCE((
          SELECT json_agg(json_build_object('number', number, 'startedAt', started_at, 'durationMs', duration_ms,
            'status', status, 'error', error) ORDER BY number)
          FROM webhook_attempts WHERE delivery_id = delivery.id), '[]') AS attempts
      FROM webhook_deliveries AS delivery
      LEFT JOIN webhook_endpoints AS endpoint
        ON endpoint.id = delivery.endpoint_id AND endpoint.account_id = delivery.account_id
      LEFT JOIN tasks AS task ON task.id = delivery.task_id AND task.account_id = delivery.account_id
      WHERE delivery.account_id = $1 AND ($2::text IS NULL OR delivery.task_id = $2)
        AND ($3::text IS NULL OR delivery.endpoint_id = $3) AND ($4::text IS NULL OR delivery.state = $4)
        AND ($5::text IS NULL OR (delivery.created_at, delivery.id) <
          (SELECT last.created_at, last.id FROM webhook_deliveries AS last WHERE last.id = $5 AND last.account_id = $1))
      ORDER BY delivery.created_at DESC, delivery.id DESC LIMIT $6`,
      [accountId, taskId ?? null, endpointId ?? null, state ?? null, after ?? null, limit],
    );
    return rows.map((row) => ({
      ...row,
      attempts: row.attempts.map((attempt) => ({ ...attempt, startedAt: new Date(attempt.startedAt) })),
    }));
  }

  /** One delivery; undefined when the account has no such one. */
  async find(accountId: string, id: string): Promise<Pick<LoggedDelivery, 'taskId' | 'endpointId'> | undefined> {
    const { rows } = await this.database.query<Pick<LoggedDelivery, 'taskId' | 'endpointId'>>(
      `SELECT task_id AS "taskId", endpoint_id AS "endpointId" FROM webhook_deliveries WHERE id = $1 AND account_id = $2`,
      [id, accountId],
    );
    return rows[0];
  }

  /**
   * Writes a test event for an endpoint, due at once. Undefined when the account has no such endpoint, or when it is
   * switched off. The answer is for SendDeliveries.enqueue.
   */
  async addTest(accountId: string, endpointId: string): Promise<WebhookEntry | undefined> {
    const { rows } = await this.database.query<WebhookEntry>(
      `INSERT INTO webhook_deliveries (id, account_id, endpoint_id, event, next_try_at)
      SELECT 'whd_' || replace(gen_random_uuid()::text, '-', ''), account_id, id, '${WEBHOOK_TEST}', now()
      FROM webhook_endpoints WHERE id = $1 AND account_id = $2 AND disabled_at IS NULL
      RETURNING id AS "deliveryId", epoch`,
      [endpointId, accountId],
    );
    return rows[0];
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
