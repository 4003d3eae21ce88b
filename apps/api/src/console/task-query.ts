import type { TaskListQuery } from '#tasks/task-store.js';
import { listQuery } from '../tasks/list-query.js';
import { assertFilters, queryText } from './query-text.js';

const FILTERS = ['limit', 'after', 'status', 'since', 'model', 'key', 'text'];

/** The query of the console's list of tasks; `key` is an id, or the word `console`. Throws AppError. */
export function consoleTaskQuery(query: unknown): TaskListQuery & { readonly key: string | undefined } {
  assertFilters(query, FILTERS);
  return {
    ...listQuery(query),
    model: queryText(query, 'model'),
    text: queryText(query, 'text'),
    key: queryText(query, 'key'),
  };
}
