import { Injectable } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import {
  TaskListStore,
  type OutcomeCounts,
  type TaskCount,
  type TaskListQuery,
} from '#tasks/reading/task-list-store.js';
import { SearchTasks, type TaskSearch } from '#tasks/reading/search-tasks.js';
import { TaskDetails } from '#tasks/reading/task-details.js';
import { TaskStore } from '#tasks/reading/task-store.js';
import type { TaskScope, TaskSummary } from '#tasks/row/task.js';
import { TasksConfig } from '#tasks/row/tasks.config.js';
import { StorageConfig } from '#storage/storage.config.js';
import { ShownTasks } from './shown-tasks.js';
import { ConsoleCaller } from './console-caller.js';
import type { ConsoleState, ConsoleTaskFilter, OutcomeQuery, TaskExportQuery } from './dto/task-query.dto.js';
import type { ConsoleTaskPage } from './dto/task-views.dto.js';

/** Filters and cursor of a list of tasks. */
type TaskFilters = ConsoleTaskFilter &
  Pick<TaskListQuery, 'limit' | 'after' | 'order' | 'favorites'> & {
    readonly status?: ConsoleState | undefined;
    /** Only completed tasks whose images are stored. */
    readonly images?: boolean;
  };

type SearchedBy = 'text' | 'provider' | 'error';

/** Code points of a prompt that are shown as a task's name. */
const NAME_LENGTH = 200;

/** Filter value for the playground's own key. */
const PLAYGROUND = 'playground';

/** A page of tasks. */
interface FoundTasks {
  readonly tasks: readonly TaskSummary[];
  /** Cursor of the next page; null = last page. */
  readonly next: string | null;
  /** How far back a search got before it stopped early; null otherwise. */
  readonly searchedUntil: Date | null;
}

const PENDING = 'pending' as const;

const NOTHING: FoundTasks = { tasks: [], next: null, searchedUntil: null };

/** Lists and searches the tasks of a scope. */
@Injectable()
export class AccountTasks {
  constructor(
    private readonly tasks: TaskStore,
    private readonly lists: TaskListStore,
    private readonly searches: SearchTasks,
    private readonly shown: ShownTasks,
    private readonly details: TaskDetails,
    private readonly callers: ConsoleCaller,
    private readonly storage: StorageConfig,
    private readonly limits: TasksConfig,
  ) {}

  async list(scope: TaskScope, query: TaskFilters): Promise<ConsoleTaskPage> {
    const { tasks, next, searchedUntil } = await this.find(scope, query);
    const data = await this.shown.rows(scope.accountId, tasks);
    return { data, has_more: next !== null, next, searched_until: searchedUntil?.toISOString() ?? null };
  }

  /** The number of matching tasks; null when that would need a search. */
  async count(scope: TaskScope, filter: TaskExportQuery): Promise<TaskCount | null> {
    const query = await this.queryOf(scope, filter);
    return isSearch(query) ? null : await this.lists.count(scope, query);
  }

  /** The numbers of matching tasks by provider and by error. */
  async countByOutcome(scope: TaskScope, filter: OutcomeQuery): Promise<OutcomeCounts> {
    return await this.lists.countByOutcome(scope, await this.queryOf(scope, filter));
  }

  /** The tasks of a page, without the details that lists show. */
  async find(scope: TaskScope, filters: TaskFilters): Promise<FoundTasks> {
    if (filters.images === true && filters.status !== undefined && filters.status !== 'completed') {
      throw new AppError('invalid_value', 'Only completed tasks have images.', { param: 'status' });
    }
    const imagesSince = filters.images === true ? this.imagesSince() : undefined;
    const query = { ...(await this.queryOf(scope, filters)), imagesSince };
    if (isSearch(query)) return await this.search(scope, query);
    const { tasks, hasMore } = await this.lists.list(scope, { ...query, prompt: query.text });
    return { tasks, next: hasMore ? (tasks.at(-1)?.id ?? null) : null, searchedUntil: null };
  }

  /** The tasks' prompts, which serve as their names, in order. */
  async prompts(accountId: string, ids: readonly string[]): Promise<{ id: string; prompt: string }[]> {
    const details = await this.details.of(accountId, ids, NAME_LENGTH);
    return ids.map((id) => ({ id, prompt: details.get(id)?.prompt ?? '' }));
  }

  private async queryOf<F extends ConsoleTaskFilter & Pick<TaskFilters, 'status'>>(
    { accountId }: TaskScope,
    { key, person, from, to, status, end_user: endUser, ...filters }: F,
  ) {
    const apiKeyId = key === PLAYGROUND ? await this.callers.keyId(accountId) : key;
    const state = status === 'waiting' || status === 'running' ? { status: PENDING, pending: status } : { status };
    return { ...filters, ...state, apiKeyId, orderedBy: person, endUser, since: from, until: to };
  }

  /** When the oldest task was created whose images are not past their retention. */
  private imagesSince(): Date {
    return new Date(Date.now() - this.storage.imageRetentionHours * 3_600_000 - this.limits.deadlineMs);
  }

  private async search(scope: TaskScope, query: TaskListQuery & Pick<TaskSearch, SearchedBy>): Promise<FoundTasks> {
    const [after] = query.after === undefined ? [] : await this.tasks.findAll(scope, [query.after]);
    // The cursor's task is gone: as in a list, there is no next page.
    if (query.after !== undefined && after === undefined) return NOTHING;
    const { ids, next, isCutShort } = await this.searches.search(scope, { ...query, after });
    const found = new Map((await this.tasks.findAll(scope, ids)).map((task) => [task.id, task]));
    return {
      tasks: ids.flatMap((id) => found.get(id) ?? []),
      next: next?.id ?? null,
      searchedUntil: isCutShort ? (next?.createdAt ?? null) : null,
    };
  }
}

/** Prompts, providers and errors have no index. Favorites are few, so their list can filter prompts and providers itself. */
function isSearch({ text, provider, error, favorites }: Pick<TaskFilters, SearchedBy | 'favorites'>): boolean {
  return error !== undefined || (favorites !== true && (provider !== undefined || text !== undefined));
}
