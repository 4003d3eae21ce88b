import type { ImageUsage } from '#contract/image-usage.js';
import type { Database } from '#database/database.js';
import type { QueueEntry } from '#queue/image-queue.js';
import { TASK_COLUMNS, toTask, type ClaimedRow } from './task-columns.js';
import type { Task, TaskError, TaskImage, TaskInput } from './task.js';

/** A task in the hands of one worker. `attempt` is the fence that every later move must name. */
export interface ClaimedTask {
  readonly task: Task;
  readonly prompt: string;
  readonly inputs: readonly TaskInput[];
  readonly mask: TaskInput | null;
  readonly attempt: number;
  /** Workers that fell silent while they held the task. */
  readonly losses: number;
  readonly providerStarts: number;
  readonly providerJobId: string | null;
  /** An earlier attempt started the provider and its outcome is not known. */
  readonly providerCallOpen: boolean;
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
    RETURNING ${TASK_COLUMNS}, prompt, inputs, mask, attempt, losses, provider_starts, provider_job_id, provider_call_open, asynchronous,
      (EXTRACT(EPOCH FROM deadline_at - now()) * 1000)::float8 AS remaining_ms`,
};
const START = {
  name: 'task_start_provider',
  text: `UPDATE tasks SET provider_starts = provider_starts + 1, provider = $3, provider_call_open = true
    WHERE ${HELD} AND provider_starts < $4`,
};
/** A start that costs nothing needs no durable count. */
const START_FREE = { name: 'task_start_free_provider', text: `${START.text} AND ${NOT_DURABLE}` };
const COMPLETE = {
  name: 'task_complete',
  text: `UPDATE tasks SET status = 'completed', progress = 100, images = $3, usage = $4, warnings = $5, error = NULL, ${ENDED}
    WHERE ${HELD}`,
};

/**
 * Every move of a task that a worker makes: one UPDATE each, which changes nothing (and answers false) when the
 * worker no longer holds the task. All times are the database's. Those that answer true or false throw MoveUnanswered
 * and nothing else.
 */
export class TaskMoves {
  constructor(private readonly database: Database) {}

  /** Takes the task, or answers undefined: it is done, held by another, past its deadline, or not due yet. */
  async claim(id: string, owner: string, leaseMs: number): Promise<ClaimedTask | undefined> {
    const { rows } = await this.database.pool.query<ClaimedRow>({ ...CLAIM, values: [id, owner, leaseMs] });
    const row = rows[0];
    return (
      row && {
        task: toTask(row),
        prompt: row.prompt,
        inputs: row.inputs,
        mask: row.mask,
        attempt: row.attempt,
        losses: row.losses,
        providerStarts: row.provider_starts,
        providerJobId: row.provider_job_id,
        providerCallOpen: row.provider_call_open,
        asynchronous: row.asynchronous,
        remainingMs: row.remaining_ms,
        claimedAt: performance.now(),
      }
    );
  }

  /** Extends the leases and answers with the holds that still stand; one that was given back meanwhile does not. */
  async renew(holds: readonly Hold[], leaseMs: number): Promise<Hold[]> {
    const { rows } = await this.database.pool.query<Hold>({
      name: 'task_renew',
      text: `UPDATE tasks SET lease_until = now() + $3 * interval '1 millisecond'
        FROM unnest($1::text[], $2::int[]) AS held (held_id, held_attempt)
        WHERE id = held_id AND attempt = held_attempt AND status = 'pending' AND lease_until IS NOT NULL RETURNING id, attempt`,
      values: [holds.map((hold) => hold.id), holds.map((hold) => hold.attempt), leaseMs],
    });
    return rows;
  }

  /** Counts a start before the provider is called; false when the cap is reached or the hold is lost. */
  async startProvider(hold: Hold, provider: { name: string; free: boolean }, maxStarts: number): Promise<boolean> {
    const statement = provider.free ? START_FREE : START;
    return this.changed({ ...statement, values: [hold.id, hold.attempt, provider.name, maxStarts] });
  }

  /** Keeps the provider's own job id, so that a later attempt resumes instead of buying again. */
  async acceptedByProvider(hold: Hold, providerJobId: string): Promise<boolean> {
    return this.changed({
      text: `UPDATE tasks SET provider_job_id = $3 WHERE ${HELD}`,
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

  async complete(hold: Hold, result: TaskResult): Promise<boolean> {
    const { images, usage, warnings } = result;
    return this.changed({
      ...COMPLETE,
      values: [
        hold.id,
        hold.attempt,
        JSON.stringify(images),
        usage === undefined ? null : JSON.stringify(usage),
        warnings.length === 0 ? null : JSON.stringify(warnings),
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

  async fail(hold: Hold, error: TaskError): Promise<boolean> {
    return this.changed({
      name: 'task_fail',
      text: `UPDATE tasks SET status = 'failed', error = $3, ${ENDED} WHERE ${HELD}`,
      values: [hold.id, hold.attempt, JSON.stringify(error)],
    });
  }

  /**
   * Gives the task back for a later attempt (or at once, on shutdown). `outcomeKnown` says that no provider call
   * of this attempt is left without a known end. Answers with the place in the queue to take, if still held.
   */
  async giveBack(hold: Hold, delayMs: number, outcomeKnown: boolean): Promise<QueueEntry | undefined> {
    const { rows } = await this.database.pool.query<{ epoch: number }>({
      text: `UPDATE tasks SET phase = 'queued', lease_until = NULL, lease_owner = NULL, epoch = epoch + 1,
          next_try_at = now() + $3 * interval '1 millisecond', provider_call_open = provider_call_open AND NOT $4
        WHERE ${HELD} RETURNING epoch`,
      values: [hold.id, hold.attempt, delayMs, outcomeKnown],
    });
    return rows[0] && { taskId: hold.id, epoch: rows[0].epoch, delayMs };
  }

  private async changed(query: { name?: string; text: string; values: unknown[] }): Promise<boolean> {
    try {
      const { rowCount } = await this.database.pool.query(query);
      return rowCount === 1;
    } catch (cause) {
      throw new MoveUnanswered('the database did not answer', { cause });
    }
  }
}
