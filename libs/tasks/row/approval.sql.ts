import type { Queryable } from '#database/queryable.js';
import type { QueueCaller } from '#queue/fair-order.js';
import { AWAITS_REPETITION, WAITS_FOR_EQUAL_MS } from './equal-requests.sql.js';
import { ACCOUNT_WEIGHT, ORIGINAL_KEY, TURN_KEY, TURN_WEIGHT } from './task-columns.js';
import type { TaskError } from './task.js';

/** One held task, and who decides about it. */
export interface Decision {
  readonly id: string;
  readonly accountId: string;
  /** Id of the person or API key. */
  readonly by: string;
}

/** A task that was just approved: its next job, and whose turn that takes. */
export interface ApprovedRow {
  readonly epoch: number;
  readonly caller: QueueCaller;
}

/** A task that was just rejected. */
export interface RejectedRow {
  readonly originalKeyId: string;
  readonly asynchronous: boolean;
}

/** Of two decisions, the second finds no row, and neither does one that comes after the deadline. */
const STILL_HELD = `id = $1 AND account_id = $2 AND status = 'pending' AND phase = 'held' AND deadline_at > now()`;

/** `decision` and `reason` are SQL. */
function decided(decision: string, reason = 'NULL'): string {
  return `approval || jsonb_strip_nulls(jsonb_build_object('decision', '${decision}', 'decidedAt', now(), 'decidedBy', $3::text,
      'reason', ${reason}))`;
}

// Its lifetime, too, begins with its approval.
const APPROVE = {
  name: 'task_approve',
  text: `UPDATE tasks SET phase = 'queued', epoch = epoch + 1, next_try_at = now(),
      deadline_at = now() + (approval ->> 'deadlineMs')::float8 * interval '1 millisecond', approval = ${decided('approved')},
      expires_at = expires_at + (now() - created_at),
      kept_after_end_ms = CASE WHEN asynchronous OR kept_after_end_ms IS NULL THEN kept_after_end_ms
        ELSE GREATEST(kept_after_end_ms, ${WAITS_FOR_EQUAL_MS}) END
    WHERE ${STILL_HELD}
    RETURNING epoch, json_build_object('accountId', account_id, 'accountWeight', ${ACCOUNT_WEIGHT},
      'originalKeyId', ${TURN_KEY}, 'weight', ${TURN_WEIGHT}) AS caller`,
};

const REJECT = {
  name: 'task_reject',
  text: `UPDATE tasks SET status = 'failed', phase = 'done', finished_at = now(), next_try_at = NULL, error = $4::jsonb,
      approval = ${decided('rejected', '$5::text')}
    WHERE ${STILL_HELD}
    RETURNING ${ORIGINAL_KEY} AS "originalKeyId", asynchronous`,
};

/** Lets a held task wait for its turn, from now on until its deadline. Undefined when it is not held, or no longer. */
export async function approveTask(
  database: Queryable,
  { id, accountId, by }: Decision,
): Promise<ApprovedRow | undefined> {
  return (await database.query<ApprovedRow>({ ...APPROVE, values: [id, accountId, by] })).rows[0];
}

/** Fails a held task; triggers refund its reserve and create its webhook deliveries. Undefined like `approveTask`. */
export async function rejectTask(
  database: Queryable,
  { id, accountId, by }: Decision,
  error: TaskError,
  reason: string | undefined,
): Promise<RejectedRow | undefined> {
  const values = [id, accountId, by, JSON.stringify(error), reason ?? null];
  return (await database.query<RejectedRow>({ ...REJECT, values })).rows[0];
}

const FIND_WANTED = {
  name: 'task_find_approval',
  text: `UPDATE tasks SET attached_by = $3 WHERE id = (SELECT id FROM tasks
      WHERE fingerprint = $1 AND api_key_id = $2 AND NOT asynchronous AND ${AWAITS_REPETITION}
      ORDER BY created_at DESC, id DESC LIMIT 1)
    RETURNING id`,
};

/**
 * The task of an equal request that needed an approval, and whose outcome no answer has told yet, whether it was approved
 * meanwhile or not. Before a new task is made, call it with the lock of equal requests, in a statement of its own.
 */
export async function takeApproval(
  database: Queryable,
  {
    fingerprint,
    apiKeyId,
    requestId,
  }: { readonly fingerprint: Buffer; readonly apiKeyId: string; readonly requestId: string },
): Promise<string | undefined> {
  const { rows } = await database.query<{ id: string }>({ ...FIND_WANTED, values: [fingerprint, apiKeyId, requestId] });
  return rows[0]?.id;
}
