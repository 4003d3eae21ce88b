import { Injectable } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import { PrismaService } from '#database/prisma.service.js';
import { ImageQueue, type QueueEntry } from '#queue/image-queue.js';
import { Logger } from '#telemetry/logger.js';
import { TaskBell } from './task-events.js';
import { TaskSlots } from './task-slots.js';
import { taskError } from './task-error.js';

const BATCH = 500;
/** A job is allowed so long to reach the queue before its task counts as left behind. */
const GRACE_MS = 5_000;
/**
 * A new task is left alone so much longer than the database may take to answer: its caller may have been turned away,
 * and then it is taken back (RetractTasks).
 */
const RETRACT_MS = 8_000;

/** Ending the tasks of many owners locks their budgets, so one sweep does it at a time; another one leaves it to that. */
const ALONE = `(SELECT pg_try_advisory_xact_lock(hashtext('budgets of many')))`;

/**
 * Finds tasks that nobody is looking after. Runs in every process, without a leader: rows are locked with
 * SKIP LOCKED, each move is conditional, and doing one twice does no harm.
 */
@Injectable()
export class SweepTasks {
  /** Where the last look at the queue ended, so that a long backlog is walked through page by page. */
  private cursor = '';

  constructor(
    private readonly prisma: PrismaService,
    private readonly queue: ImageQueue,
    private readonly bell: TaskBell,
    private readonly slots: TaskSlots,
    private readonly logger: Logger,
  ) {}

  /** Needs only the database: tasks end at their deadline with no worker and no Redis too. */
  async failOverdue(): Promise<number> {
    const error = taskError(new AppError('generation_timeout', 'The image was not finished before the deadline.'));
    const { rows } = await this.prisma.pool.query<{ id: string; accountId: string; apiKeyId: string }>({
      name: 'sweep_overdue',
      text: `UPDATE tasks SET status = 'failed', phase = 'done', error = $1, finished_at = now(), lease_until = NULL,
          lease_owner = NULL, provider_call_open = false
        WHERE id IN (SELECT id FROM tasks WHERE ${ALONE} AND finished_at IS NULL AND deadline_at < now()
          ORDER BY id LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)
        RETURNING id, account_id AS "accountId", api_key_id AS "apiKeyId"`,
      values: [JSON.stringify(error)],
    });
    for (const row of rows) {
      const { id } = row;
      this.slots.free(row);
      this.bell.ring(id);
      this.logger.warn('task.overdue', { taskId: id });
    }
    return rows.length;
  }

  /** Counts the tasks in flight anew, of accounts where that was not done for a while. */
  async checkSlots(): Promise<number> {
    return this.slots.check();
  }

  /** Puts tasks whose worker fell silent back into the queue. */
  async requeueAbandoned(): Promise<number> {
    const { rows } = await this.prisma.pool.query<QueueEntry>({
      name: 'sweep_abandoned',
      text: `UPDATE tasks SET epoch = epoch + 1, losses = losses + 1, lease_until = NULL, lease_owner = NULL, phase = 'queued',
          next_try_at = now()
        WHERE id IN (SELECT id FROM tasks WHERE finished_at IS NULL AND lease_until < now()
          ORDER BY id LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)
        RETURNING id AS "taskId", epoch`,
    });
    await this.queue.addAll(rows);
    for (const { taskId } of rows) {
      this.bell.ringChanged(taskId);
      this.logger.warn('task.abandoned', { taskId });
    }
    return rows.length;
  }

  /**
   * Enqueues tasks that wait for a worker but have no job: the submitting process died after its commit, or Redis
   * lost them. Redis itself is asked which these are, so no mark of "was enqueued" can be wrong.
   */
  async enqueueForgotten(): Promise<number> {
    const { rows } = await this.prisma.pool.query<QueueEntry>({
      name: 'sweep_waiting',
      text: `SELECT id AS "taskId", epoch FROM tasks
        WHERE finished_at IS NULL AND lease_until IS NULL AND id > $1
          AND COALESCE(next_try_at + ${GRACE_MS} * interval '1 millisecond', created_at + $2 * interval '1 millisecond') < now()
        ORDER BY id LIMIT ${BATCH}`,
      values: [this.cursor, this.prisma.answerMs + RETRACT_MS],
    });
    this.cursor = rows.length < BATCH ? '' : (rows.at(-1)?.taskId ?? '');
    if (rows.length === 0) return 0;
    const missing = await this.queue.missing(rows);
    const entries = await this.nextEpoch(missing);
    await this.queue.addAll(entries);
    for (const { taskId } of entries) this.logger.warn('task.was_not_queued', { taskId });
    return entries.length;
  }

  /** Whether the walk through the waiting tasks is in the middle. */
  get midway(): boolean {
    return this.cursor !== '';
  }

  /**
   * Of two sweepers that saw the same row only one gets the next epoch; the others leave it alone for the grace time.
   * A parked task has had its turn, and goes first.
   */
  private async nextEpoch(entries: readonly QueueEntry[]): Promise<QueueEntry[]> {
    if (entries.length === 0) return [];
    const { rows } = await this.prisma.pool.query<QueueEntry>({
      name: 'sweep_epoch',
      text: `UPDATE tasks SET epoch = epoch + 1, next_try_at = now() FROM unnest($1::text[], $2::int[]) AS seen (seen_id, seen_epoch)
        WHERE id = seen_id AND epoch = seen_epoch AND status = 'pending' AND lease_until IS NULL
        RETURNING id AS "taskId", epoch, CASE WHEN phase = 'queued' THEN json_build_object(
          'accountId', account_id, 'accountWeight', COALESCE((SELECT weight FROM accounts WHERE accounts.id = account_id), 1),
          'apiKeyId', api_key_id, 'weight', COALESCE((SELECT weight FROM api_keys WHERE api_keys.id = api_key_id), 1)) END AS caller`,
      values: [entries.map((entry) => entry.taskId), entries.map((entry) => entry.epoch)],
    });
    return rows.sort((a, b) => (a.taskId < b.taskId ? -1 : 1));
  }
}
