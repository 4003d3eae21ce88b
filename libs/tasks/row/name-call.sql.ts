import type { Queryable } from '#database/queryable.js';
import { batch, HELD_IN_BATCH, ofBatch } from './task-batch.sql.js';
import type { Lease } from './task.js';

const ACCEPTED = {
  name: 'task_accepted_by_provider',
  text: `UPDATE tasks SET provider_job_id = job, calls = CASE WHEN calls = '[]' THEN calls ELSE
      jsonb_set(calls, '{-1}', calls->-1 || jsonb_strip_nulls(jsonb_build_object('upstreamId', job, 'acceptedAt', now(), 'adapted', adapted))) END
    FROM ${ofBatch('fence int, job text, adapted jsonb')} WHERE ${HELD_IN_BATCH} RETURNING id, attempt`,
};

/** The provider's own job id for a call. */
export interface NamedCall {
  readonly lease: Lease;
  readonly providerJobId: string;
  /** What was adapted in the request, as sentences. */
  readonly adapted?: readonly string[];
}

/** Stores the providers' own job ids; returns the leases for which it did. */
export async function nameCalls(database: Queryable, named: readonly NamedCall[]): Promise<Lease[]> {
  const items = named.map(({ lease: { id, attempt }, providerJobId, adapted = [] }) => {
    return { task: id, fence: attempt, job: providerJobId, adapted: adapted.length === 0 ? null : adapted };
  });
  return (await database.query<Lease>({ ...ACCEPTED, values: [batch(items)] })).rows;
}
