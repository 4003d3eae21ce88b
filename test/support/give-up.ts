import pg from 'pg';
import { waitUntil } from '#embedded/wait-until.js';
import { openPrisma } from './open-prisma.js';
import { patient } from './patience.js';

/**
 * Gives up a statement in the middle of a transaction, and expects that Postgres stops it, and that the pool gives its
 * connection to nobody else. The server's own limit is switched off: it does not apply to a commit that waits.
 */
export async function giveUpStatement(databaseUrl: string, direct = databaseUrl, pooler?: string): Promise<void> {
  const one = { databasePool: 1, queryTimeoutMs: 10_000, ...(pooler !== undefined && { databasePooler: pooler }) };
  const database = openPrisma(databaseUrl, one);
  const server = new pg.Client({ connectionString: direct, query_timeout: patient(20_000) });
  await server.connect();
  const seconds = 600 + Math.floor(Math.random() * 100_000);
  const running = async (): Promise<number | null> =>
    (
      await server.query(
        `SELECT FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(${seconds})' AND state = 'active'`,
      )
    ).rowCount;
  const client = await database.pool.connect();
  await client.query('BEGIN');
  await client.query('SET LOCAL statement_timeout = 0');
  const given = client.query(`SELECT pg_sleep(${seconds})`);
  given.catch(() => undefined);
  const began = await waitUntil(async () => (await running()) === 1, { timeoutMs: 9_900 });
  await expect(given).rejects.toThrow('Query read timeout');
  await expect(client.query('ROLLBACK')).rejects.toThrow('Client was closed');
  client.release();
  await database.ping();
  expect(await waitUntil(async () => (await running()) === 0, { timeoutMs: 20_000 })).toBe(true);
  expect(began).toBe(true);
  await Promise.all([database.close(), server.end()]);
}
