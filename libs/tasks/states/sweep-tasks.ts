import { Injectable } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import { PrismaService } from '#database/prisma.service.js';
import { ImageQueue, type QueueEntry } from '#queue/image-queue.js';
import { Logger } from '#telemetry/logger.js';
import { Metrics } from '#telemetry/metrics.js';
import { openSpan } from '#telemetry/spans.js';
import { failOverdue, requeue, SWEEP_BATCH, type OverdueRow } from '../row/sweep.sql.js';
import { TaskEvents } from './task-events.js';
import { TaskSlots } from '../admission/task-slots.js';
import { taskError, type Task } from '../row/task.js';

/** How long a job may take to reach the queue before its task counts as lost. */
const GRACE_MS = 5_000;
/**
 * How much longer than the database's time limit the sweep leaves a new task alone: its caller may be refused until
 * then, and then RetractTasks deletes it.
 */
const RETRACT_MS = 8_000;

/** Tasks that one sweep looks at or ends. */
const SWEEP_TASKS = 500;
/** One page of rows, in the order of the index of unfinished tasks. */
const PAGE = { select: { id: true, epoch: true, nextTryAt: true }, orderBy: { id: 'asc' }, take: SWEEP_TASKS } as const;

/** A row of that page; `isWanted`: it was enqueued before, or requested again. */
interface SeenTask extends QueueEntry {
  readonly isWanted: boolean;
}

/**
 * Finds tasks that are overdue, lost by their worker, or not enqueued. Runs in every process, without a leader: rows are
 * locked with SKIP LOCKED, each move is conditional, and doing one twice does no harm.
 */
@Injectable()
export class SweepTasks {
  /** Where the last look at the queue ended, so that a long backlog is walked through page by page. */
  private cursor = '';

  constructor(
    private readonly prisma: PrismaService,
    private readonly queue: ImageQueue,
    private readonly events: TaskEvents,
    private readonly slots: TaskSlots,
    private readonly logger: Logger,
    private readonly metrics: Metrics,
  ) {}

  /**
   * Fails tasks past their deadline, which for a held one is that of its approval, and those of disabled accounts that no
   * provider works on. Needs only the database, so it works without workers and without Redis.
   */
  async failOverdue(): Promise<number> {
    const overdue = taskError(new AppError('generation_timeout', 'The image was not finished before the deadline.'));
    const disabled = taskError(new AppError('account_disabled', 'The account was disabled before the image was made.'));
    const unapproved = taskError(new AppError('approval_expired', 'Nobody approved the request in time.'));
    let count = 0;
    let failed = SWEEP_BATCH;
    while (failed === SWEEP_BATCH && count < SWEEP_TASKS) {
      const rows = await failOverdue(this.prisma.pool, { overdue, disabled, unapproved });
      this.tellOverdue(rows);
      failed = rows.length;
      count += failed;
    }
    return count;
  }

  /** Says nothing of deliveries: the sweep's last step enqueues them. */
  private tellOverdue(rows: readonly OverdueRow[]): void {
    for (const row of rows) {
      const { id, code } = row;
      this.metrics.tasksEnded.inc({ outcome: 'failed', code });
      this.slots.free(row);
      this.events.publishSettled(id);
      const span = openSpan({
        name: 'task.overdue',
        about: id,
        parent: row.traceParent ?? undefined,
        fields: { taskId: id },
      });
      if (code === 'account_disabled') this.logger.info('task.account_disabled', { taskId: id });
      else if (code === 'approval_expired') this.logger.info('task.approval_expired', { taskId: id });
      else this.logger.warn('task.overdue', { taskId: id });
      span.end({ outcome: 'failed', error: code });
    }
  }

  /** Recounts the tasks in flight of accounts that were not checked for a while. */
  async checkSlots(): Promise<number> {
    return this.slots.check();
  }

  /** Requeues tasks whose worker let its lease expire. */
  async requeueLost(): Promise<number> {
    const seen = await this.prisma.task.findMany({
      where: { finishedAt: null, leaseUntil: { lt: new Date() } },
      ...PAGE,
    });
    const rows = await this.nextEpoch(seen.map(toEntry), true);
    await this.queue.addAll(rows);
    for (const { taskId } of rows) {
      this.events.publishChanged(taskId);
      this.logger.warn('task.abandoned', { taskId });
    }
    return rows.length;
  }

  /**
   * Enqueues tasks that wait for a worker but have no job: the submitting process died after its commit, or Redis lost
   * them. Asks Redis which these are, so that no "was enqueued" flag can be wrong. Every process checks the oldest;
   * only one per `aloneMs` checks more: many processes that ask about a long backlog are Redis's heaviest load.
   */
  async enqueueForgotten(aloneMs?: number): Promise<number> {
    const now = (await this.prisma.now()).getTime();
    const found = await this.prisma.task.findMany({
      where: {
        finishedAt: null,
        leaseUntil: null,
        id: { gt: this.cursor },
        OR: [
          { nextTryAt: { lt: new Date(now - GRACE_MS) } },
          { nextTryAt: null, createdAt: { lt: new Date(now - this.prisma.answerMs - RETRACT_MS) } },
        ],
      },
      ...PAGE,
    });
    const rows = found.map(toEntry);
    const goesOn = rows.length === SWEEP_TASKS && (this.midway || (await this.mayGoOn(aloneMs)));
    this.cursor = goesOn ? (rows.at(-1)?.taskId ?? '') : '';
    if (rows.length === 0) return 0;
    const entries = await this.nextEpoch(await this.wanted(await this.queue.missing(rows)), false);
    await this.queue.addAll(entries);
    for (const { taskId } of entries) this.logger.warn('task.was_not_queued', { taskId });
    return entries.length;
  }

  /** Whether a walk through the waiting tasks is in progress. */
  get midway(): boolean {
    return this.cursor !== '';
  }

  /** Without tasks whose caller was refused, unless they were requested again: their row may have appeared only now. */
  private async wanted(entries: readonly SeenTask[]): Promise<SeenTask[]> {
    const refused = await this.queue.refused(entries.flatMap(({ taskId, isWanted }) => (isWanted ? [] : taskId)));
    return entries.filter(({ taskId }) => !refused.has(taskId));
  }

  private async mayGoOn(aloneMs?: number): Promise<boolean> {
    return aloneMs === undefined || (await this.queue.mayScan(aloneMs));
  }

  /**
   * Of two sweepers that saw the same row, only one gets the next epoch; the others leave it alone for the grace time.
   * A parked task has had its turn, so it goes first.
   */
  private async nextEpoch(entries: readonly QueueEntry[], lost: boolean): Promise<QueueEntry[]> {
    const next: QueueEntry[] = [];
    for (let at = 0; at < entries.length; at += SWEEP_BATCH) {
      next.push(...(await requeue(this.prisma.pool, entries.slice(at, at + SWEEP_BATCH), lost)));
    }
    return next;
  }
}

function toEntry({ id, epoch, nextTryAt }: Pick<Task, 'id'> & { epoch: number; nextTryAt: Date | null }): SeenTask {
  return { taskId: id, epoch, isWanted: nextTryAt !== null };
}
