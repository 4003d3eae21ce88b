import { Injectable } from '@nestjs/common';
import type { ImageUsage } from '#contract/image-usage.js';
import { batched } from '#database/batched.js';
import { PrismaService } from '#database/prisma.service.js';
import type { QueueCaller } from '#queue/fair-order.js';
import type { QueueEntry } from '#queue/image-queue.js';
import type { CallEnd, CallStart, FirstCalls, ProviderCall } from '../row/provider-call.js';
import type { SlotTaker } from '../admission/task-slots.js';
import { toOutcome, toOverlay, toTask, type ClaimedRow } from '../row/task-columns.js';
import { claimTasks, type Claim } from '../row/claim-task.sql.js';
import { endTasks, type End } from '../row/end-task.sql.js';
import { nameCalls, type NamedCall } from '../row/name-call.sql.js';
import { releaseTasks, type Release } from '../row/release-task.sql.js';
import { renewLeases } from '../row/renew-lease.sql.js';
import { startCalls, type Start } from '../row/start-call.sql.js';
import { writeProgress, type Progress } from '../row/write-progress.sql.js';
import type { Lease, Task, TaskError, TaskImage, TaskInput, TaskOutcome } from '../row/task.js';

/** A task held by one worker. `attempt` is the fencing token that every later transition must name. */
export interface ClaimedTask {
  readonly task: Task & Pick<SlotTaker, 'originalKeyId'>;
  /** Whose turn its calls take at a provider. */
  readonly caller: QueueCaller;
  /** The epoch of its next job, if it comes back because it waits for a provider, or for memory. */
  readonly nextEpoch: number;
  readonly prompt: string;
  readonly inputs: readonly TaskInput[];
  readonly mask: TaskInput | null;
  readonly attempt: number;
  /**
   * The number of this try, from 1; claims that only checked a provider's job, or found no provider or no memory free,
   * do not count.
   */
  readonly tries: number;
  /** How many workers let their lease of the task expire. */
  readonly losses: number;
  /** The store may still carry out a write that an earlier attempt gave up. */
  readonly mayStoreLate: boolean;
  readonly providerStarts: number;
  readonly providerJobId: string | null;
  /** An earlier attempt called a provider, and the outcome is unknown. */
  readonly providerCallOpen: boolean;
  /** The call that began last, open or not. */
  readonly lastCall: ProviderCall | undefined;
  /** The call that this claim itself has begun; the fields above leave it out. */
  readonly begun: ProviderCall | undefined;
  /** Milliseconds since the provider named its job, by the database's clock; 0 when it named none. */
  readonly waitedMs: number;
  /** Webhooks report its end, if there are any. */
  readonly asynchronous: boolean;
  /** The W3C traceparent under which it was accepted, if that was traced. */
  readonly traceParent: string | undefined;
  /** Whether its end user is blocked, so that nothing may be bought for it. */
  readonly endUserBlocked: boolean;
  /** Milliseconds until the task's deadline, by the database's clock. */
  readonly remainingMs: number;
  /** When the claim returned, by performance.now(). */
  readonly claimedAt: number;
}

/** The database did not answer a transition in time: it may have been made, or may yet be made. */
export class TransitionUnanswered extends Error {
  override readonly name = 'TransitionUnanswered';
}

/** An outcome, and the caller's process; null if no caller waits, or no equal request could take over the task. */
export interface Completion {
  readonly outcome: TaskOutcome;
  readonly waiter: string | null;
}

/** What completes a task. */
export interface TaskResult {
  readonly images: readonly TaskImage[];
  readonly usage: ImageUsage | undefined;
  readonly warnings: readonly string[];
}

/**
 * All transitions of a task that a worker makes: one UPDATE each, which changes nothing (and returns false) when the
 * worker no longer holds the task. Simultaneous ones of one kind share an UPDATE (batched). All times are the
 * database's. `claim`, `renew`, `release` and `park` throw what the database throws, and the others TransitionUnanswered
 * instead.
 */
