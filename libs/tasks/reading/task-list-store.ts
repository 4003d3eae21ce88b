import { Injectable } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import type { Prisma } from '#database/generated/client.js';
import { definedFields, inList } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import { RANKED_COLUMNS, toRanked } from '../row/task-columns.js';
import { isRanking, ranked, RANKINGS, type RankedTask, type Ranking } from '../row/ranked-tasks.js';
import { facetCounts, type FacetCount } from '../row/task-facets.sql.js';
import { labeledTasks, labelOf, type TaskLabel } from '../row/task-labels.sql.js';
import { endedTasksOf, tasksOf } from '../row/task-scope.js';
import type { OwnTasks, TaskScope, TaskSummary } from '../row/task.js';
import { phasesOf, type PendingState, type TaskStatus } from '../row/task-status.js';
import { TaskStore } from './task-store.js';

/** The orders in which tasks can be listed: by time, duration or cost. */
export const TASK_ORDERS = ['newest', 'oldest', ...RANKINGS] as const;
export type TaskOrdering = (typeof TASK_ORDERS)[number];

/** Which of a scope's tasks to list; absent fields match all. */
export interface TaskListQuery {
  /** 1..100 */
  readonly limit: number;
  /** Id of the last task of the page before. */
  readonly after?: string | undefined;
  readonly status?: TaskStatus | undefined;
  /** Of pending tasks, only those that wait or that run. */
  readonly pending?: PendingState | undefined;
  /** Only tasks created at this time or later. */
  readonly since?: Date | undefined;
  /** Only tasks created before this time. */
  readonly until?: Date | undefined;
  /** Default: `newest`. By duration or cost only when `count` says that the tasks are rankable. */
  readonly order?: TaskOrdering | undefined;
  readonly model?: string | undefined;
  readonly apiKeyId?: string | undefined;
  /** Only what this person ordered in the console. */
  readonly orderedBy?: string | undefined;
  /** Only tasks with stored images: those created since then, and favorites. Older ones are past their retention. */
  readonly imagesSince?: Date | undefined;
  /** Only favorites. */
  readonly favorites?: boolean | undefined;
  /** Only tasks that were not deleted. */
  readonly kept?: boolean | undefined;
  /** Part of the prompt; only for favorites, because those are few. */
  readonly prompt?: string | undefined;
  /** The last provider called; only for favorites, too. */
  readonly provider?: string | undefined;
  /** Only tasks of this end user, by its identifier. */
  readonly endUser?: string | undefined;
  /** Only tasks with this tag. */
  readonly tag?: string | undefined;
}

/** How many tasks match, up to a limit. */
export interface TaskCount {
  readonly count: number;
  /** There may be more, which are not counted. */
  readonly hasMore: boolean;
  /** They are few enough to be sorted by duration or cost. */
  readonly isRankable: boolean;
}

/** Numbers of tasks by the provider called last, and by the code of their error; most first. */
export interface OutcomeCounts {
  readonly providers: readonly NamedCount[];
  readonly errors: readonly NamedCount[];
  /** There may be more, which are not counted. */
  readonly hasMoreOfProviders: boolean;
  readonly hasMoreOfErrors: boolean;
}

interface NamedCount {
  readonly name: string;
  readonly count: number;
}

/** The filters of a list. */
type TaskFilters = Omit<TaskListQuery, 'limit'> & { readonly own: OwnTasks | undefined };

/** Most tasks to count where an index covers the whole query, and most to examine where none does. */
const MAX_COUNTED = 10_000;
const MAX_SCANNED = 1_000;
/** Most tasks to read and sort for an order that no index supports. */
const MAX_RANKED = 1_000;
/** Most tasks of an end user or tag to examine for a page with further filters, and how many at a time. */
const MAX_EXAMINED = 10_000;
const EXAMINED_AT_ONCE = 1_000;

/** Match the conditions of indexes: that of unfinished tasks, and those of ended ones by key and by model. */
const UNFINISHED = { finishedAt: null };
const DONE = { phase: 'done' };
const WITH_IMAGES = { status: 'completed', objectsDeletedAt: null };

const NEWEST_FIRST: Prisma.TaskOrderByWithRelationInput[] = [{ createdAt: 'desc' }, { id: 'desc' }];

