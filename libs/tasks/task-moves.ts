import { Injectable } from '@nestjs/common';
import type { ImageUsage } from '#contract/image-usage.js';
import { PrismaService } from '#database/prisma.service.js';
import type { QueueEntry } from '#queue/image-queue.js';
import type { CallEnd, CallStart, ProviderCall } from './provider-call.js';
import { TASK_COLUMNS, toTask, type ClaimedRow } from './task-columns.js';
import type { Task, TaskError, TaskImage, TaskInput } from './task.js';

/** A task in the hands of one worker. `attempt` is the fence that every later move must name. */
export interface ClaimedTask {
  readonly task: Task;
  readonly prompt: string;
  readonly inputs: readonly TaskInput[];
  readonly mask: TaskInput | null;
  readonly attempt: number;
  /** Which try this is, from 1: claims that only looked after a provider's job, or found none free, do not count. */
  readonly tries: number;
  /** Workers that fell silent while they held the task. */
  readonly losses: number;
  readonly providerStarts: number;
  readonly providerJobId: string | null;
  /** An earlier attempt started the provider and its outcome is not known. */
  readonly providerCallOpen: boolean;
  /** The call that began last, open or not. */
  readonly lastCall: ProviderCall | undefined;
  /** Milliseconds since the provider named its job, by the database's clock; 0 when it named none. */
  readonly waitedMs: number;
  /** Its end is told by webhooks, if there is anyone to tell. */
  readonly asynchronous: boolean;
  /** Milliseconds until the task's deadline, by the database's clock. */
  readonly remainingMs: number;
  /** When the claim came back, by performance.now(). */
  readonly claimedAt: number;
}

/** The holder's proof: which task, and which claim of it. */
export interface Hold {
  readonly id: string;
  readonly attempt: number;
}

/** The database did not answer a move in time: it may have been made, or be made later. */
export class MoveUnanswered extends Error {
  override readonly name = 'MoveUnanswered';
}

export interface TaskResult {
  readonly images: readonly TaskImage[];
  readonly usage: ImageUsage | undefined;
  readonly warnings: readonly string[];
}

const HELD = `id = $1 AND attempt = $2 AND status = 'pending'`;
const ENDED = `phase = 'done', finished_at = now(), lease_until = NULL, lease_owner = NULL, provider_call_open = false`;

/** The calls with the last one ended, unless it is: by the CallEnd in a parameter, or not at all when that is null. */
const callsEnded = (end: string): string =>
  `(CASE WHEN ${end}::jsonb IS NULL OR calls = '[]' OR calls->-1 ? 'endedAt' THEN calls
    ELSE jsonb_set(calls, '{-1}', calls->-1 || ${end}::jsonb || jsonb_build_object('endedAt', now())) END)`;

/**
 * Commits without waiting for the disk. For moves whose loss in a crash of the server only means doing them again:
 * a later durable commit of the same worker makes them durable too.
 */
const NOT_DURABLE = `set_config('synchronous_commit', 'off', true) IS NOT NULL`;

const CLAIM = {
  name: 'task_claim',
  text: `UPDATE tasks SET attempt = attempt + 1, losses = losses + (lease_until IS NOT NULL)::int, phase = 'running', lease_owner = $2,
      lease_until = now() + $3 * interval '1 millisecond', next_try_at = NULL, started_at = COALESCE(started_at, now())
    WHERE id = $1 AND status = 'pending' AND deadline_at > now()
      AND (lease_until IS NULL OR lease_until < now()) AND (next_try_at IS NULL OR next_try_at <= now() + interval '1 second')
      AND ${NOT_DURABLE}
    RETURNING ${TASK_COLUMNS}, prompt, inputs, mask, attempt, waits, losses, provider_starts, provider_job_id, provider_call_open, asynchronous,
      calls->-1 AS last_call, (EXTRACT(EPOCH FROM now() - (calls->-1->>'acceptedAt')::timestamptz) * 1000)::float8 AS waited_ms,
      (EXTRACT(EPOCH FROM deadline_at - now()) * 1000)::float8 AS remaining_ms`,
};
// Needs the lease too: a start that arrives late must not open a call of a task that was given back meanwhile.
const START = {
  name: 'task_start_provider',
  text: `UPDATE tasks SET provider_starts = provider_starts + 1, provider = $3, provider_call_open = true, provider_job_id = NULL,
      calls = ${callsEnded('$6')} || (jsonb_build_object('n', provider_starts + 1, 'startedAt', now()) || $5::jsonb)
    WHERE ${HELD} AND lease_until IS NOT NULL AND provider_starts < $4`,
};
/** A start that costs nothing needs no durable count. */
const START_FREE = { name: 'task_start_free_provider', text: `${START.text} AND ${NOT_DURABLE}` };
const COMPLETE = {
  name: 'task_complete',
  text: `UPDATE tasks SET status = 'completed', progress = 100, images = $3, usage = $4, warnings = $5, error = NULL,
      calls = ${callsEnded('$6')}, ${ENDED}
    WHERE ${HELD}`,
};
/** Given back or parked: nobody holds the task until its next try, under a new epoch. */
const LET_GO = `lease_until = NULL, lease_owner = NULL, epoch = epoch + 1, next_try_at = now() + $3 * interval '1 millisecond'`;

