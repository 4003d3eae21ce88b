import { Injectable } from '@nestjs/common';
import DataLoader from 'dataloader';
import { AppError } from '#contract/app-error.js';
import { inList } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import { toHistory, toSummary, toTask, type OwnedRow } from '../row/task-columns.js';
import { endTasks } from '../row/end-task.sql.js';
import { findTasks, readTasks } from '../row/read-task.sql.js';
import { isWithin, tasksOf } from '../row/task-scope.js';
import type { TaskPhase } from '../row/task-status.js';
import type { Task, TaskHistory, TaskScope, TaskSummary } from '../row/task.js';

/** A task that a reader asks for. */
interface Wanted {
  readonly scope: TaskScope;
  readonly id: string;
}

/** A task that was just cancelled, with what identifies its job (`epoch`) and its slot (`originalKeyId`). */
interface CancelledTask {
  readonly task: TaskSummary;
  readonly epoch: number;
  readonly originalKeyId: string;
}

/** Per account, because their images are stored forever. */
const MAX_FAVORITES = 1_000;
/** More would make one caller wait for many others. */
const FINDS_AT_ONCE = 50;

/**
 * Finds tasks by their ids, and changes what people decide about them: favorites and cancellations. The worker's
 * transitions are in task-transitions.ts. Every query on behalf of a caller filters by account.
 */
@Injectable()
export class TaskStore {
  /** Polls that arrive together share a query, because its way through the driver costs more than the rows. */
  private readonly finds: DataLoader<Wanted, TaskSummary | undefined>;
  constructor(private readonly prisma: PrismaService) {
    this.finds = new DataLoader((wanted) => this.findTogether(wanted), {
      cache: false,
      maxBatchSize: FINDS_AT_ONCE,
      // By then, polls that arrived over other connections are in the batch, too.
      batchScheduleFn: setImmediate,
    });
  }

  /** A task of the scope; undefined for any other. */
  async find(scope: TaskScope, id: string): Promise<TaskSummary | undefined> {
    return this.finds.load({ scope, id });
  }

  /** The history of a task so far; undefined when the scope has no such task. */
  async history({ accountId, own }: TaskScope, id: string): Promise<TaskHistory | undefined> {
    const row = await this.prisma.task.findUnique({
      where: { id, accountId, ...tasksOf(own) },
      select: {
        status: true,
        createdAt: true,
        startedAt: true,
        finishedAt: true,
        calls: true,
        phase: true,
        providerCallOpen: true,
        approval: true,
      },
    });
    return row === null ? undefined : toHistory(row);
  }

  /** The ids that may be of tasks in the scope: for a whole account all of them, since the reads filter by account. */
  async within({ accountId, own }: TaskScope, ids: readonly string[]): Promise<ReadonlySet<string>> {
    if (own === undefined) return new Set(ids);
    const where = { id: { in: inList(ids) }, accountId, ...tasksOf(own) };
    return new Set((await this.prisma.task.findMany({ where, select: { id: true } })).map(({ id }) => id));
  }

  /** The task that an idempotency key of the account stands for; undefined when there is none. */
  async ofKey(accountId: string, key: string): Promise<string | undefined> {
    const held = await this.prisma.idempotencyKey.findUnique({ where: { accountId_key: { accountId, key } } });
    return held?.taskId;
  }

  /** Those of these ids that the account has. */
  async existing(accountId: string, ids: readonly string[]): Promise<string[]> {
    return [...(await this.phases(accountId, ids)).keys()];
  }

  /** How far the tasks with these ids are, by id; those that the account does not have are left out. */
  async phases(accountId: string, ids: readonly string[]): Promise<ReadonlyMap<string, TaskPhase>> {
    const where = { id: { in: inList(ids) }, accountId };
    const rows = await this.prisma.task.findMany({ where, select: { id: true, phase: true } });
    return new Map(rows.map(({ id, phase }) => [id, phase as TaskPhase]));
  }