/** Lists a scope's tasks page by page, and counts them. What no index covers is for SearchTasks. */
@Injectable()
export class TaskListStore {
  constructor(
    private readonly prisma: PrismaService,
    private readonly store: TaskStore,
  ) {}

  /**
   * One page of the scope's tasks. An unknown `after` gives an empty page. Throws AppError `invalid_value` when there
   * are too many to sort by duration or cost, or too many of an end user or tag that other filters exclude.
   */
  async list(scope: TaskScope, filters: TaskListQuery): Promise<{ tasks: TaskSummary[]; hasMore: boolean }> {
    const { task } = this.prisma;
    const { accountId, own } = scope;
    const query = { ...filters, own };
    const { limit, after: afterId, order = 'newest' } = query;
    if (isRanking(order)) return await this.rank(scope, query, order);
    const after =
      afterId === undefined
        ? undefined
        : await task.findUnique({
            where: { id: afterId, accountId, ...tasksOf(own) },
            select: { id: true, createdAt: true },
          });
    if (after === null) return { tasks: [], hasMore: false };
    const label = labelOf(query);
    if (label !== undefined) {
      const labeled = await this.firstLabeled(accountId, { ...query, order }, label, after, limit + 1);
      return await this.page(scope, labeled, limit);
    }
    // The same bound in two forms, because an index can start only from the first.
    const place = after && [
      { createdAt: order === 'newest' ? { lte: after.createdAt } : { gte: after.createdAt } },
      { NOT: { createdAt: after.createdAt, id: order === 'newest' ? { gte: after.id } : { lte: after.id } } },
    ];
    const found = await this.first(matching(accountId, query, place), partsOf(query), limit + 1, order);
    return await this.page(scope, found, limit);
  }

  /** At most `take` tasks with a label, which their own index finds in order; further filters are checked row by row. */
  private async firstLabeled(
    accountId: string,
    query: TaskFilters & { readonly order: 'newest' | 'oldest' },
    label: TaskLabel,
    after: { readonly id: string; readonly createdAt: Date } | undefined,
    take: number,
  ) {
    const { since, until, order } = query;
    const isWhole = isLabelAlone(query);
    const atOnce = isWhole ? take : EXAMINED_AT_ONCE;
    const found: { id: string }[] = [];
    let place = after;
    for (let examined = 0; examined < MAX_EXAMINED; examined += atOnce) {
      const wanted = { ...label, accountId, since, until, after: place, order };
      const rows = await labeledTasks(this.prisma.pool, wanted, atOnce);
      if (isWhole) return rows;
      const where = matching(accountId, query, [labeledAs(rows, query)]);
      const matched = await this.prisma.task.findMany({ where, select: { id: true } });
      const ids = new Set(matched.map(({ id }) => id));
      found.push(...rows.filter(({ id }) => ids.has(id)));
      if (found.length >= take || rows.length < atOnce) return found.slice(0, take);
      place = rows.at(-1);
    }
    const many = MAX_EXAMINED.toLocaleString('en');
    const message = `More than ${many} tasks would have to be examined. Choose a shorter time or fewer filters.`;
    throw new AppError('invalid_value', message, { param: label.kind });
  }

  /** At most `take` tasks. Reads the parts one after the other, so that a task that ends meanwhile is not missed. */
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

  /** Reads the tasks and sorts them here, because no index supports these orders. */
  private async rank(scope: TaskScope, query: TaskListQuery & TaskFilters, ranking: Ranking) {
    const { task } = this.prisma;
    const { accountId } = scope;
    const { isRankable } = await this.count(scope, query);
    if (!isRankable) {
      const message = `Only up to ${MAX_RANKED} tasks can be sorted by duration or cost. Choose a shorter time or more filters.`;
      throw new AppError('invalid_value', message, { param: 'order' });
    }
    const rows = new Map<string, RankedTask>();
    for (const part of (await this.labeledPart(accountId, query))?.parts ?? partsOf(query)) {
      const where = { ...matching(accountId, query), ...part };
      const found = await task.findMany({ where, orderBy: NEWEST_FIRST, take: MAX_RANKED, select: RANKED_COLUMNS });
      for (const row of found) rows.set(row.id, toRanked(row));
    }
    const all = ranked([...rows.values()], ranking);
    const begin = query.after === undefined ? 0 : all.findIndex(({ id }) => id === query.after) + 1;
    const rest = begin === 0 && query.after !== undefined ? [] : all.slice(begin);
    return await this.page(scope, rest, query.limit);
  }