/**
 * Every move of a task that a worker makes: one UPDATE each, which changes nothing (and answers false) when the
 * worker no longer holds the task. All times are the database's. Those that answer true or false throw MoveUnanswered
 * and nothing else.
 */
@Injectable()
export class TaskMoves {
  constructor(private readonly prisma: PrismaService) {}

  /** Takes the task, or answers undefined: it is done, held by another, past its deadline, or not due yet. */
  async claim(id: string, owner: string, leaseMs: number): Promise<ClaimedTask | undefined> {
    const { rows } = await this.prisma.pool.query<ClaimedRow>({ ...CLAIM, values: [id, owner, leaseMs] });
    const row = rows[0];
    return (
      row && {
        task: toTask(row),
        prompt: row.prompt,
        inputs: row.inputs,
        mask: row.mask,
        attempt: row.attempt,
        tries: row.attempt - row.waits,
        losses: row.losses,
        providerStarts: row.provider_starts,
        providerJobId: row.provider_job_id,
        providerCallOpen: row.provider_call_open,
        lastCall: row.last_call ?? undefined,
        waitedMs: row.waited_ms ?? 0,
        asynchronous: row.asynchronous,
        remainingMs: row.remaining_ms,
        claimedAt: performance.now(),
      }
    );
  }

  /** Extends the leases and answers with the holds that still stand; one that was given back meanwhile does not. */
  async renew(holds: readonly Hold[], leaseMs: number): Promise<Hold[]> {
    const { rows } = await this.prisma.pool.query<Hold>({
      name: 'task_renew',
      text: `UPDATE tasks SET lease_until = now() + $3 * interval '1 millisecond'
        FROM unnest($1::text[], $2::int[]) AS held (held_id, held_attempt)
        WHERE id = held_id AND attempt = held_attempt AND status = 'pending' AND lease_until IS NOT NULL RETURNING id, attempt`,
      values: [holds.map((hold) => hold.id), holds.map((hold) => hold.attempt), leaseMs],
    });
    return rows;
  }

  /**
   * Counts a start before the provider is called, and ends the call before it if that is open; false when the cap is
   * reached or the hold is lost.
   */
  async startProvider(hold: Hold, call: CallStart, maxStarts: number, before?: CallEnd): Promise<boolean> {
    return this.changed({
      ...(call.free ? START_FREE : START),
      values: [hold.id, hold.attempt, call.provider, maxStarts, JSON.stringify(call), json(before)],
    });
  }

  /** Keeps the provider's own job id, so that a later attempt resumes instead of buying again. */
  async acceptedByProvider(hold: Hold, providerJobId: string): Promise<boolean> {
    return this.changed({
      name: 'task_accepted_by_provider',
      text: `UPDATE tasks SET provider_job_id = $3, calls = CASE WHEN calls = '[]' THEN calls ELSE
          jsonb_set(calls, '{-1}', calls->-1 || jsonb_build_object('upstreamId', $3::text, 'acceptedAt', now())) END
        WHERE ${HELD}`,
      values: [hold.id, hold.attempt, providerJobId],
    });
  }

  /** Progress only grows, and reaches 100 only with completion. A late write never takes a phase back. */
  async progress(hold: Hold, percent: number, phase: 'running' | 'storing'): Promise<boolean> {
    return this.changed({
      name: 'task_progress',
      text: `UPDATE tasks SET progress = GREATEST(progress, LEAST($3, 99)), phase = $4
        WHERE ${HELD} AND phase IN ('running', $4) AND ${NOT_DURABLE}`,
      values: [hold.id, hold.attempt, Math.round(percent), phase],
    });
  }

