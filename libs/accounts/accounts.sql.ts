import type { Queryable, Transaction } from '#database/queryable.js';

/**
 * For whoever counts something of an account before adding to it: of two that do so at once the second waits here until
 * the first has ended its transaction. Reading the account's row, and adding what refers to it, does not wait.
 */
export async function lockAccount(transaction: Transaction, id: string): Promise<void> {
  // Raw: Prisma locks no row that it does not write.
  await transaction.$queryRaw`SELECT id FROM accounts WHERE id = ${id} FOR NO KEY UPDATE`;
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
