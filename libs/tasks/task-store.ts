import { Injectable } from '@nestjs/common';
import DataLoader from 'dataloader';
import type { Prisma } from '#database/generated/client.js';
import { AppError } from '#contract/app-error.js';
import { given, inList } from '#database/prisma-values.js';
import { batched } from '#database/batched.js';
import { PrismaService } from '#database/prisma.service.js';
import { RANKED_COLUMNS, toHistory, toRanked, toSummary, toTask, type OwnedRow } from './task-columns.js';
import { isRanking, ranked, RANKINGS, type RankedTask, type Ranking } from './ranked-tasks.js';
import { endTasks, findTasks, insertTasks, readTasks, type FoundBy, type NewTask } from './task.sql.js';
import { endedTasksOf, tasksOf } from './task-scope.js';
import type { PersonTasks, Task, TaskCommand, TaskHistory, TaskScope, TaskSummary } from './task.js';
import type { TaskStatus } from './task-status.js';

/** In which order tasks are listed: by time, by how long they took, by what they cost. */
export const TASK_ORDERS = ['newest', 'oldest', ...RANKINGS] as const;
export type TaskOrdering = (typeof TASK_ORDERS)[number];

/** Which of an account's tasks are listed; what is absent matches all. */
export interface TaskListQuery {
  /** 1..100 */
  readonly limit: number;
  /** Id of the last task of the page before. */
  readonly after?: string | undefined;
  readonly status?: TaskStatus | undefined;
  /** Only tasks created at this time or later. */
  readonly since?: Date | undefined;
  /** Only tasks created before this time. */
  readonly until?: Date | undefined;
  /** `newest` first unless it is said. By duration or cost, only of so many tasks as `count` calls rankable. */
  readonly order?: TaskOrdering | undefined;
  readonly model?: string | undefined;
  readonly apiKeyId?: string | undefined;
  /** Only favorites. */
  readonly favorites?: boolean | undefined;
  /** Only the tasks of one person. */
  readonly own?: PersonTasks | undefined;
  /** Part of the prompt; for favorites, which are few. */
  readonly prompt?: string | undefined;
}

/** How many tasks match, as far as they are counted. */
export interface TaskCount {
  readonly count: number;
  /** There may be more, which are not counted. */
  readonly hasMore: boolean;
  /** They are few enough for an order by duration or cost. */
  readonly isRankable: boolean;
}

/** What tasks are narrowed to. */
type TaskFilters = Omit<TaskListQuery, 'limit'>;

/** A task that was just cancelled, and where its job and its place among its key's tasks are. */
interface CancelledTask {
  readonly task: TaskSummary;
  readonly epoch: number;
  readonly originalKeyId: string;
}

/** Of an account: their images are stored without end. */
const MOST_FAVORITES = 1_000;
/** More would make one caller wait for many others. */
const FINDS_AT_ONCE = 50;
const INSERTS_AT_ONCE = 64;
/** Tasks that are counted where an index knows all that is asked for, and those that are looked at where none does. */
const MOST_COUNTED = 10_000;
const MOST_LOOKED_AT = 1_000;
/** Tasks that are read to be put in an order that no index knows. */
const MOST_RANKED = 1_000;

/** As indexes say it: that of unfinished tasks, and those of ended ones by key and by model. */
const [UNFINISHED, DONE] = [{ finishedAt: null }, { phase: 'done' }];

const NEWEST_FIRST: Prisma.TaskOrderByWithRelationInput[] = [{ createdAt: 'desc' }, { id: 'desc' }];

/** The parts of a list that have an index each; tasks are pending first. */
function partsOf({ status, model, apiKeyId, favorites, own }: TaskFilters): Prisma.TaskWhereInput[] {
  if (favorites === true) return [{ favoritedAt: { not: null }, ...tasksOf(own) }];
  const unfinished = { ...UNFINISHED, ...tasksOf(own) };
  if (status === 'pending') return [unfinished];
  if (own === undefined && model === undefined && apiKeyId === undefined) return [{}];
  const ended = own === undefined ? [DONE] : endedTasksOf(own, apiKeyId);
  return status === undefined ? [unfinished, ...ended] : ended;
}

