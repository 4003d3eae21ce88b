import type { Queryable } from '#database/queryable.js';

/** Held tasks that no email was about. Begins with the condition of their index. */
const UNTOLD = `approval IS NOT NULL AND finished_at IS NULL AND phase = 'held' AND NOT approval ? 'toldAt' AND deadline_at > now()`;

/** Accounts that have such tasks. Raw, because Prisma can't ask for a member that is missing. */
export async function accountsToTell(database: Queryable): Promise<string[]> {
  const text = `SELECT DISTINCT account_id AS id FROM tasks WHERE ${UNTOLD}`;
  return (await database.query<{ id: string }>(text)).rows.map(({ id }) => id);
}

/** Marks those of an account, and returns how many there were. Rows are locked in order, and those of a decision skipped. */
export async function markTold(database: Queryable, accountId: string): Promise<number> {
  const text = `UPDATE tasks SET approval = approval || jsonb_build_object('toldAt', now())
    WHERE id IN (SELECT id FROM tasks WHERE ${UNTOLD} AND account_id = $1 ORDER BY id FOR UPDATE SKIP LOCKED)
    RETURNING id`;
  return (await database.query(text, [accountId])).rows.length;
}
