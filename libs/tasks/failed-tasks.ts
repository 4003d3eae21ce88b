import { errorKind, isErrorCode } from '#contract/error-codes.js';
import type { Queryable } from '#database/queryable.js';
import type { TaskOrder } from './task-details.js';

/** What failures have in common. */
export interface FailureKind {
  readonly code: string;
  /** Who was called last; null: nobody. */
  readonly provider: string | null;
  readonly model: string;
}

/** Failures of one kind. */
export interface FailureGroup extends FailureKind {
  readonly count: number;
  /** Those that were drawn anew since. */
  readonly redriven: number;
  readonly latestAt: Date;
}

/** A failed task of any account. Its prompt is its owner's alone. */
export interface FailedTask {
  readonly id: string;
  readonly accountId: string;
  readonly accountName: string;
  readonly keyId: string;
  readonly keyName: string;
  readonly finishedAt: Date;
  readonly message: string;
  /** The task that it was drawn anew as. */
  readonly redrivenAs: string | null;
}

/** The order of a failed task, and all that decides whether it can be given again. */
export interface FailedOrder extends TaskOrder {
  readonly id: string;
  readonly accountId: string;
  readonly apiKeyId: string;
  readonly weight: number;
  readonly tasksInFlight: number | null;
  readonly submitsPerMinute: number | null;
  readonly accountWeight: number;
  readonly accountTasksInFlight: number | null;
  readonly accountSubmitsPerMinute: number | null;
  /** Models that the key may use; empty means all. */
  readonly models: readonly string[];
  /** What the key may be used for; empty means everything. */
  readonly scopes: readonly string[];
  readonly code: string;
  readonly callbackUrl: string | null;
  readonly asynchronous: boolean;
  readonly redrivenAs: string | null;
  readonly accountDisabled: boolean;
  /** Revoked or expired. */
  readonly keyEnded: boolean;
}

interface FailurePage extends FailureKind {
  readonly since: Date;
  readonly limit: number;
  /** Id of the last task of the page before. */
  readonly after?: string | undefined;
  /** Only those that were not drawn anew yet. */
  readonly open?: boolean;
}

const CODE = `COALESCE(tasks.error ->> 'code', 'internal_error')`;
const REDRIVEN_AS = `(SELECT again.id FROM tasks AS again WHERE again.redrive_of = tasks.id)`;
/** Failures of callers' own tasks: what an operator tried out is none. */
const FAILED = `tasks.status = 'failed' AND NOT tasks.options ? 'onlyProvider'`;
const MOST_GROUPS = 200;

/** Whether a task that failed with this code may succeed when it is ordered once more. */
export function isWorthRedriving(code: string): boolean {
  // What is of class 400 lies in the request itself, which would be the same.
  return isErrorCode(code) && errorKind(code).status >= 500;
}

/** What failed in all accounts, for those who look after the installation. */
export class FailedTasks {
  constructor(private readonly database: Queryable) {}

  /** Failures since a time by kind, the kind that happened last first. */
  async groups(since: Date): Promise<FailureGroup[]> {
    const { rows } = await this.database.query<FailureGroup>(
      `SELECT ${CODE} AS code, tasks.provider, tasks.model, count(*)::int AS count, count(again.id)::int AS redriven,
         max(tasks.finished_at) AS "latestAt"
       FROM tasks LEFT JOIN tasks AS again ON again.redrive_of = tasks.id
       WHERE ${FAILED} AND tasks.finished_at >= $1
       GROUP BY 1, 2, 3 ORDER BY max(tasks.finished_at) DESC LIMIT ${MOST_GROUPS}`,
      [since],
    );
    return rows;
  }

  /** One page of the failures of a kind, newest first. An unknown `after` gives an empty page. */
  async page(query: FailurePage): Promise<{ tasks: FailedTask[]; hasMore: boolean }> {
    const { rows } = await this.database.query<FailedTask>(
      `SELECT tasks.id, tasks.account_id AS "accountId", COALESCE(accounts.name, '') AS "accountName",
         tasks.api_key_id AS "keyId", COALESCE(api_keys.name, '') AS "keyName", tasks.finished_at AS "finishedAt",
         COALESCE(tasks.error ->> 'message', '') AS message, ${REDRIVEN_AS} AS "redrivenAs"
       FROM tasks LEFT JOIN accounts ON accounts.id = tasks.account_id LEFT JOIN api_keys ON api_keys.id = api_key_id
       WHERE ${FAILED} AND tasks.finished_at >= $1 AND ${CODE} = $2 AND tasks.provider IS NOT DISTINCT FROM $3
         AND tasks.model = $4 AND ($5::text IS NULL OR (tasks.finished_at, tasks.id) <
           (SELECT finished_at, id FROM tasks WHERE id = $5))
         AND (NOT $7 OR NOT EXISTS (SELECT FROM tasks AS again WHERE again.redrive_of = tasks.id))
       ORDER BY tasks.finished_at DESC, tasks.id DESC LIMIT $6`,
      [
        ...[query.since, query.code, query.provider, query.model],
        ...[query.after ?? null, query.limit + 1, query.open ?? false],
      ],
    );
    return { tasks: rows.slice(0, query.limit), hasMore: rows.length > query.limit };
  }

  /** The orders of those of the tasks that have failed, in no order. */
  async orders(ids: readonly string[]): Promise<Map<string, FailedOrder>> {
    const { rows } = await this.database.query<FailedOrder>(
      `SELECT tasks.id, tasks.account_id AS "accountId", api_key_id AS "apiKeyId", action, tasks.model, prompt, options,
         inputs, mask, callback_url AS "callbackUrl", asynchronous, ${CODE} AS code, ${REDRIVEN_AS} AS "redrivenAs",
         api_keys.weight, models, scopes, api_keys.tasks_in_flight AS "tasksInFlight",
         api_keys.submits_per_minute AS "submitsPerMinute", accounts.weight AS "accountWeight",
         accounts.tasks_in_flight AS "accountTasksInFlight", accounts.submits_per_minute AS "accountSubmitsPerMinute",
         accounts.disabled_at IS NOT NULL AS "accountDisabled",
         revoked_at IS NOT NULL OR COALESCE(expires_at <= now(), false) AS "keyEnded"
       FROM tasks JOIN accounts ON accounts.id = tasks.account_id JOIN api_keys ON api_keys.id = api_key_id
       WHERE tasks.id = ANY($1) AND ${FAILED}`,
      [ids],
    );
    return new Map(rows.map((row) => [row.id, row]));
  }
}
