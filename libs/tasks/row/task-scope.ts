import { inList } from '#database/prisma-values.js';
import type { PersonTasks } from './task.js';

/** Matches the condition of the index of ended tasks by person. */
const DONE = { phase: 'done' };

/** The condition for a person's tasks; empty for readers who see all tasks. `scanTasks` has the same in SQL. */
export function tasksOf(own: PersonTasks | undefined) {
  if (own === undefined) return {};
  return { OR: [{ orderedBy: own.personId }, { apiKeyId: { in: inList(own.keyIds) } }] };
}

/** Conditions for a person's ended tasks, or for those with one key: disjoint parts that have an index each. */
export function endedTasksOf({ personId, keyIds }: PersonTasks, apiKeyId?: string) {
  const keys = keyIds.filter((id) => apiKeyId === undefined || id === apiKeyId);
  const ordered = { ...DONE, orderedBy: personId, NOT: { apiKeyId: { in: inList(keyIds) } } };
  return [ordered, ...keys.map((id) => ({ ...DONE, apiKeyId: id }))];
}
