import type { Queryable } from '#database/queryable.js';
import type { CallEnd } from './provider-call.js';
import { batch, callsEnded, HELD_IN_BATCH, ofBatch } from './task-batch.sql.js';
import type { Lease } from './task.js';

const RELEASE = {
  name: 'task_release',
  text: `UPDATE tasks SET lease_until = NULL, lease_owner = NULL, epoch = epoch + CASE WHEN waited AND NOT parked THEN 1 ELSE 2 END, next_try_at = now() + delay_ms * interval '1 millisecond',
      waits = waits + waited::int, may_store_late = may_store_late OR late, phase = CASE WHEN parked THEN phase ELSE 'queued' END,
      calls = CASE WHEN not_called THEN calls - (-1) ELSE ${callsEnded('call')} END, provider_starts = provider_starts - not_called::int,
      provider = CASE WHEN NOT not_called THEN provider END,
      provider_call_open = provider_call_open AND NOT not_called AND (parked OR COALESCE(call->>'charged', 'maybe') <> 'no'),
      provider_job_id = CASE WHEN parked OR call IS NULL THEN provider_job_id END,
      started_at = CASE WHEN parked OR provider_starts > not_called::int THEN started_at END
    FROM ${ofBatch('fence int, delay_ms float8, call jsonb, waited boolean, parked boolean, not_called boolean, late boolean')}
    WHERE ${HELD_IN_BATCH} RETURNING id, attempt, epoch`,
};

/** How a lease is given up. */
export interface Release {
  readonly lease: Lease;
  /** Milliseconds until its next try. */
  readonly delayMs: number;
  /** The end of the last call, if that was made and is open. */
  readonly call?: CallEnd | undefined;
  /**
   * Not a try, because no provider was free, or no memory: what becomes free may call the task by its next epoch, which
   * other releases skip.
   */
  readonly wait?: boolean | undefined;
  /** Its provider keeps working, so it keeps its phase, its call and its start. */
  readonly parked?: boolean;
  /** The call that its claim began was not made, so it is removed. */
  readonly notCalled?: boolean;
  /** The store may still carry out a write that its attempt gave up. */
  readonly mayStoreLate?: boolean;
}

/** A released lease, and the task's new epoch. */
export interface ReleasedRow extends Lease {
  readonly epoch: number;
}

/** Releases the tasks until their next try, each under a new epoch; no row for one that is no longer held. */
export async function releaseTasks(database: Queryable, releases: readonly Release[]): Promise<ReleasedRow[]> {
  const items = releases.map(
    ({
      lease: { id, attempt },
      delayMs,
      call,
      wait = false,
      parked = false,
      notCalled = false,
      mayStoreLate = false,
    }) => {
      return {
        task: id,
        fence: attempt,
        delay_ms: delayMs,
        call,
        waited: wait || parked,
        parked,
        not_called: notCalled,
        late: mayStoreLate,
      };
    },
  );
  return (await database.query<ReleasedRow>({ ...RELEASE, values: [batch(items)] })).rows;
}
