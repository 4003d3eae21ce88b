import { AppError } from '#contract/app-error.js';
import type { TaskListQuery } from '#tasks/task-store.js';
import { listQuery } from '../tasks/list-query.js';

const MAX_TEXT = 200;
const FILTERS = ['limit', 'after', 'status', 'since', 'model', 'key', 'text'];

/** What the list of tasks is narrowed to. */
export interface ConsoleTaskQuery extends TaskListQuery {
  /** Part of the prompt, in any case of letters, or the whole id of a task or of its request. */
  readonly text: string | undefined;
}

/** The query of the console's list of tasks; `key` is an id, or the word `playground`. Throws AppError. */
export function consoleTaskQuery(query: unknown): ConsoleTaskQuery & { readonly key: string | undefined } {
  const given = query as Record<string, unknown>;
  const unknown = Object.keys(given).find((name) => !FILTERS.includes(name));
  if (unknown !== undefined)
    throw new AppError('unsupported_parameter', 'There is no such filter.', { param: 'query' });
  return { ...listQuery(query), model: text(given, 'model'), text: text(given, 'text'), key: text(given, 'key') };
}

function text(query: Record<string, unknown>, name: string): string | undefined {
  const value = query[name];
  if (value === undefined || value === '') return undefined;
  if (typeof value !== 'string') throw new AppError('invalid_type', `${name} must be a text`, { param: name });
  if (value.length > MAX_TEXT || value.includes('\u0000')) {
    throw new AppError('invalid_value', `${name} must be at most ${MAX_TEXT} characters long`, { param: name });
  }
  return value;
}