@Injectable()
export class TaskTransitions {
  private readonly claims = batched(async (claims: readonly Claim[]) => {
    const rows = new Map((await claimTasks(this.prisma.pool, claims)).map((row) => [row.id, row]));
    // If a batch claims a task twice, the first claim gets it.
    return claims.map(({ id }) => {
      const row = rows.get(id);
      rows.delete(id);
      return row;
    });
  });
  private readonly starts = batched(async (starts: readonly Start[]) =>
    areAmong(
      await startCalls(this.prisma.pool, starts),
      starts.map(({ lease }) => lease),
    ),
  );
  private readonly names = batched(async (named: readonly NamedCall[]) =>
    areAmong(
      await nameCalls(this.prisma.pool, named),
      named.map(({ lease }) => lease),
    ),
  );
  private readonly steps = batched(async (steps: readonly Progress[]) =>
    areAmong(
      await writeProgress(this.prisma.pool, steps),
      steps.map(({ lease }) => lease),
    ),
  );
  private readonly ends = batched(async (ends: readonly HoldersEnd[]) =>
    rowsOf(
      await endTasks(this.prisma.pool, ends),
      ends.map(({ by }) => by),
    ),
  );

  private readonly releases = batched(async (releases: readonly Release[]) =>
    rowsOf(
      await releaseTasks(this.prisma.pool, releases),
      releases.map(({ lease }) => lease),
    ),
  );

  constructor(private readonly prisma: PrismaService) {}

  /**
   * Claims the task; undefined when it has ended, is held by another, is past its deadline, is not due yet, or belongs
   * to a disabled account and has no open call. The first claim of a plain task also begins the call given for its model.
   * Such calls must be free: a claim is not durable, and if its answer is lost, it is not known that the call was never
   * made.
   */
  async claim(
    id: string,
    owner: string,
    leaseMs: number,
    firstCalls: FirstCalls = {},
  ): Promise<ClaimedTask | undefined> {
    const row = await this.claims({ id, owner, leaseMs, firstCalls });
    return row && toClaimed(row);
  }

  /** Extends the leases and returns those that are still held; one that was released meanwhile is not. */
  async renew(leases: readonly Lease[], leaseMs: number): Promise<Lease[]> {
    return renewLeases(this.prisma.pool, leases, leaseMs);
  }

  /**
   * Counts a call before it is made, and ends the previous call if that is open; false when the limit is reached or the
   * lease is lost.
   */
  async startProvider(lease: Lease, call: CallStart, maxStarts: number, before?: CallEnd): Promise<boolean> {
    return answered(this.starts({ lease, call, maxStarts, before }));
  }

  /**
   * Stores the provider's own job id, so that a later attempt resumes that job instead of buying again, and what was
   * adapted in its request, as sentences.
   */
  async acceptedByProvider(lease: Lease, providerJobId: string, adapted: readonly string[] = []): Promise<boolean> {
    return answered(this.names({ lease, providerJobId, adapted }));
  }

  /** Progress never decreases, and reaches 100 only with completion. A late write never moves the phase back. */
  async progress(lease: Lease, percent: number, phase: 'running' | 'storing'): Promise<boolean> {
    return answered(this.steps({ lease, percent: Math.round(percent), phase }));
  }

  /** `end` is that of the call that made the image. Returns the row's outcome; undefined where others return false. */
  async complete(lease: Lease, result: TaskResult, end?: CallEnd): Promise<Completion | undefined> {
    const ended = await answered(this.ends({ by: lease, status: 'completed', ...result, call: end }));
    return ended && { outcome: toOutcome(ended), waiter: ended.waiter };
  }

  /** Whether this very lease has completed the task; for a completion whose answer was lost. */
  async isCompletedBy({ id, attempt }: Lease): Promise<boolean> {
    return (await answered(this.prisma.task.count({ where: { id, attempt, status: 'completed' } }))) === 1;
  }