/** What a query asks for, and more conditions. */
function matching(
  accountId: string,
  { status, since, until, model, apiKeyId, prompt }: TaskFilters,
  more: readonly Prisma.TaskWhereInput[] = [],
): Prisma.TaskWhereInput {
  return {
    ...given({ accountId, status, model, apiKeyId }),
    ...(prompt !== undefined && { prompt: { contains: prompt, mode: 'insensitive' } }),
    AND: [{ createdAt: given({ gte: since, lt: until }) }, ...more],
  };
}

/**
 * What callers read and write of the tasks table; the worker's transitions are in task-transitions.ts. Every query on behalf of a
 * caller names the account.
 */
@Injectable()
export class TaskStore {
  /** Polls that arrive at one moment share a query: its way through the driver costs more than the rows. */
  private readonly finds: DataLoader<{ accountId: string; id: string }, TaskSummary | undefined>;
  /** Tasks of one moment are one statement, and one wait for the disk. */
  private readonly inserts = batched(
    async (tasks: readonly NewTask[]) => insertTasks(this.prisma.pool, tasks),
    INSERTS_AT_ONCE,
  );

  constructor(private readonly prisma: PrismaService) {
    this.finds = new DataLoader((wanted) => this.findTogether(wanted), {
      cache: false,
      maxBatchSize: FINDS_AT_ONCE,
      // By then all that has come in over other connections meanwhile is asked for, too.
      batchScheduleFn: setImmediate,
    });
  }

  /** Accepts the task: once this returns, it will end. The fingerprint lets a repetition of its request find it (TaskIntake). */
  async insert(command: TaskCommand, deadlineMs: number, fingerprint?: Buffer, waiter?: string): Promise<Task> {
    const task = await this.insertUnlessFound(command, deadlineMs, { fingerprint, waiter });
    if (task === undefined) throw new Error('no key was asked for, and yet none was free');
    return task;
  }

  /** Like `insert`; undefined when `foundBy` says that there is another task to be had instead. */
  async insertUnlessFound(command: TaskCommand, deadlineMs: number, foundBy: FoundBy): Promise<Task | undefined> {
    const task = { command, deadlineMs, ...foundBy };
    // A budget is locked until its statement ends, and refuses all of that: nobody else is to wait or fail for it.
    const isAlone = command.cost !== null && command.budgeted !== false;
    const row = isAlone ? (await insertTasks(this.prisma.pool, [task]))[0] : await this.inserts(task);
    return row && toTask(row);
  }

  async find(accountId: string, id: string): Promise<TaskSummary | undefined> {
    return this.finds.load({ accountId, id });
  }

  /** What has happened to the account's task so far; undefined when it has none of that id. */
  async history(accountId: string, id: string): Promise<TaskHistory | undefined> {
    const row = await this.prisma.task.findUnique({
      where: { id, accountId },
      select: {
        ...{ status: true, createdAt: true, startedAt: true, finishedAt: true, calls: true },
        ...{ phase: true, providerCallOpen: true },
      },
    });
    return row === null ? undefined : toHistory(row);
  }

  /** Those of the ids that may be of tasks in the scope: for a whole account all of them, as its readers name it. */
  async within({ accountId, own }: TaskScope, ids: readonly string[]): Promise<ReadonlySet<string>> {
    if (own === undefined) return new Set(ids);
    const where = { id: { in: inList(ids) }, accountId, ...tasksOf(own) };
    return new Set((await this.prisma.task.findMany({ where, select: { id: true } })).map(({ id }) => id));
  }

  /** Those of the tasks that are the account's, in no order. */
  async findAll(accountId: string, ids: readonly string[]): Promise<TaskSummary[]> {
    return (await findTasks(this.prisma.pool, ids, [accountId])).map(toSummary);
  }

  /** The tasks as they are now; for watchers, which know only ids of their own callers. */
  async look(ids: readonly string[]): Promise<TaskSummary[]> {
    return (await findTasks(this.prisma.pool, ids)).map(toSummary);
  }

  private async findTogether(
    wanted: readonly { accountId: string; id: string }[],
  ): Promise<(TaskSummary | undefined)[]> {
    const accounts = [...new Set(wanted.map(({ accountId }) => accountId))];
    const rows = await findTasks(
      this.prisma.pool,
      wanted.map(({ id }) => id),
      accounts,
    );
    const found = new Map<string, OwnedRow>(rows.map((row) => [row.id, row]));
    return wanted.map(({ accountId, id }) => {
      const row = found.get(id);
      return row?.account_id === accountId ? toSummary(row) : undefined;
    });
  }

