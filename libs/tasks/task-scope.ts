import { inList } from '#database/prisma-values.js';
import type { PersonTasks } from './task.js';

/** As the index of ended tasks by person says it. */
const DONE = { phase: 'done' };

/** The condition that a task is one of the person's; none for whoever sees all tasks. `lookThrough` says the same in SQL. */
export function tasksOf(own: PersonTasks | undefined) {
  if (own === undefined) return {};
  return { OR: [{ orderedBy: own.personId }, { apiKeyId: { in: inList(own.keyIds) } }] };
}

/** A person's ended tasks, or those of them with one key, in parts that have an index each and no task in common. */
export function endedTasksOf({ personId, keyIds }: PersonTasks, apiKeyId?: string) {
  const keys = keyIds.filter((id) => apiKeyId === undefined || id === apiKeyId);
  const ordered = { ...DONE, orderedBy: personId, NOT: { apiKeyId: { in: inList(keyIds) } } };
  return [ordered, ...keys.map((id) => ({ ...DONE, apiKeyId: id }))];
}
