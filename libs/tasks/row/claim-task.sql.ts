import type { Queryable } from '#database/queryable.js';
import type { FirstCalls } from './provider-call.js';
import { batch, NOT_DURABLE, ofBatch, STARTED_PERCENT } from './task-batch.sql.js';
import { CLAIMED_COLUMNS, type ClaimedRow } from './task-columns.js';

/** SQL for whether a claim also begins the call given for its model: the first claim of a plain task. */
const BEGINS = `($2::jsonb ? model AND attempt = 0 AND inputs = '[]' AND NOT options ?| '{n,strict,onlyProvider,region}')`;

/** A disabled account buys nothing more; what a provider works on already is paid, so it is still fetched. */
const MAY_BUY = `(provider_call_open OR NOT EXISTS (SELECT 1 FROM accounts WHERE accounts.id = account_id AND disabled_at IS NOT NULL))`;

const CLAIM = {
  name: 'task_claim',
  text: `UPDATE tasks SET attempt = attempt + 1, losses = losses + (lease_until IS NOT NULL)::int, phase = 'running', lease_owner = owner,
      lease_until = now() + lease_ms * interval '1 millisecond', next_try_at = NULL, started_at = COALESCE(started_at, now()),
      provider_starts = provider_starts + ${BEGINS}::int, provider_call_open = provider_call_open OR ${BEGINS},
      provider = CASE WHEN ${BEGINS} THEN $2->model->>'provider' ELSE provider END,
      progress = CASE WHEN ${BEGINS} THEN GREATEST(progress, ${STARTED_PERCENT}) ELSE progress END,
      calls = CASE WHEN ${BEGINS} THEN jsonb_build_array(jsonb_build_object('n', 1, 'startedAt', now()) || ($2->model)) ELSE calls END
    FROM ${ofBatch('owner text, lease_ms float8')}
    WHERE id = task AND status = 'pending' AND phase <> 'held' AND deadline_at > now()
      AND (lease_until IS NULL OR lease_until < now()) AND (next_try_at IS NULL OR next_try_at <= now() + interval '1 second')
      AND ${MAY_BUY} AND ${NOT_DURABLE}
    RETURNING ${CLAIMED_COLUMNS}`,
};

/** A worker's request for the lease of a task. */
export interface Claim {
  readonly id: string;
  readonly owner: string;
  readonly leaseMs: number;
  /** Nearly the same in all claims that a process makes at one moment, so a batch uses those of its first claim. */
  readonly firstCalls: FirstCalls;
}

/**
 * Leases the tasks. There is no row for a task that has ended, is held by another worker, waits for its approval, is past its
 * deadline, is not due yet, or belongs to a disabled account.
 */
export async function claimTasks(database: Queryable, claims: readonly Claim[]): Promise<ClaimedRow[]> {
  const firstCalls = JSON.stringify(claims[0]?.firstCalls ?? {});
  const items = claims.map(({ id, owner, leaseMs }) => ({ task: id, owner, lease_ms: leaseMs }));
  return (await database.query<ClaimedRow>({ ...CLAIM, values: [batch(items), firstCalls] })).rows;
}
