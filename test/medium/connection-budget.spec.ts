import { PrismaService } from '#database/prisma.service.js';
import { Logger } from '#telemetry/logger.js';
import { connectionBudget, plannedConnections } from '../../apps/standalone/src/commands/database-checks.js';
import { Inconclusive } from '../../apps/standalone/src/commands/inconclusive.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';

describe('connections of all processes', () => {
  let test: TestDatabase;
  const opened: PrismaService[] = [];
  beforeAll(async () => {
    test = await createTestDatabase();
  });
  afterAll(async () => {
    for (const database of opened) await database.close();
    await test.drop();
  });

  async function connect(service: string, databasePool: number): Promise<PrismaService> {
    const config = { databaseUrl: test.url, databasePool, connectTimeoutMs: 60_000, queryTimeoutMs: 60_000 };
    const database = new PrismaService(config, new Logger(service, 'silent'));
    opened.push(database);
    await database.ping();
    return database;
  }

  it('are counted by the pools of those that are there, and refused when they do not fit', async () => {
    const command = await connect('command', 2);
    await connect('worker', 7);
    await connect('api', 20);
    expect(await connectionBudget(command.pool, 10)).toMatch(
      /^APIs: 1, workers: 1; they may open 27 of \d+ connections \(\d+ are open\); room for \d+ more processes with 10 each below 70 %$/,
    );
    // A third role counts too.
    await connect('bench', 5_000);
    await expect(connectionBudget(command.pool, 10)).rejects.toThrow(/they may open 5027 of .*; lower DATABASE_POOL/);
  });

  it('Also: are counted as planned, each role with its own pools, and refused when they do not fit', async () => {
    const { pool } = await connect('command', 2);
    const { rows } = await pool.query<{ available: number }>(
      `SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS available`,
    );
    const available = rows[0]?.available ?? 0;
    const text = (apis: number, sum: number): string =>
      `APIs: ${apis} with 10 each, workers: 2 with 4 each; they may open ${sum}`;
    const planned = (apis: number, pooler = false): Promise<string> =>
      plannedConnections(pool, { apis, workers: 2, apiPool: 10, workerPool: 4 }, pooler);
    expect(await planned(1)).toBe(`${text(1, 18)} of ${available} connections`);
    // As many as fit, which leaves less than one more could open.
    const most = Math.floor((available - 8) / 10);
    expect(await planned(most)).toBe(
      `${text(most, most * 10 + 8)} of ${available} connections; above 70 %, which leaves few connections for other clients`,
    );
    await expect(planned(most + 1)).rejects.toThrow(
      `${text(most + 1, most * 10 + 18)} of ${available} connections; lower DATABASE_POOL`,
    );
    // What a pooler allows is not known here, so it is no failure, however many there are.
    const behind = planned(most + 1, true);
    await expect(behind).rejects.toThrow(Inconclusive);
    await expect(behind).rejects.toThrow(
      `${text(most + 1, most * 10 + 18)} connections to the pooler; compare them with its max_client_conn, and what it ` +
        `opens itself (default_pool_size) with the ${available} connections of Postgres`,
    );
  });
});
