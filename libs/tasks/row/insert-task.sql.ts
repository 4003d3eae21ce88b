import type { Queryable } from '#database/queryable.js';
import { AWAITS_REPETITION } from './equal-requests.sql.js';
import { overlayColumn, TASK_COLUMNS, type TaskRow } from './task-columns.js';
import type { TaskCommand } from './task.js';

/**
 * A statement may have been on its way for this long when Postgres receives it, in ms, so that the age of its request is
 * wrong by as much. One that took longer is followed by a second look (TaskIntake).
 */
export const UNDERWAY_MS = 250;

/** A caller's Idempotency-Key, with the fingerprint of its request. */
export interface KeyedRequest {
  readonly key: string;
  readonly fingerprint: Buffer;
}

/**
 * A held task is due only after its deadline, so no sweep enqueues it and no worker claims it, not even of a version that
 * does not know the phase; and RetractTasks, which deletes only what was never due, leaves it alone.
 */
const NOT_BEFORE_APPROVAL = `now() + deadline_ms * interval '1 millisecond' + interval '1 hour'`;

/**
 * The newest task that a synchronous request gets instead of its own, even if it needs no approval any more. In an order, so
 * that Postgres reads the index of approvals, and with a limit instead of EXISTS, so that it never reads all of them.
 */
const HELD_BEFORE = `SELECT earlier.id FROM tasks AS earlier
        WHERE earlier.fingerprint = new.fingerprint AND earlier.api_key_id = new.api_key_id AND NOT earlier.asynchronous AND ${AWAITS_REPETITION}
        ORDER BY earlier.created_at DESC LIMIT 1`;

// Takes all keys first, in sorted order, and no budgets unless it is for one task: so two of these statements never deadlock. The
// trigger `tasks_reserve` (libs/billing/ledger.sql) reads the setting.
const INSERT = {
  name: 'task_insert',
  text: `WITH new AS (
      SELECT * FROM json_to_recordset($1::json) AS new (id text, account_id text, api_key_id text, request_id text, action text, model text,
        prompt text, options jsonb, inputs jsonb, mask jsonb, callback_url text, fingerprint bytea, deadline_ms float8, estimated_ms int,
        asynchronous boolean, cost jsonb, retry_of text, waiter text, trace_parent text, ordered_by text, batch_id text,
        keep_seconds int, kept_after_end_ms int, approval jsonb, end_user text, tags text[],
        key text, key_fingerprint bytea, key_kept_ms float8, attached_by text, attach_window_ms float8, here text, seen text[], age_ms float8)),
    held AS (
      INSERT INTO idempotency_keys (account_id, key, fingerprint, task_id, expires_at)
      SELECT DISTINCT ON (account_id, key) account_id, key, key_fingerprint, id, now() + key_kept_ms * interval '1 millisecond'
        FROM new WHERE key IS NOT NULL ORDER BY account_id, key
      ON CONFLICT (account_id, key) DO UPDATE SET fingerprint = EXCLUDED.fingerprint, task_id = EXCLUDED.task_id,
        created_at = EXCLUDED.created_at, expires_at = EXCLUDED.expires_at
      WHERE idempotency_keys.expires_at <= now()
      RETURNING task_id),
    begun AS MATERIALIZED (SELECT array_agg(task_id) AS keyed, set_config('darkroom.shared', $2, true) FROM held)
    INSERT INTO tasks (id, account_id, api_key_id, request_id, action, model, prompt, options, inputs, mask, callback_url,
      fingerprint, deadline_at, estimated_ms, asynchronous, cost, retry_of, waiter, attached_by, trace_parent, ordered_by, batch_id,
      expires_at, kept_after_end_ms, end_user, tags, approval, phase, next_try_at)
    SELECT id, account_id, api_key_id, request_id, action, model, prompt, options, inputs, mask, callback_url,
      fingerprint, now() + deadline_ms * interval '1 millisecond', estimated_ms, asynchronous, cost, retry_of, waiter, attached_by, trace_parent, ordered_by, batch_id,
      now() + keep_seconds * interval '1 second', kept_after_end_ms, end_user, tags,
      approval, CASE WHEN approval IS NULL THEN 'queued' ELSE 'held' END, CASE WHEN approval IS NOT NULL THEN ${NOT_BEFORE_APPROVAL} END
    FROM new, begun
    WHERE (key IS NULL OR id = ANY (keyed))
      AND (attach_window_ms IS NULL OR asynchronous OR (${HELD_BEFORE}) IS NULL)
      AND (attach_window_ms IS NULL OR first_try_may_insert(fingerprint, api_key_id, attach_window_ms, here, seen, age_ms, ${UNDERWAY_MS}))
    RETURNING ${TASK_COLUMNS}`,
};

