import type { Queryable, Transaction } from '#database/queryable.js';
import { IDLE_HOURS } from './session-store.js';

/**
 * For whoever counts something of an account before adding to it: of two that do so at once the second waits here until
 * the first has ended its transaction. Reading the account's row, and adding what refers to it, does not wait.
 */
export async function lockAccount(transaction: Transaction, id: string): Promise<void> {
  // Raw: Prisma locks no row that it does not write.
  await transaction.$queryRaw`SELECT id FROM accounts WHERE id = ${id} FOR NO KEY UPDATE`;
}

/** The ids of the account's admins who may come in; until the transaction ends nobody else changes them. */
export async function lockAdmins(transaction: Transaction, accountId: string): Promise<string[]> {
  // Raw: Prisma locks no row that it does not write. In one order, so that two who do this never wait for each other.
  const rows = await transaction.$queryRaw<{ id: string }[]>`
    SELECT id FROM people WHERE account_id = ${accountId} AND role = 'admin' AND disabled_at IS NULL ORDER BY id FOR UPDATE`;
  return rows.map(({ id }) => id);
}

/** Notes that keys were used just now; of rows that somebody else writes meanwhile nothing has to be written twice. */
export async function touchKeys(database: Queryable, ids: readonly string[]): Promise<void> {
  // Raw: SKIP LOCKED, because processes that write the same keys in another order would wait for each other.
  await database.query(
    `UPDATE api_keys SET last_used_at = now()
     WHERE id IN (SELECT id FROM api_keys WHERE id = ANY($1) FOR UPDATE SKIP LOCKED)`,
    [ids],
  );
}

/** What is over, in SQL. */
const OVER = {
  sign_in_links: 'expires_at <= now()',
  sessions: `(expires_at <= now() OR last_seen_at <= now() - interval '${IDLE_HOURS} hours')`,
};

/** Deletes at most `limit` rows that are over, and says how many. */
export async function deleteOver(database: Queryable, table: keyof typeof OVER, limit: number): Promise<number> {
  // Raw: a batch with SKIP LOCKED. Each row is asked again, for a session may have been used since it was found.
  const { rowCount } = await database.query(
    `DELETE FROM ${table} WHERE ${OVER[table]} AND id IN (
      SELECT id FROM ${table} WHERE ${OVER[table]} LIMIT $1 FOR UPDATE SKIP LOCKED)`,
    [limit],
  );
  return rowCount ?? 0;
}
