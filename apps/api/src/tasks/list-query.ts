import { AppError } from '#contract/app-error.js';
import { isTaskId } from '#tasks/task-id.js';
import { TASK_STATUSES, type TaskStatus } from '#tasks/task-status.js';
import type { TaskListQuery } from '#tasks/task-store.js';

const MAX_LIMIT = 100;
const DEFAULT_LIMIT = 20;

/** The query of GET /v1/tasks. Throws AppError naming the first wrong parameter. */
export function listQuery(query: unknown): TaskListQuery {
  const { limit, after, status, since } = query as Record<string, unknown>;
  return { limit: readLimit(limit), after: readAfter(after), status: readStatus(status), since: readSince(since) };
}

/** How long a page is to be: 1 to 100, 20 unless told. Throws AppError naming `limit`. */
export function readLimit(value: unknown): number {
  if (value === undefined || value === '') return DEFAULT_LIMIT;
  const limit = integer(value, 'limit');
  if (limit < 1) throw new AppError('integer_below_min_value', 'limit must be at least 1', { param: 'limit' });
  if (limit > MAX_LIMIT) {
    throw new AppError('integer_above_max_value', `limit must be at most ${MAX_LIMIT}`, { param: 'limit' });
  }
  return limit;
}

function readAfter(value: unknown): string | undefined {
  if (value === undefined || value === '') return undefined;
  if (typeof value === 'string' && isTaskId(value)) return value;
  throw new AppError('invalid_value', 'after must be the id of a task', { param: 'after' });
}

function readStatus(value: unknown): TaskStatus | undefined {
  if (value === undefined || value === '') return undefined;
  const status = TASK_STATUSES.find((known) => known === value);
  if (status !== undefined) return status;
  throw new AppError('invalid_value', `status must be one of ${TASK_STATUSES.join(', ')}`, { param: 'status' });
}

function readSince(value: unknown): Date | undefined {
  if (value === undefined || value === '') return undefined;
  return new Date(integer(value, 'since') * 1000);
}

function integer(value: unknown, param: string): number {
  if (typeof value === 'string' && /^-?\d{1,11}$/.test(value)) return Number(value);
  throw new AppError('invalid_type', `${param} must be an integer`, { param });
}
