import type { TaskListQuery } from '#tasks/task-store.js';
import { listQuery } from '../../tasks/list-query.js';
import { assertFilters, queryText } from '../query-text.js';

const FILTERS = ['limit', 'after', 'status', 'since', 'model', 'key', 'text'];

/** What the list of tasks is narrowed to. */
export interface ConsoleTaskQuery extends TaskListQuery {
  /** Part of the prompt, in any case of letters, or the whole id of a task or of its request. */
  readonly text: string | undefined;
}

/** The query of the console's list of tasks; `key` is an id, or the word `playground`. Throws AppError. */
export function consoleTaskQuery(query: unknown): ConsoleTaskQuery & { readonly key: string | undefined } {
  assertFilters(query, FILTERS);
  return {
    ...listQuery(query),
    model: queryText(query, 'model'),
    text: queryText(query, 'text'),
    key: queryText(query, 'key'),
  };
}
