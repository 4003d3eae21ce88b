import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { loadConfig } from '#config/load-config.js';
import { isDatabaseUnavailable, isUniqueViolation } from '#database/database-errors.js';
import { DatabaseConfig } from '#database/database.config.js';
import { PrismaService } from '#database/prisma.service.js';
import { giveUpStatement } from '../support/give-up.js';
import { openTaskRoom, TEST_ACCOUNT, type TaskRoom } from '../support/task-room.js';

// Real: Postgres, and Prisma on it; that it is away or too slow is not played.
describe('what Prisma throws when the database is away', () => {
  let room: TaskRoom;
  beforeAll(async () => {
    room = await openTaskRoom();
  });
  afterAll(() => room.close());

  /** Prisma on this database. */
  async function thrown(
    work: (prisma: PrismaService) => Promise<unknown>,
    settings: Record<string, string> = {},
  ): Promise<unknown> {
    const [config] = loadConfig([DatabaseConfig], { DATABASE_URL: room.databaseUrl, ...settings });
    const prisma = new PrismaService(config, room.logger);
    try {
      await work(prisma);
    } catch (error) {
      return error;
    } finally {
      await prisma.close();
    }
    throw new Error('nothing was thrown');
  }

  const count = (prisma: PrismaService): Promise<unknown> => prisma.account.count();
  const countInTransaction = (prisma: PrismaService): Promise<unknown> =>
    prisma.$transaction(async (tx) => await tx.account.count());
  const rename = (prisma: PrismaService): Promise<unknown> => prisma.account.updateMany({ data: { name: 'A' } });
  const renameInTransaction = (prisma: PrismaService): Promise<unknown> =>
    prisma.$transaction(async (tx) => await tx.account.updateMany({ data: { name: 'A' } }));

  it('is known when nobody listens', async () => {
    const nobody = { DATABASE_URL: 'postgresql://127.0.0.1:1/none' };
    for (const work of [count, countInTransaction, (prisma: PrismaService) => prisma.$queryRaw`SELECT 1`]) {
      expect(isDatabaseUnavailable(await thrown(work, nobody))).toBe(true);
    }
  });

  it('is known when a row is locked for too long, within a transaction and without', async () => {
    // A connection whose transaction may stay idle for as long as the test needs.
    const holder = new pg.Client({ connectionString: room.databaseUrl });
    await holder.connect();
    try {
      await holder.query(`BEGIN; UPDATE accounts SET name = 'B'`);
      for (const work of [rename, renameInTransaction]) expect(isDatabaseUnavailable(await thrown(work))).toBe(true);
    } finally {
      await holder.end();
    }
  });

  it.each([
    ['3000', '2s'],
    ['5000', '2s'],
    ['20000', '8s'],
  ])('waits for a lock for a part of the time that a query may take: %s ms, %s', async (queryMs, expected) => {
    let limit: unknown;
    await thrown(
      async (prisma) => {
        limit = (await prisma.pool.query<{ lock_timeout: string }>('SHOW lock_timeout')).rows[0]?.lock_timeout;
        throw new Error('enough');
      },
      { DATABASE_CONNECT_TIMEOUT_MS: '20000', DATABASE_QUERY_TIMEOUT_MS: queryMs },
    );
    expect(limit).toBe(expected);
  });

  it('is known when a statement takes too long, and when no connection is free', async () => {
    const impatient = { DATABASE_CONNECT_TIMEOUT_MS: '20000', DATABASE_QUERY_TIMEOUT_MS: '300' };
    const sleep = (prisma: PrismaService): Promise<unknown> => prisma.$queryRaw`SELECT pg_sleep(1)::text`;
    expect(isDatabaseUnavailable(await thrown(sleep, impatient))).toBe(true);
    for (const work of [count, countInTransaction]) {
      const busy = async (prisma: PrismaService): Promise<void> => {
        const client = await prisma.pool.connect();
        await work(prisma).finally(() => {
          client.release();
        });
      };
      expect(isDatabaseUnavailable(await thrown(busy, { DATABASE_POOL: '1' }))).toBe(true);
    }
  });

  it('is known when the server hangs up in the middle of a transaction', async () => {
    const error = await thrown((prisma) =>
      prisma.$transaction(async (tx) => {
        await tx.account.count();
        await room.sql(
          'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()',
        );
        await tx.account.count();
      }),
    );
    expect(isDatabaseUnavailable(error)).toBe(true);
  });

  it('is that a statement takes too long, which Postgres then stops', async () => {
    await giveUpStatement(room.databaseUrl);
  });

  it('is the same behind a Unix socket', async () => {
    const server = new URL(room.databaseUrl);
    const folder = await mkdtemp(join(tmpdir(), 'darkroom-socket-'));
    const forwarder = createServer((client) => {
      const onward = connect(Number(server.port), server.hostname);
      client.pipe(onward).pipe(client);
      for (const socket of [client, onward]) socket.on('error', () => socket.destroy());
    }).listen(join(folder, '.s.PGSQL.5432'));
    await once(forwarder, 'listening');
    const { username, password, pathname } = server;
    const address = `postgresql://${username}:${password}@localhost${pathname}?host=${encodeURIComponent(folder)}`;
    await giveUpStatement(address, room.databaseUrl);
    forwarder.close();
    await rm(folder, { recursive: true });
  });

  it('is another thing than a row that is refused', async () => {
    const again = (prisma: PrismaService) => prisma.account.create({ data: { id: TEST_ACCOUNT, name: 'again' } });
    const error = await thrown(again, { DATABASE_CONNECT_TIMEOUT_MS: '20000', DATABASE_QUERY_TIMEOUT_MS: '20000' });
    expect(isUniqueViolation(error)).toBe(true);
    expect(isDatabaseUnavailable(error)).toBe(false);
  });
});
