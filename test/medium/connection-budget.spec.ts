import { PrismaService } from '#database/prisma.service.js';
import { Logger } from '#telemetry/logger.js';
import { connectionBudget } from '../../apps/standalone/src/database-checks.js';
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
});
