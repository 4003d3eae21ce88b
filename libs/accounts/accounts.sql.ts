import type { Queryable, Transaction } from '#database/queryable.js';

/**
 * Locks an account before something of it is counted and added to. A second transaction waits here until the first has
 * ended; reading the row, or inserting rows that refer to it, does not wait.
 */
export async function lockAccount(transaction: Transaction, id: string): Promise<void> {
  // Raw: Prisma can't lock a row without writing it.
  await transaction.$queryRaw`SELECT id FROM accounts WHERE id = ${id} FOR NO KEY UPDATE`;
}

/** Records that keys were just used. Skips rows that another process is updating, because it writes the same. */
export async function touchKeys(database: Queryable, ids: readonly string[]): Promise<void> {
  // Raw: SKIP LOCKED, because processes that update the same keys in a different order would wait for each other.
  await database.query(
    `UPDATE api_keys SET last_used_at = now()
     WHERE id IN (SELECT id FROM api_keys WHERE id = ANY($1) FOR UPDATE SKIP LOCKED)`,
    [ids],
  );
}
