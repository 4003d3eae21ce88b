import type pg from 'pg';
import type { Prisma } from './generated/client.js';

/** A pool or one of its connections: enough for code that runs in both services and commands. */
export type Queryable = Pick<pg.Pool, 'query'>;

/** The client of a Prisma transaction; PrismaClient itself is also accepted. */
export type Transaction = Prisma.TransactionClient;

/** Runs single statements, and connections for transactions. */
export type Pool = Pick<pg.Pool, 'connect' | 'query'>;

/** Runs `work` in one transaction, which is discarded when it throws. Throws what `work` throws. */
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
    // A connection with an open transaction must not go back to the pool.
    client.release(failure);
  }
}