  /**
   * Marks a completed task whose images are still there as a favorite, which retention leaves alone, or no longer as one. Throws
   * AppError `invalid_value` when it can't be one, or the account has too many. An unknown task is left to its reader.
   */
  async setFavorite(accountId: string, id: string, isFavorite: boolean): Promise<void> {
    const { task } = this.prisma;
    if (!isFavorite) {
      await task.updateMany({ where: { id, accountId }, data: { favoritedAt: null } });
      return;
    }
    if ((await task.count({ where: { accountId, favoritedAt: { not: null } } })) >= MOST_FAVORITES) {
      throw new AppError('invalid_value', `An account can have ${MOST_FAVORITES} favorites. Remove some first.`);
    }
    const kept = { id, accountId, status: 'completed', objectsDeletedAt: null };
    const { count } = await task.updateMany({ where: kept, data: { favoritedAt: new Date() } });
    if (count === 0) throw new AppError('invalid_value', 'Only images that are still kept can become favorites.');
  }

  /** Takes the stars of all of an account's favorites, so that retention removes their images. */
  async forgetFavorites(accountId: string): Promise<void> {
    await this.prisma.task.updateMany({
      where: { accountId, favoritedAt: { not: null } },
      data: { favoritedAt: null },
    });
  }

  /** Ends a pending task; undefined when it has ended already or is not the account's. `epoch` names its job. */
  async cancel(accountId: string, id: string): Promise<CancelledTask | undefined> {
    const [row] = await endTasks(this.prisma.pool, [{ by: { id, accountId }, status: 'cancelled' }]);
    return row && { task: toSummary(row), epoch: row.epoch, originalKeyId: row.original_key_id };
  }

  /** Those of the tasks that have ended; for waiters, which know only ids of their own callers. */
  async finished(ids: readonly string[]): Promise<Task[]> {
    return (await readTasks(this.prisma.pool, ids, true)).map(toTask);
  }

  /**
   * One page of the account's tasks. An unknown `after` gives an empty page. Throws AppError `invalid_value` when they are too many for
   * an order by duration or cost.
   */
  async list(accountId: string, query: TaskListQuery): Promise<{ tasks: TaskSummary[]; hasMore: boolean }> {
    const { task } = this.prisma;
    const { limit, after: afterId, order = 'newest' } = query;
    if (isRanking(order)) return await this.rank(accountId, query, order);
    const after =
      afterId === undefined
        ? undefined
        : await task.findUnique({
            where: { id: afterId, accountId, ...tasksOf(query.own) },
            select: { id: true, createdAt: true },
          });
    if (after === null) return { tasks: [], hasMore: false };
    // Said twice, because an index can begin at the first form only.
    const place = after && [
      { createdAt: order === 'newest' ? { lte: after.createdAt } : { gte: after.createdAt } },
      { NOT: { createdAt: after.createdAt, id: order === 'newest' ? { gte: after.id } : { lte: after.id } } },
    ];
    const found = await this.first(matching(accountId, query, place), partsOf(query), limit + 1, order);
    return await this.page(accountId, found, limit);
  }

  /** How many tasks match. Where no index knows all that is asked for, those among the newest tasks are counted. */
  async count(accountId: string, query: TaskFilters): Promise<TaskCount> {
    const { status, model, apiKeyId, own } = query;
    const isIndexed =
      own === undefined &&
      apiKeyId === undefined &&
      status !== 'completed' &&
      (status === undefined || model === undefined);
    let [count, hasMore] = [0, false];
    for (const part of partsOf(query)) {
      const counted = await (isIndexed
        ? this.countPart(accountId, query, part)
        : this.countNewest(accountId, query, part));
      count += counted.count;
      hasMore ||= counted.hasMore;
    }
    return { count, hasMore, isRankable: !hasMore && count <= MOST_RANKED };
  }

  private async countPart(accountId: string, query: TaskFilters, part: Prisma.TaskWhereInput) {
    const where = { ...matching(accountId, query), ...part };
    const count = await this.prisma.task.count({ where, orderBy: NEWEST_FIRST, take: MOST_COUNTED + 1 });
    return { count: Math.min(count, MOST_COUNTED), hasMore: count > MOST_COUNTED };
  }

