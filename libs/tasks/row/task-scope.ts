import { inList } from '#database/prisma-values.js';
import type { OwnTasks, TaskScope } from './task.js';

/** Matches the condition of the index of ended tasks by person. */
const DONE = { phase: 'done' };

/** The condition for own tasks; empty for readers who see all tasks. `scanTasks` has the same in SQL. */
export function tasksOf(own: OwnTasks | undefined) {
  if (own === undefined) return {};
  const withKeys = { apiKeyId: { in: inList(own.keyIds) } };
  // Without a person there is no such condition: Prisma would match every task with an undefined one.
  return { OR: own.personId === null ? [withKeys] : [{ orderedBy: own.personId }, withKeys] };
}

/** Conditions for own ended tasks, or for those with one key: disjoint parts that have an index each. */
export function endedTasksOf({ personId, keyIds }: OwnTasks, apiKeyId?: string) {
  const keys = keyIds.filter((id) => apiKeyId === undefined || id === apiKeyId);
  const withKeys = keys.map((id) => ({ ...DONE, apiKeyId: id }));
  if (personId === null) return withKeys;
  return [{ ...DONE, orderedBy: personId, NOT: { apiKeyId: { in: inList(keyIds) } } }, ...withKeys];
}

/** The columns that decide who may see a task. */
export interface TaskOwnership {
  readonly account_id: string;
  readonly api_key_id: string;
  readonly ordered_by: string | null;
}

/** Whether a row that was read is within a scope: the same rule as `tasksOf`, for rows of many readers at once. */
export function isWithin({ accountId, own }: TaskScope, row: TaskOwnership): boolean {
  if (row.account_id !== accountId) return false;
  if (own === undefined) return true;
  return (own.personId !== null && row.ordered_by === own.personId) || own.keyIds.includes(row.api_key_id);
}
