import { Injectable, Optional } from '@nestjs/common';
import { decodeTime } from 'ulid';
import { definedFields } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import { scanTasks, type ScannedTask } from '../row/sweep.sql.js';
import { failedWith } from '../row/failed-with.js';
import { isRequestId, isTaskId } from '../row/task-id.js';
import { tasksOf } from '../row/task-scope.js';
import { phasesOf } from '../row/task-status.js';
import type { TaskScope } from '../row/task.js';
import type { TaskListQuery } from './task-list-store.js';

/** Tasks that one statement examines, so that it stays far below its time limit however long the prompts are. */
const TASKS_PER_STATEMENT = 2_000;
export const SEARCH_BOUNDS: SearchBounds = { tasks: 20_000, ms: 2_000 };
/** How far apart the clocks may be: the API's dates requests, and the database's dates their rows. */
const CLOCKS_APART_MS = 60_000;

interface SearchBounds {
  /** Most tasks that one search examines. */
  readonly tasks: number;
  /** No statement begins later than this. */
  readonly ms: number;
}

/** A search in a scope's tasks, for what no index covers. */
export interface TaskSearch extends Omit<TaskListQuery, 'after' | 'order' | 'favorites' | 'prompt'> {
  /** Part of the prompt, case-insensitive, or the whole id of a task or of its request. */
  readonly text?: string | undefined;
  /** The last provider called. */
  readonly provider?: string | undefined;
  /** Error code of a failed task. */
  readonly error?: string | undefined;
  /** Where an earlier search stopped. */
  readonly after?: SearchedUntil | undefined;
}

/** A position in the account's tasks. */
interface SearchedUntil {
  readonly id: string;
  readonly createdAt: Date;
}

/** What one bounded part of a search has found. */
export interface TaskSearchResult {
  /** Newest first. */
  readonly ids: readonly string[];
  /** Where to continue; undefined when all of the account's tasks have been examined. */
  readonly next: SearchedUntil | undefined;
  /** The search stopped at its bounds, not because it had found enough. */
  readonly isCutShort: boolean;
}

/**
 * Searches an account's tasks by prompt text, provider or error, newest first. Without an index, whose cost every accepted
 * task would bear, a search examines a limited number of tasks and returns where it stopped. Ids are looked up instead.
 */
@Injectable()
export class SearchTasks {
  constructor(
    private readonly prisma: PrismaService,
    @Optional() private readonly bounds: SearchBounds = SEARCH_BOUNDS,
  ) {}

  async search(scope: TaskScope, search: TaskSearch): Promise<TaskSearchResult> {
    const { text } = search;
    if (text !== undefined && (isTaskId(text) || isRequestId(text))) {
      const ids = search.after === undefined ? await this.byId(scope, text, search) : [];
      return { ids, next: undefined, isCutShort: false };
    }
    return await this.look(scope, search);
  }

  private async byId({ accountId, own }: TaskScope, text: string, search: TaskSearch): Promise<string[]> {
    const { limit, status, pending, model, apiKeyId, provider, error, orderedBy, imagesSince, since, until } = search;
    const { endUser, tag } = search;
    const found = await this.prisma.task.findMany({
      where: {
        ...definedFields({ accountId, status, model, apiKeyId, provider, endUser }),
        ...(tag !== undefined && { tags: { has: tag } }),
        ...tasksOf(own),
        ...(pending === undefined ? {} : { phase: { in: phasesOf(pending) } }),
        AND: [
          {
            createdAt: definedFields({ gte: since, lt: until }),
            ...definedFields({ orderedBy }),
            ...(imagesSince && {
              status: 'completed',
              objectsDeletedAt: null,
              OR: [{ createdAt: { gte: imagesSince } }, { favoritedAt: { not: null } }],
            }),
          },
          ...(error === undefined ? [] : [failedWith(error)]),
        ],
        ...(isTaskId(text) ? { id: text } : { requestId: text, createdAt: await this.timeOf(accountId, text) }),
      },
      select: { id: true },
      orderBy: { id: 'desc' },
      take: limit,
    });
    return found.map(({ id }) => id);
  }

  /** When a request's tasks can have been made: among the account's next tasks after it. Requests have no index. */
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

  private async look({ accountId, own }: TaskScope, search: TaskSearch): Promise<TaskSearchResult> {
    const begun = performance.now();
    const { limit, text = '', since = null, status = null, model = null, apiKeyId = null } = search;
    const { provider = null, error = null, orderedBy = null, imagesSince = null, pending } = search;
    const { endUser = null, tag = null } = search;
    const found: ScannedTask[] = [];
    let next = startOf(search);
    for (let looked = 0; looked < this.bounds.tasks; looked += TASKS_PER_STATEMENT) {
      if (looked > 0 && performance.now() - begun > this.bounds.ms) break;
      const wanted = {
        accountId,
        status,
        phases: pending === undefined ? null : phasesOf(pending),
        model,
        apiKeyId,
        provider,
        orderedBy,
        imagesSince,
        error,
        own: own ?? null,
        endUser,
        tag,
        text,
        since,
        after: next ?? null,
      };
      const rows = await scanTasks(this.prisma.pool, wanted, TASKS_PER_STATEMENT);
      found.push(...rows.filter((row) => row.found));
      if (found.length > limit) return page(found.slice(0, limit), found[limit - 1], false);
      const last = rows.at(-1);
      if (last?.n !== TASKS_PER_STATEMENT) return page(found, undefined, false);
      next = last;
    }
    return page(found, next, true);
  }
}

/** Merges `after` and `until`, because given both, an index starts at the wrong one. No task id is below ''. */
function startOf({ after, until }: TaskSearch): SearchedUntil | undefined {
  if (until === undefined || (after !== undefined && after.createdAt < until)) return after;
  return { createdAt: until, id: '' };
}

function page(found: readonly ScannedTask[], next: SearchedUntil | undefined, isCutShort: boolean): TaskSearchResult {
  return { ids: found.map(({ id }) => id), next, isCutShort };
}