  /** `end` is that of the call that made the picture. */
  async complete(hold: Hold, result: TaskResult, end?: CallEnd): Promise<boolean> {
    const { images, usage, warnings } = result;
    return this.changed({
      ...COMPLETE,
      values: [
        hold.id,
        hold.attempt,
        JSON.stringify(images),
        usage === undefined ? null : JSON.stringify(usage),
        warnings.length === 0 ? null : JSON.stringify(warnings),
        json(end),
      ],
    });
  }

  /** Whether this very hold has completed the task; for a completion whose answer was lost. */
  async isCompletedBy(hold: Hold): Promise<boolean> {
    return this.changed({
      name: 'task_is_completed_by',
      text: `SELECT 1 FROM tasks WHERE id = $1 AND attempt = $2 AND status = 'completed'`,
      values: [hold.id, hold.attempt],
    });
  }

  /** Notes that the picture has a thumbnail; false when its objects, or the task, were deleted meanwhile. */
  async thumbnailKept(hold: Hold): Promise<boolean> {
    return this.changed({
      name: 'task_thumbnail_kept',
      text: `UPDATE tasks SET has_thumbnail = true
        WHERE id = $1 AND attempt = $2 AND status = 'completed' AND objects_deleted_at IS NULL AND ${NOT_DURABLE}`,
      values: [hold.id, hold.attempt],
    });
  }

  /** `end` is that of the call that was the last, if it is open. */
  async fail(hold: Hold, error: TaskError, end?: CallEnd): Promise<boolean> {
    return this.changed({
      name: 'task_fail',
      text: `UPDATE tasks SET status = 'failed', error = $3, calls = ${callsEnded('$4')}, ${ENDED} WHERE ${HELD}`,
      values: [hold.id, hold.attempt, JSON.stringify(error), json(end)],
    });
  }

  /**
   * Gives the task back for a later attempt (or at once, on shutdown), with the end of the call that was made, if any;
   * a call that may have been charged stays open. `wait`: nobody could take it, so this was no try. Answers with the
   * place in the queue to take, if still held.
   */
  async giveBack(hold: Hold, delayMs: number, end?: CallEnd, wait = false): Promise<QueueEntry | undefined> {
    const { rows } = await this.prisma.pool.query<{ epoch: number }>({
      name: 'task_give_back',
      text: `UPDATE tasks SET phase = 'queued', ${LET_GO}, calls = ${callsEnded('$4')}, waits = waits + $5::int,
          provider_call_open = provider_call_open AND COALESCE($4::jsonb->>'charged', 'maybe') <> 'no',
          provider_job_id = CASE WHEN $4::jsonb IS NULL THEN provider_job_id END,
          started_at = CASE WHEN provider_starts > 0 THEN started_at END
        WHERE ${HELD} RETURNING epoch`,
      values: [hold.id, hold.attempt, delayMs, json(end), wait ? 1 : 0],
    });
    return rows[0] && { taskId: hold.id, epoch: rows[0].epoch, delayMs };
  }

  /**
   * Lets the task go while its provider works on: it keeps its phase and its open call, and is claimed again in
   * `delayMs` to ask for the job. Answers like `giveBack`.
   */
  async park(hold: Hold, delayMs: number): Promise<QueueEntry | undefined> {
    const { rows } = await this.prisma.pool.query<{ epoch: number }>({
      name: 'task_park',
      text: `UPDATE tasks SET ${LET_GO}, waits = waits + 1 WHERE ${HELD} RETURNING epoch`,
      values: [hold.id, hold.attempt, delayMs],
    });
    return rows[0] && { taskId: hold.id, epoch: rows[0].epoch, delayMs };
  }

  private async changed(query: { name?: string; text: string; values: unknown[] }): Promise<boolean> {
    try {
      const { rowCount } = await this.prisma.pool.query(query);
      return rowCount === 1;
    } catch (cause) {
      throw new MoveUnanswered('the database did not answer', { cause });
    }
  }
}

function json(end: CallEnd | undefined): string | null {
  return end === undefined ? null : JSON.stringify(end);
}
