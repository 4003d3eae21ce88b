import type { Queryable } from '#database/queryable.js';
import { SUMMARY_COLUMNS, TASK_COLUMNS, type FoundRow, type OwnedRow } from './task-columns.js';

const reading = (columns: string): string =>
  `SELECT ${columns} FROM tasks
    WHERE id = ANY($1) AND ($2::text[] IS NULL OR account_id = ANY($2)) AND (NOT $3::boolean OR status <> 'pending')`;
const FIND = { name: 'task_find', text: reading(`${SUMMARY_COLUMNS}, account_id, api_key_id, ordered_by`) };
const READ = { name: 'task_read', text: reading(`${TASK_COLUMNS}, next_try_at IS NOT NULL AS wanted`) };

/** Reads, for polls, the tasks that belong to one of the accounts (absent: any account), in no particular order. */
export async function findTasks(
  database: Queryable,
  ids: readonly string[],
  accountIds?: readonly string[],
): Promise<OwnedRow[]> {
  return (await database.query<OwnedRow>({ ...FIND, values: [ids, accountIds ?? null, false] })).rows;
}

/** Reads the tasks as their submitters see them; with `ended`, only those that have ended. */
export async function readTasks(database: Queryable, ids: readonly string[], ended: boolean): Promise<FoundRow[]> {
  return (await database.query<FoundRow>({ ...READ, values: [ids, null, ended] })).rows;
}
