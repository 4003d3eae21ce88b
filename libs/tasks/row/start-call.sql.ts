import type { Queryable } from '#database/queryable.js';
import type { CallEnd, CallStart } from './provider-call.js';
import { batch, callsEnded, HELD_IN_BATCH, NOT_DURABLE, ofBatch, STARTED_PERCENT } from './task-batch.sql.js';
import type { Lease } from './task.js';

// Requires the lease, because a late start must not open a call of a task that was released meanwhile. Free calls
// need no durable count; a batch with a paid call is durable.
const START = {
  name: 'task_start_provider',
  text: `UPDATE tasks SET provider_starts = provider_starts + 1, provider = call->>'provider', provider_call_open = true, provider_job_id = NULL,
      progress = GREATEST(progress, ${STARTED_PERCENT}),
      calls = ${callsEnded('before')} || (jsonb_build_object('n', provider_starts + 1, 'startedAt', now()) || call)
    FROM ${ofBatch('fence int, call jsonb, max_starts int, before jsonb')}
    WHERE ${HELD_IN_BATCH} AND lease_until IS NOT NULL AND provider_starts < max_starts AND CASE WHEN $2::boolean THEN ${NOT_DURABLE} ELSE true END
    RETURNING id, attempt`,
};

/** A call about to be made, and how the one before it ended, if that is still open. */
export interface Start {
  readonly lease: Lease;
  readonly call: CallStart;
  readonly maxStarts: number;
  readonly before: CallEnd | undefined;
}

/** Counts and records calls before they are made; returns the leases for which it did. */
export async function startCalls(database: Queryable, starts: readonly Start[]): Promise<Lease[]> {
  const items = starts.map(({ lease: { id, attempt }, call, maxStarts, before }) => {
    return { task: id, fence: attempt, call, max_starts: maxStarts, before };
  });
  const areFree = starts.every(({ call }) => call.free);
  return (await database.query<Lease>({ ...START, values: [batch(items), areFree] })).rows;
}
