import type pg from 'pg';
import type { Prisma } from './generated/client.js';

/** A pool, or a connection of one: all that rooms need which run in processes and in commands alike. */
export type Queryable = Pick<pg.Pool, 'query'>;

/** What Prisma hands to the work of a transaction; Prisma itself will do in its place. */
export type Transaction = Prisma.TransactionClient;

/** What transactions and statements outside of them are run on. */
export type Pool = Pick<pg.Pool, 'connect' | 'query'>;

/** Runs statements as one transaction, which ends without a trace when one of them throws. Throws what `work` throws. */
export async function inTransaction<T>(pool: Pool, work: (client: Queryable) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let failure: Error | undefined;
  try {
    await client.query('BEGIN');
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  } catch (error) {
    failure = error instanceof Error ? error : new Error('the transaction failed');
    throw error;
  } finally {
    // A connection in the middle of a transaction must not go back to the pool.
    client.release(failure);
  }
}