/**
 * The first try of a call: it creates no row while there is a task of an equal request that it may repeat. The function
 * `first_try_may_insert` of the baseline migration decides, and HELD_BEFORE.
 */
export interface FirstTry {
  /** For how long it may get the task of a caller that has left, in ms. */
  readonly attachWindowMs: number;
  /** The process that inserts. A task whose caller waits at another process may be the one that this request repeats. */
  readonly here: string;
  /** Tasks that other processes were asked about: their callers still wait, so they are not repeated. */
  readonly seen: readonly string[];
  /** How long ago the request arrived, in ms. A retry that has created a task since then is a later try of this call. */
  readonly ageMs: number;
}

/** Lets a repetition of a request find its row. */
export interface FoundBy {
  readonly fingerprint?: Buffer | undefined;
  readonly request?: KeyedRequest & { readonly keptMs: number };
  readonly firstTry?: FirstTry;
  /** The id of the retry that created the row: earlier tries of the same call that arrive late find the row by it. */
  readonly attachedBy?: string;
  /** The process at which the caller waits. */
  readonly waiter?: string | undefined;
}

/** A command, with the other values that its row needs. */
export interface NewTask extends FoundBy {
  readonly command: TaskCommand;
  readonly deadlineMs: number;
}

/**
 * Inserts commands with their keys: all, or none and throws when the database refuses one, as it does if one of several
 * has a budget. A command gets undefined when its key is taken, also by another of the batch (one of several gets an
 * expired key), or FoundBy rules it out.
 */
export async function insertTasks(database: Queryable, tasks: readonly NewTask[]): Promise<(TaskRow | undefined)[]> {
  const values = [JSON.stringify(tasks.map(columnsOf)), String(tasks.length > 1)];
  const { rows } = await database.query<TaskRow>({ ...INSERT, values });
  return tasks.map(({ command }) => rows.find(({ id }) => id === command.id));
}

/** A new row as the statement's JSON; absent fields become null. */
function columnsOf({ command, deadlineMs, fingerprint, request, firstTry, attachedBy, waiter }: NewTask): object {
  return {
    id: command.id,
    account_id: command.accountId,
    api_key_id: command.apiKeyId,
    request_id: command.requestId,
    action: command.action,
    model: command.model,
    prompt: command.prompt,
    options: command.options,
    inputs: command.inputs,
    mask: command.mask && overlayColumn(command.mask),
    callback_url: command.callbackUrl,
    fingerprint: hex(fingerprint),
    deadline_ms: deadlineMs,
    estimated_ms: command.estimatedMs,
    asynchronous: command.asynchronous,
    cost: command.cost,
    retry_of: command.retryOf,
    waiter,
    trace_parent: command.traceParent,
    ordered_by: command.orderedBy,
    keep_seconds: command.kept?.seconds,
    kept_after_end_ms: command.kept?.afterEndMs,
    batch_id: command.batchId,
    approval: command.approval,
    end_user: command.endUser,
    tags: command.tags?.length ? command.tags : null,
    key: request?.key,
    key_fingerprint: hex(request?.fingerprint),
    key_kept_ms: request?.keptMs,
    attached_by: attachedBy,
    attach_window_ms: firstTry?.attachWindowMs,
    here: firstTry?.here,
    seen: firstTry?.seen,
    age_ms: firstTry?.ageMs,
  };
}

/** Bytes in Postgres's hex format for bytea. */
function hex(bytes: Buffer | undefined): string | undefined {
  return bytes && `\\x${bytes.toString('hex')}`;
}