  private async page(scope: TaskScope, found: readonly { readonly id: string }[], limit: number) {
    const ids = found.slice(0, limit).map(({ id }) => id);
    const tasks = new Map((await this.store.findAll(scope, ids)).map((one) => [one.id, one]));
    return { tasks: ids.flatMap((id) => tasks.get(id) ?? []), hasMore: found.length > limit };
  }

  /** How many tasks match. Where no index covers the whole query, counts only those among the newest tasks. */
  async count({ accountId, own }: TaskScope, filters: Omit<TaskListQuery, 'limit'>): Promise<TaskCount> {
    const query = { ...filters, own };
    const labeled = await this.labeledPart(accountId, query);
    if (labeled !== undefined) {
      const { parts, hasMore } = labeled;
      const found = await Promise.all(parts.map((part) => this.countPart(accountId, query, part)));
      const count = found.reduce((sum, one) => sum + one.count, 0);
      return { count, hasMore, isRankable: !hasMore };
    }
    const { status, model, apiKeyId, orderedBy } = query;
    const isIndexed =
      own === undefined &&
      apiKeyId === undefined &&
      orderedBy === undefined &&
      status !== 'completed' &&
      (status === undefined || model === undefined);
    let count = 0;
    let hasMore = false;
    for (const part of partsOf(query)) {
      const counted = await (isIndexed
        ? this.countPart(accountId, query, part)
        : this.countNewest(accountId, query, part));
      count += counted.count;
      hasMore ||= counted.hasMore;
    }
    return { count, hasMore, isRankable: !hasMore && count <= MAX_RANKED };
  }

  /** Counts the newest tasks of the scope that match by provider and by error. Members' unfinished tasks are left out. */
  async countByOutcome(
    { accountId, own }: TaskScope,
    { status, model, apiKeyId, since, until, endUser, tag }: Omit<TaskListQuery, 'limit'>,
  ): Promise<OutcomeCounts> {
    const filter = {
      accountId,
      status: status ?? null,
      model: model ?? null,
      apiKeyId: apiKeyId ?? null,
      since: since ?? null,
      until: until ?? null,
      endUser: endUser ?? null,
      tag: tag ?? null,
    };
    const all = await facetCounts(this.prisma.pool, filter, own);
    // In a long history, the newest tasks hold few failures or none.
    const isLabeled = labelOf({ endUser, tag }) !== undefined;
    const isWhole = !all.hasMore || own !== undefined || status !== undefined || isLabeled;
    const failed = isWhole ? all : await facetCounts(this.prisma.pool, { ...filter, status: 'failed' }, own);
    return {
      providers: summed(all.counts, ({ provider }) => provider),
      errors: summed(failed.counts, ({ error }) => error),
      hasMoreOfProviders: all.hasMore,
      hasMoreOfErrors: failed.hasMore,
    };
  }

  /** The newest tasks with the label of a query, as the one part to look in; undefined for a query without a label. */
  private async labeledPart(accountId: string, query: TaskFilters) {
    const label = labelOf(query);
    if (label === undefined) return undefined;
    const { since, until } = query;
    const wanted = { ...label, accountId, since, until, after: undefined, order: 'newest' } as const;
    const rows = await labeledTasks(this.prisma.pool, wanted, MAX_SCANNED + 1);
    return { parts: [labeledAs(rows.slice(0, MAX_SCANNED), query)], hasMore: rows.length > MAX_SCANNED };
  }

  private async countPart(accountId: string, query: TaskFilters, part: Prisma.TaskWhereInput) {
    const where = { ...matching(accountId, query), ...part };
    const count = await this.prisma.task.count({ where, orderBy: NEWEST_FIRST, take: MAX_COUNTED + 1 });
    return { count: Math.min(count, MAX_COUNTED), hasMore: count > MAX_COUNTED };
  }

