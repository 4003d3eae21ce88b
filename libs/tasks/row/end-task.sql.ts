import type { ImageUsage } from '#contract/image-usage.js';
import type { Queryable } from '#database/queryable.js';
import type { CallEnd } from './provider-call.js';
import { batch, callsEnded, ofBatch } from './task-batch.sql.js';
import { ORIGINAL_KEY, SUMMARY_COLUMNS, type EndedRow } from './task-columns.js';
import type { TaskStatus } from './task-status.js';
import type { Lease, TaskError, TaskImage } from './task.js';

/** Ending tasks of many owners locks their budgets in any order, so only one statement does it at a time. */
const BUDGETS_LOCK = `(SELECT pg_advisory_xact_lock(hashtext('budgets of many')) IS NOT NULL)`;
/**
 * All tasks to end, locked before the first budget, because requests to cancel them wait for budgets. Postgres completes
 * the array first. Two triggers act on the ends: `tasks_settle` (libs/billing/ledger.sql) settles what they cost, and
 * `tasks_ended` (function `tasks_tell_end` of the baseline migration) creates their webhook deliveries.
 */
const LOCKED = `ARRAY(SELECT id FROM tasks WHERE id = ANY (ARRAY(SELECT item ->> 'task' FROM jsonb_array_elements($1::jsonb) AS item))
        AND status = 'pending' ORDER BY id FOR UPDATE)`;

// A cancellation does not know how the running call ends, so it stays open, and the owner sees that (TaskLinks). Nor does it
// know whether a worker is storing an image, unless none has had the task but to find that it has to wait.
const END = {
  name: 'task_end',
  text: `UPDATE tasks SET status = ended, phase = 'done', finished_at = now(), lease_until = NULL, lease_owner = NULL,
      worker_stopped = CASE WHEN ended = 'cancelled' THEN lease_owner IS NULL AND attempt = waits AND NOT may_store_late ELSE COALESCE(stopped, false) END,
      progress = CASE WHEN ended = 'completed' THEN 100 ELSE progress END, images = results, usage = used, warnings = warned, error = failure,
      calls = ${callsEnded('call')}, provider_call_open = provider_call_open AND ended = 'cancelled'
    FROM ${ofBatch('fence int, account text, ended text, results jsonb, used jsonb, warned jsonb, failure jsonb, call jsonb, stopped boolean')}
    WHERE id = task AND status = 'pending' AND (attempt = fence OR account_id = account)
      AND CASE WHEN $2::boolean AND cost IS NOT NULL THEN ${BUDGETS_LOCK} AND id = ANY (${LOCKED}) ELSE true END
    RETURNING ${SUMMARY_COLUMNS}, attempt, epoch, ${ORIGINAL_KEY} AS original_key_id, waiter`,
};

/** How a task ends, and who ends it: its lease holder or its owner. */
export interface End {
  readonly by: Lease | { readonly id: string; readonly accountId: string };
  readonly status: Exclude<TaskStatus, 'pending'>;
  readonly images?: readonly TaskImage[];
  readonly usage?: ImageUsage | undefined;
  readonly warnings?: readonly string[];
  readonly error?: TaskError;
  /** The end of the last call, if that is open. */
  readonly call?: CallEnd | undefined;
  /** Of a failed task: no worker can store anything of it any more. */
  readonly stopped?: boolean;
}

/** Ends pending tasks; no row for one that has ended already, or that its lease or account does not match. */
export async function endTasks(database: Queryable, ends: readonly End[]): Promise<EndedRow[]> {
  const items = ends.map(({ by, status, images, usage, warnings, error, call, stopped }) => ({
    ...('attempt' in by ? { task: by.id, fence: by.attempt } : { task: by.id, account: by.accountId }),
    ended: status,
    results: images,
    used: usage,
    failure: error,
    call,
    stopped,
    warned: warnings?.length === 0 ? undefined : warnings,
  }));
  return (await database.query<EndedRow>({ ...END, values: [batch(items), ends.length > 1] })).rows;
}