  /** `end` is the end of the last call, if that is open; `stopped`: no worker can store an image of it any more. */
  async fail(lease: Lease, error: TaskError, end?: CallEnd, stopped = false): Promise<boolean> {
    return (await answered(this.ends({ by: lease, status: 'failed', error, call: end, stopped }))) !== undefined;
  }

  /**
   * Releases the task for a later attempt (or at once, on shutdown), with the end of the call that was made, if any;
   * a call that may have been charged stays open. Returns the entry to add to the queue, if the task was still held.
   * A task that only waits for a provider or for memory (`wait`) is due at once, because it may be called before its
   * delay is over.
   */
  async release(
    lease: Lease,
    delayMs: number,
    end?: CallEnd,
    how: Pick<Release, 'wait' | 'notCalled' | 'mayStoreLate'> = {},
  ): Promise<QueueEntry | undefined> {
    return this.entryAfter({ lease, delayMs, call: end, ...how });
  }

  /**
   * Releases the task while its provider keeps working: it keeps its phase and its open call, and is claimed again in
   * `delayMs` to check on the job. Returns like `release`.
   */
  async park(lease: Lease, delayMs: number, mayStoreLate = false): Promise<QueueEntry | undefined> {
    return this.entryAfter({ lease, delayMs, parked: true, mayStoreLate });
  }

  private async entryAfter(release: Release): Promise<QueueEntry | undefined> {
    const { wait, delayMs } = release;
    const row = await this.releases(wait ? { ...release, delayMs: 0 } : release);
    return row && { taskId: row.id, epoch: row.epoch, delayMs };
  }
}

type HoldersEnd = End & { readonly by: Lease };

/** For each lease, whether the statement returned it. */
function areAmong(named: readonly Lease[], leases: readonly Lease[]): boolean[] {
  return rowsOf(named, leases).map((row) => row !== undefined);
}

/** For each lease, the row that the statement returned for it; of equal leases, only the first gets the row. */
function rowsOf<Row extends Lease>(rows: readonly Row[], leases: readonly Lease[]): (Row | undefined)[] {
  const byName = new Map(rows.map((row) => [nameOf(row), row]));
  return leases.map((lease) => {
    const row = byName.get(nameOf(lease));
    byName.delete(nameOf(lease));
    return row;
  });
}

function nameOf({ id, attempt }: Lease): string {
  return `${id}-${attempt}`;
}

function toClaimed(row: ClaimedRow): ClaimedTask {
  const begun = row.attempt === 1 && row.provider_call_open ? (row.last_call ?? undefined) : undefined;
  return {
    task: { ...toTask(row), originalKeyId: row.original_key_id },
    caller: {
      accountId: row.account_id,
      accountWeight: row.account_weight,
      originalKeyId: row.turn_key,
      weight: row.turn_weight,
    },
    nextEpoch: row.epoch + 1,
    prompt: row.prompt,
    inputs: row.inputs,
    mask: toOverlay(row.mask),
    attempt: row.attempt,
    tries: row.attempt - row.waits,
    losses: row.losses,
    mayStoreLate: row.may_store_late,
    providerStarts: begun === undefined ? row.provider_starts : 0,
    providerJobId: row.provider_job_id,
    providerCallOpen: begun === undefined && row.provider_call_open,
    lastCall: begun === undefined ? (row.last_call ?? undefined) : undefined,
    begun,
    waitedMs: row.waited_ms ?? 0,
    asynchronous: row.asynchronous,
    traceParent: row.trace_parent ?? undefined,
    endUserBlocked: row.end_user_blocked,
    remainingMs: row.remaining_ms,
    claimedAt: performance.now(),
  };
}

async function answered<T>(move: Promise<T>): Promise<T> {
  return move.catch((cause: unknown) => {
    throw new TransitionUnanswered('the database did not answer', { cause });
  });
}