  private async countNewest(accountId: string, query: TaskFilters, part: Prisma.TaskWhereInput) {
    const { task } = this.prisma;
    const { since, until, apiKeyId, model, own } = query;
    // What an index begins at: a key's tasks, or a person's, or a model's, or all.
    const known =
      apiKeyId === undefined && own === undefined ? { since, until, model } : given({ since, until, apiKeyId });
    const looked = { ...matching(accountId, known), ...part };
    const last = await task.findFirst({
      where: looked,
      orderBy: NEWEST_FIRST,
      skip: MOST_LOOKED_AT,
      select: { createdAt: true },
    });
    const within = last === null ? [] : [{ createdAt: { gt: last.createdAt } }];
    const count = await task.count({ where: { ...matching(accountId, query, within), ...part } });
    return { count, hasMore: last !== null };
  }

  /** No index knows these orders, so the tasks are read to be put in order. */
  private async rank(accountId: string, query: TaskListQuery, ranking: Ranking) {
    const { task } = this.prisma;
    const { isRankable } = await this.count(accountId, query);
    if (!isRankable) {
      const message = `Only up to ${MOST_RANKED} tasks can be sorted by duration or cost. Choose a shorter time or more filters.`;
      throw new AppError('invalid_value', message, { param: 'order' });
    }
    const rows = new Map<string, RankedTask>();
    for (const part of partsOf(query)) {
      const where = { ...matching(accountId, query), ...part };
      const found = await task.findMany({ where, orderBy: NEWEST_FIRST, take: MOST_RANKED, select: RANKED_COLUMNS });
      for (const row of found) rows.set(row.id, toRanked(row));
    }
    const all = ranked([...rows.values()], ranking);
    const begin = query.after === undefined ? 0 : all.findIndex(({ id }) => id === query.after) + 1;
    const rest = begin === 0 && query.after !== undefined ? [] : all.slice(begin);
    return await this.page(accountId, rest, query.limit);
  }

  private async page(accountId: string, found: readonly { readonly id: string }[], limit: number) {
    const ids = found.slice(0, limit).map(({ id }) => id);
    const tasks = new Map((await this.findAll(accountId, ids)).map((one) => [one.id, one]));
    return { tasks: ids.flatMap((id) => tasks.get(id) ?? []), hasMore: found.length > limit };
  }

  /** So many tasks at most. Parts are read one after the other, so that one that ends meanwhile is not missed. */
  private async first(
    where: Prisma.TaskWhereInput,
    parts: readonly Prisma.TaskWhereInput[],
    take: number,
    order: 'newest' | 'oldest',
  ) {
    const direction = order === 'newest' ? 'desc' : 'asc';
    const found = new Map<string, { id: string; createdAt: Date }>();
    for (const part of parts) {
      const rows = await this.prisma.task.findMany({
        where: { ...where, ...part },
        orderBy: [{ createdAt: direction }, { id: direction }],
        take,
        select: { id: true, createdAt: true },
      });
      for (const row of rows) found.set(row.id, row);
    }
    const rows = [...found.values()];
    if (parts.length > 1) {
      const sign = order === 'newest' ? 1 : -1;
      rows.sort((a, b) => sign * (b.createdAt.getTime() - a.createdAt.getTime() || (a.id < b.id ? 1 : -1)));
    }
    return rows.slice(0, take);
  }

  /** Notes that the outcomes of the tasks were written to their callers, so that a like request is a new one. */
  async markDelivered(ids: readonly string[]): Promise<void> {
    await this.prisma.task.updateMany({
      where: { id: { in: inList(ids) }, deliveredAt: null },
      data: { deliveredAt: new Date() },
    });
  }

  /**
   * Notes that the request `requestId` left the task without its outcome, so that an equal request may have it
   * (TaskIntake). Changes nothing when another request has attached to the task since, or has got the outcome.
   */
  async markAbandoned(id: string, requestId: string): Promise<void> {
    await this.prisma.task.updateMany({
      where: { id, deliveredAt: null, OR: [{ attachedBy: requestId }, { attachedBy: null, requestId }] },
      data: { abandonedAt: new Date() },
    });
  }
}