  private async countNewest(accountId: string, query: TaskFilters, part: Prisma.TaskWhereInput) {
    const { task } = this.prisma;
    const { since, until, apiKeyId, model, own } = query;
    // The conditions that an index can start from: a key's tasks, or a person's, or a model's, or all.
    const known =
      apiKeyId === undefined && own === undefined ? { since, until, model } : definedFields({ since, until, apiKeyId });
    const looked = { ...matching(accountId, known), ...part };
    const last = await task.findFirst({
      where: looked,
      orderBy: NEWEST_FIRST,
      skip: MAX_SCANNED,
      select: { createdAt: true },
    });
    const within = last === null ? [] : [{ createdAt: { gt: last.createdAt } }];
    const count = await task.count({ where: { ...matching(accountId, query, within), ...part } });
    return { count, hasMore: last !== null };
  }
}

/** The sums by name, largest first; without what has no name. */
function summed(counts: readonly FacetCount[], nameOf: (count: FacetCount) => string | null): NamedCount[] {
  const sums = new Map<string, number>();
  for (const one of counts) {
    const name = nameOf(one);
    if (name !== null) sums.set(name, (sums.get(name) ?? 0) + one.count);
  }
  return [...sums]
    .map(([name, count]) => ({ name, count }))
    .sort((a, b) => b.count - a.count || (a.name < b.name ? -1 : 1));
}

/** Whether nothing but one label, the time and the order decide. */
function isLabelAlone(query: TaskFilters): boolean {
  const {
    limit: _,
    order: _order,
    after: _after,
    since: _since,
    until: _until,
    endUser,
    tag,
    ...others
  } = {
    limit: 0,
    ...query,
  };
  return (endUser === undefined || tag === undefined) && Object.values(others).every((value) => value === undefined);
}

/** The condition for those of these tasks that have the labels, and whatever `matching` leaves to the parts of a list. */
function labeledAs(
  rows: readonly { readonly id: string }[],
  { own, endUser, tag, favorites, imagesSince }: TaskFilters,
): Prisma.TaskWhereInput {
  return {
    id: { in: inList(rows.map(({ id }) => id)) },
    ...definedFields({ endUser }),
    ...(tag !== undefined && { tags: { has: tag } }),
    ...(favorites === true && { favoritedAt: { not: null } }),
    ...(imagesSince && WITH_IMAGES),
    AND: [
      tasksOf(own),
      imagesSince === undefined ? {} : { OR: [{ createdAt: { gte: imagesSince } }, { favoritedAt: { not: null } }] },
    ],
  };
}

/** Splits a list into parts that have an index each; unfinished tasks first, so that `first` misses none. */
function partsOf({ status, favorites, imagesSince, ...filters }: TaskFilters): Prisma.TaskWhereInput[] {
  const { model, apiKeyId, orderedBy, own } = filters;
  const kept = { favoritedAt: { not: null }, ...tasksOf(own), ...(imagesSince && WITH_IMAGES) };
  if (favorites === true) return [kept];
  const unfinished = { ...UNFINISHED, ...tasksOf(own) };
  if (status === 'pending') return [unfinished];
  const isAll = [own, model, apiKeyId, orderedBy].every((filter) => filter === undefined);
  const ended = own === undefined ? [isAll ? {} : DONE] : endedTasksOf(own, apiKeyId);
  if (imagesSince !== undefined) {
    return [...ended.map((part) => ({ ...part, ...WITH_IMAGES, createdAt: { gte: imagesSince } })), kept];
  }
  return isAll || status !== undefined ? ended : [unfinished, ...ended];
}

/** The conditions of a query, and more. */
function matching(
  accountId: string,
  { status, pending, since, until, model, apiKeyId, orderedBy, kept, prompt, provider }: Omit<TaskListQuery, 'limit'>,
  more: readonly Prisma.TaskWhereInput[] = [],
): Prisma.TaskWhereInput {
  return {
    ...definedFields({ accountId, status, model, apiKeyId, provider }),
    ...(kept === true && { deletedAt: null }),
    ...(prompt !== undefined && { prompt: { contains: prompt, mode: 'insensitive' } }),
    // Apart from the conditions of a part, which may be about the same columns.
    AND: [
      { createdAt: definedFields({ gte: since, lt: until }), ...definedFields({ orderedBy }) },
      ...(pending === undefined ? [] : [{ phase: { in: phasesOf(pending) } }]),
      ...more,
    ],
  };
}
