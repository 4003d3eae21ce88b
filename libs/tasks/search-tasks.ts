import { Injectable, Optional } from '@nestjs/common';
import { decodeTime } from 'ulid';
import { given } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import { lookThrough, type LookedAt } from './sweep.sql.js';
import { isRequestId, isTaskId } from './task-id.js';
import { tasksOf } from './task-scope.js';
import type { TaskListQuery } from './task-store.js';

/** Looked through by one statement, which so stays far below its time limit however long the prompts are. */
const TASKS_PER_STATEMENT = 2_000;
export const SEARCH_BOUNDS: SearchBounds = { tasks: 20_000, ms: 2_000 };
/** A task's row is written after its request came, by another clock. */
const CLOCKS_APART_MS = 60_000;

interface SearchBounds {
  /** Tasks that one search looks at, at most. */
  readonly tasks: number;
  /** No statement begins after so long. */
  readonly ms: number;
}

/** What is searched for, in one account's tasks: what no index knows. */
export interface TaskSearch extends Omit<TaskListQuery, 'after' | 'order'> {
  /** Part of the prompt, in any case of letters, or the whole id of a task or of its request. */
  readonly text?: string | undefined;
  /** The provider that was called last. */
  readonly provider?: string | undefined;
  /** Where an earlier search came to. */
  readonly after?: SearchedUntil | undefined;
}

/** A place in the account's tasks. */
interface SearchedUntil {
  readonly id: string;
  readonly createdAt: Date;
}

/** What one bounded piece of a search has found. */
export interface TaskSearchResult {
  /** Newest first. */
  readonly ids: readonly string[];
  /** Where to go on; undefined when all of the account's tasks have been looked through. */
  readonly next: SearchedUntil | undefined;
  /** The search stopped for its bounds, not because it had found enough. */
  readonly isCutShort: boolean;
}

/**
 * Looks for words in an account's prompts, or for a provider, newest first. No index knows them, since every accepted task would pay for it;
 * so a search looks at so many tasks at most, and tells how far it has come. Ids are looked up instead.
 */
@Injectable()
export class SearchTasks {
  constructor(
    private readonly prisma: PrismaService,
    @Optional() private readonly bounds: SearchBounds = SEARCH_BOUNDS,
  ) {}

  async search(accountId: string, search: TaskSearch): Promise<TaskSearchResult> {
    const { text } = search;
    if (text !== undefined && (isTaskId(text) || isRequestId(text))) {
      const ids = search.after === undefined ? await this.byId(accountId, text, search) : [];
      return { ids, next: undefined, isCutShort: false };
    }
    return await this.look(accountId, search);
  }

  private async byId(accountId: string, text: string, search: TaskSearch): Promise<string[]> {
    const { limit, status, model, apiKeyId, provider, since, until, own } = search;
    const found = await this.prisma.task.findMany({
      where: {
        ...{ ...given({ accountId, status, model, apiKeyId, provider }), ...tasksOf(own) },
        AND: { createdAt: given({ gte: since, lt: until }) },
        ...(isTaskId(text) ? { id: text } : { requestId: text, createdAt: await this.timeOf(accountId, text) }),
      },
      select: { id: true },
      orderBy: { id: 'desc' },
      take: limit,
    });
    return found.map(({ id }) => id);
  }

  /** When a request's tasks were made: soon after it came, among so many of the account's. No index knows requests. */
  private async timeOf(accountId: string, requestId: string): Promise<{ gte: Date; lt?: Date }> {
    const since = new Date(decodeTime(requestId.slice(requestId.indexOf('_') + 1)) - CLOCKS_APART_MS);
    const last = await this.prisma.task.findFirst({
      where: { accountId, createdAt: { gte: since } },
      select: { createdAt: true },
      orderBy: { createdAt: 'asc' },
      skip: this.bounds.tasks,
    });
    return last === null ? { gte: since } : { gte: since, lt: last.createdAt };
  }

  private async look(accountId: string, search: TaskSearch): Promise<TaskSearchResult> {
    const begun = performance.now();
    const { limit, text = '', since = null, status = null, model = null, apiKeyId = null } = search;
    const { provider = null, own = null } = search;
    const found: LookedAt[] = [];
    let next = startOf(search);
    for (let looked = 0; looked < this.bounds.tasks; looked += TASKS_PER_STATEMENT) {
      if (looked > 0 && performance.now() - begun > this.bounds.ms) break;
      const wanted = { accountId, status, model, apiKeyId, provider, own, text, since, after: next ?? null };
      const rows = await lookThrough(this.prisma.pool, wanted, TASKS_PER_STATEMENT);
      found.push(...rows.filter((row) => row.found));
      if (found.length > limit) return page(found.slice(0, limit), found[limit - 1], false);
      const last = rows.at(-1);
      if (last?.n !== TASKS_PER_STATEMENT) return page(found, undefined, false);
      next = last;
    }
    return page(found, next, true);
  }
}

/** One place for both ends, because of two an index begins at the wrong one: no task has an id below an empty one. */
function startOf({ after, until }: TaskSearch): SearchedUntil | undefined {
  if (until === undefined || (after !== undefined && after.createdAt < until)) return after;
  return { createdAt: until, id: '' };
}

function page(found: readonly LookedAt[], next: SearchedUntil | undefined, isCutShort: boolean): TaskSearchResult {
  return { ids: found.map(({ id }) => id), next, isCutShort };
}