  /** The callback_urls of the tasks that the account still has, by id; null: the task has none. */
  async callbackUrls(accountId: string, ids: readonly string[]): Promise<ReadonlyMap<string, string | null>> {
    if (ids.length === 0) return new Map();
    const where = { id: { in: inList(ids) }, accountId };
    const rows = await this.prisma.task.findMany({ where, select: { id: true, callbackUrl: true } });
    return new Map(rows.map(({ id, callbackUrl }) => [id, callbackUrl]));
  }

  /** The tasks that are in the scope, in no particular order. */
  async findAll(scope: TaskScope, ids: readonly string[]): Promise<TaskSummary[]> {
    const rows = await findTasks(this.prisma.pool, ids, [scope.accountId]);
    return rows.filter((row) => isWithin(scope, row)).map(toSummary);
  }

  /** The tasks as they are now, of any account: for watchers, which know only ids of their own callers. */
  async look(ids: readonly string[]): Promise<TaskSummary[]> {
    return (await findTasks(this.prisma.pool, ids)).map(toSummary);
  }

  /** The ended ones among these tasks, of any account: for waiters, which know only ids of their own callers. */
  async finished(ids: readonly string[]): Promise<Task[]> {
    return (await readTasks(this.prisma.pool, ids, true)).map(toTask);
  }

  private async findTogether(wanted: readonly Wanted[]): Promise<(TaskSummary | undefined)[]> {
    const accounts = [...new Set(wanted.map(({ scope }) => scope.accountId))];
    const rows = await findTasks(
      this.prisma.pool,
      wanted.map(({ id }) => id),
      accounts,
    );
    const found = new Map<string, OwnedRow>(rows.map((row) => [row.id, row]));
    return wanted.map(({ scope, id }) => {
      const row = found.get(id);
      return row !== undefined && isWithin(scope, row) ? toSummary(row) : undefined;
    });
  }

  /**
   * Makes a completed task without a lifetime whose images still exist a favorite, which retention keeps, or no longer one. Throws
   * AppError `invalid_value` when it can't be a favorite (or does not exist), or the account has too many.
   */
  async setFavorite({ accountId, own }: TaskScope, id: string, isFavorite: boolean): Promise<void> {
    const { task } = this.prisma;
    const seen = { id, accountId, ...tasksOf(own) };
    if (!isFavorite) {
      await task.updateMany({ where: seen, data: { favoritedAt: null } });
      return;
    }
    if ((await task.count({ where: { accountId, favoritedAt: { not: null } } })) >= MAX_FAVORITES) {
      throw new AppError('invalid_value', `An account can have ${MAX_FAVORITES} favorites. Remove some first.`);
    }
    const kept = { ...seen, status: 'completed', objectsDeletedAt: null, expiresAt: null };
    const { count } = await task.updateMany({ where: kept, data: { favoritedAt: new Date() } });
    if (count === 0)
      throw new AppError(
        'invalid_value',
        'Only images that are still kept, and have no lifetime, can become favorites.',
      );
  }

  /** Makes all of an account's favorites ordinary tasks, so that retention removes their images. */
  async forgetFavorites(accountId: string): Promise<void> {
    await this.prisma.task.updateMany({
      where: { accountId, favoritedAt: { not: null } },
      data: { favoritedAt: null },
    });
  }

  /** Cancels a pending task; undefined when it has ended already or is not in the scope. */
  async cancel(scope: TaskScope, id: string): Promise<CancelledTask | undefined> {
    const { accountId } = scope;
    // Whose a task is never changes, so it may be decided before the statement.
    if (!(await this.within(scope, [id])).has(id)) return undefined;
    const [row] = await endTasks(this.prisma.pool, [{ by: { id, accountId }, status: 'cancelled' }]);
    return row && { task: toSummary(row), epoch: row.epoch, originalKeyId: row.original_key_id };
  }
}
