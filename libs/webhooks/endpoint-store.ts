import { ulid } from 'ulid';
import { AppError } from '#contract/app-error.js';
import { WEBHOOK_EVENTS, type WebhookEventType } from '#contract/webhook-event.js';
import { inTransaction, type Pool } from '#database/in-transaction.js';

/** Where an account is told of the ends of its tasks. */
export interface WebhookEndpoint {
  readonly id: string;
  readonly url: string;
  readonly events: readonly WebhookEventType[];
  readonly createdAt: Date;
  readonly disabledAt: Date | null;
  /** `gone`: it answered 410. `owner`: it was switched off. */
  readonly disabledReason: 'gone' | 'owner' | null;
}

/** How an endpoint has been doing: its newest deliveries that have ended. */
export interface EndpointRecord {
  readonly endpointId: string;
  readonly delivered: number;
  readonly failed: number;
  /** When it was told of something last, or should have been. */
  readonly lastAt: Date;
}

/** How many deliveries a record looks back. */
const RECORD = 100;
const COLUMNS = `id, url, events, created_at AS "createdAt", disabled_at AS "disabledAt",
  disabled_reason AS "disabledReason"`;

/** The endpoints of accounts. An id of another account is unknown, as everywhere. */
export class WebhookEndpointStore {
  /** `most` endpoints an account may have; 0 = any number. */
  constructor(
    private readonly database: Pool,
    private readonly most: number,
  ) {}

  /**
   * The id of a new endpoint. The URL must have been checked (publicUrlProblem).
   * Throws AppError `account_limit_reached` when the account has as many as it may have.
   */
  async add(accountId: string, url: string, events: readonly WebhookEventType[] = WEBHOOK_EVENTS): Promise<string> {
    const id = `whe_${ulid()}`;
    const added = await inTransaction(this.database, async (client) => {
      // Of two that are added at once the second must count the first.
      await client.query('SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [accountId]);
      const { rowCount } = await client.query(
        `INSERT INTO webhook_endpoints (id, account_id, url, events) SELECT $1, $2, $3, $4
         WHERE $5 = 0 OR (SELECT count(*) FROM webhook_endpoints WHERE account_id = $2) < $5`,
        [id, accountId, url, events, this.most],
      );
      return rowCount === 1;
    });
    if (added) return id;
    throw new AppError(
      'account_limit_reached',
      `The account has ${this.most} webhook endpoints, as many as it may have. Remove one first.`,
    );
  }

  /** Newest first. */
  async list(accountId: string): Promise<WebhookEndpoint[]> {
    const { rows } = await this.database.query<WebhookEndpoint>(
      `SELECT ${COLUMNS} FROM webhook_endpoints WHERE account_id = $1 ORDER BY created_at DESC, id DESC`,
      [accountId],
    );
    return rows;
  }

  /** Undefined when the account has no such endpoint. */
  async find(accountId: string, id: string): Promise<WebhookEndpoint | undefined> {
    const { rows } = await this.database.query<WebhookEndpoint>(
      `SELECT ${COLUMNS} FROM webhook_endpoints WHERE id = $1 AND account_id = $2`,
      [id, accountId],
    );
    return rows[0];
  }

  /** Of each endpoint of an account that was told of anything that is still in the log. */
  async records(accountId: string): Promise<EndpointRecord[]> {
    const { rows } = await this.database.query<EndpointRecord>(
      `SELECT endpoint.id AS "endpointId", max(recent.created_at) AS "lastAt",
        (count(*) FILTER (WHERE state = 'delivered'))::int AS delivered,
        (count(*) FILTER (WHERE state = 'failed'))::int AS failed
      FROM webhook_endpoints AS endpoint CROSS JOIN LATERAL (
        SELECT state, created_at FROM webhook_deliveries
        WHERE endpoint_id = endpoint.id AND account_id = endpoint.account_id
        ORDER BY created_at DESC, id DESC LIMIT ${RECORD}) AS recent
      WHERE endpoint.account_id = $1 GROUP BY endpoint.id`,
      [accountId],
    );
    return rows;
  }

  /** False when the account has no such endpoint. */
  async setEvents(accountId: string, id: string, events: readonly WebhookEventType[]): Promise<boolean> {
    return this.changed('UPDATE webhook_endpoints SET events = $3 WHERE id = $1 AND account_id = $2', [
      id,
      accountId,
      events,
    ]);
  }

  /** What is waiting for it goes on. False when the account has no such endpoint. */
  async enable(accountId: string, id: string): Promise<boolean> {
    return this.changed(
      `UPDATE webhook_endpoints SET disabled_at = NULL, disabled_reason = NULL, timeouts = 0
       WHERE id = $1 AND account_id = $2`,
      [id, accountId],
    );
  }

  /** It is told of nothing new, and what was waiting for it ends when its time comes. False when there is none. */
  async disable(accountId: string, id: string): Promise<boolean> {
    return this.changed(
      `UPDATE webhook_endpoints SET disabled_at = COALESCE(disabled_at, now()),
         disabled_reason = COALESCE(disabled_reason, 'owner') WHERE id = $1 AND account_id = $2`,
      [id, accountId],
    );
  }

  /** Like `disable`, for good; its deliveries stay in the log. */
  async remove(accountId: string, id: string): Promise<boolean> {
    return this.changed('DELETE FROM webhook_endpoints WHERE id = $1 AND account_id = $2', [id, accountId]);
  }

  private async changed(text: string, values: unknown[]): Promise<boolean> {
    const { rowCount } = await this.database.query(text, values);
    return rowCount === 1;
  }
}
