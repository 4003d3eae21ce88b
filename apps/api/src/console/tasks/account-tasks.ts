import { Injectable } from '@nestjs/common';
import { SearchTasks } from '#tasks/search-tasks.js';
import { TaskStore, type TaskListQuery } from '#tasks/task-store.js';
import { ShownTasks } from './shown-tasks.js';
import type { ConsoleTaskPage } from './dto/task-views.dto.js';

const EMPTY: ConsoleTaskPage = { data: [], has_more: false, next: null, searched_until: null };

/** What a list of tasks is narrowed to. */
export interface TaskFilters extends TaskListQuery {
  /** Part of the prompt, in any case of letters, or the whole id of a task or of its request. */
  readonly text?: string | undefined;
}

/** Pages of an account's tasks. */
@Injectable()
export class AccountTasks {
  constructor(
    private readonly tasks: TaskStore,
    private readonly searches: SearchTasks,
    private readonly shown: ShownTasks,
  ) {}

  async list(accountId: string, { text, ...query }: TaskFilters): Promise<ConsoleTaskPage> {
    // Favorites are few, so their list can look into prompts itself.
    if (text !== undefined && query.favorites !== true) return await this.search(accountId, { ...query, text });
    const { tasks, hasMore } = await this.tasks.list(accountId, { ...query, prompt: text });
    const next = hasMore ? (tasks.at(-1)?.id ?? null) : null;
    return { data: await this.shown.rows(accountId, tasks), has_more: hasMore, next, searched_until: null };
  }

  private async search(accountId: string, query: TaskFilters & { text: string }): Promise<ConsoleTaskPage> {
    const [after] = query.after === undefined ? [] : await this.tasks.findAll(accountId, [query.after]);
    // The place is gone: as in a list, nothing follows it.
    if (query.after !== undefined && after === undefined) return EMPTY;
    const { ids, next, isCutShort } = await this.searches.search(accountId, { ...query, after });
    const found = new Map((await this.tasks.findAll(accountId, ids)).map((task) => [task.id, task]));
    return {
      data: await this.shown.rows(
        accountId,
        ids.flatMap((id) => found.get(id) ?? []),
      ),
      has_more: next !== undefined,
      next: next?.id ?? null,
      searched_until: isCutShort ? (next?.createdAt.toISOString() ?? null) : null,
    };
  }
}
