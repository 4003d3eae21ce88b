import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { migrate } from '#database/migrate.js';
import { copyMigrations, generateClient, lastRelease, type LastRelease } from '../support/last-release.js';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/postgres.js';

/** What a version before may rely on in a database, one line each. */
const PROMISES = {
  columns: `SELECT concat_ws(' ', table_name, column_name, udt_name) AS promise FROM information_schema.columns
    WHERE table_schema = 'public'`,
  functions: `SELECT proname || '(' || pg_get_function_identity_arguments(oid) || ')' AS promise FROM pg_proc
    WHERE pronamespace = 'public'::regnamespace`,
  'unique indexes': `SELECT indexdef AS promise FROM pg_indexes WHERE schemaname = 'public' AND indexdef LIKE 'CREATE UNIQUE%'`,
} as const;

/** Columns that a row must name. */
const REQUIRED = `SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'
  AND is_nullable = 'NO' AND column_default IS NULL AND is_identity = 'NO'`;

type Generated = typeof import('#database/generated/client.js');

interface Readable {
  findMany(): Promise<unknown[]>;
}

function isReadable(model: unknown): model is Readable {
  return typeof model === 'object' && model !== null && 'findMany' in model;
}

// Real: two databases, one as the last release left it, one with all migrations; Prisma's client of the last release. Its
// SQL of its own is held against columns, functions and unique indexes; e2e/previous-version runs its API and worker.
describe('the version before on the tables of this one', () => {
  let folder: string;
  let release: LastRelease;
  let before: TestDatabase;
  let now: TestDatabase;
  const pools: pg.Pool[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-previous-'));
    release = await lastRelease();
    await copyMigrations(release, join(folder, 'migrations'));
    [before, now] = [await createEmptyDatabase(), await createTestDatabase()];
    await migrate(before.url, join(folder, 'migrations'));
  });
  afterAll(async () => {
    for (const pool of pools) await pool.end();
    await before.drop();
    await now.drop();
    await rm(folder, { recursive: true });
  });

  function open(database: TestDatabase): pg.Pool {
    const pool = new pg.Pool({ connectionString: database.url, max: 2, options: '-c TimeZone=UTC' });
    pool.on('error', () => undefined);
    pools.push(pool);
    return pool;
  }

  /** What Prisma makes of the tables of the last release. */
  async function previousClient(): Promise<Generated> {
    const output = join(folder, 'client');
    const file = join(folder, 'schema.prisma');
    await writeFile(file, release.schema.replace(/output\s*=.*/, `output = ${JSON.stringify(output)}`));
    await symlink(resolve('node_modules'), join(folder, 'node_modules'));
    await generateClient(file);
    return (await import(join(output, 'client.ts'))) as Generated;
  }

  it('O12: its columns, functions and unique indexes are all there, and no row must name more', async () => {
    const [old, current] = [open(before), open(now)];
    for (const [what, sql] of Object.entries(PROMISES)) {
      const [promised, kept] = [
        await old.query<{ promise: string }>(sql),
        await current.query<{ promise: string }>(sql),
      ];
      const all = new Set(kept.rows.map(({ promise }) => promise));
      expect([what, promised.rows.filter(({ promise }) => !all.has(promise))]).toEqual([what, []]);
      expect(promised.rows.length).toBeGreaterThan(0);
    }
    type Column = Readonly<Record<'table_name' | 'column_name', string>>;
    const required = async (pool: pg.Pool): Promise<string[]> =>
      (await pool.query<Column>(REQUIRED)).rows.map((row) => `${row.table_name}.${row.column_name}`);
    const tables = await old.query<Column>(
      `SELECT DISTINCT table_name FROM information_schema.columns WHERE table_schema = 'public'`,
    );
    const known = new Set(tables.rows.map(({ table_name }) => table_name));
    const asked = new Set(await required(old));
    const more = (await required(current)).filter(
      (column) => known.has(column.split('.')[0] ?? '') && !asked.has(column),
    );
    expect(more).toEqual([]);
  });

  it('O12: its database client reads every table, and writes accounts, keys, tasks and uploads', async () => {
    const { Prisma, PrismaClient } = await previousClient();
    const prisma = new PrismaClient({ adapter: new PrismaPg(open(now)), errorFormat: 'minimal' });
    const names = Object.keys(Prisma.ModelName);
    const models = names.map((name): unknown => Reflect.get(prisma, name.charAt(0).toLowerCase() + name.slice(1)));
    expect(models.filter((model) => !isReadable(model))).toEqual([]);
    for (const model of models.filter(isReadable)) await model.findMany();

    const [accountId, apiKeyId] = ['acct_previous', 'key_previous'];
    await prisma.account.create({ data: { id: accountId, name: 'previous' } });
    await prisma.apiKey.create({
      data: { id: apiKeyId, accountId, name: 'previous', hash: Buffer.alloc(32, 1), prefix: 'dr_previous' },
    });
    const soon = new Date(Date.now() + 60_000);
    const order = { action: 'generation', model: 'gpt-image-2', prompt: 'a lighthouse', options: {} };
    const task = { id: 'task_previous', accountId, apiKeyId, requestId: 'req_previous', deadlineAt: soon, ...order };
    await prisma.task.create({ data: task });
    await prisma.task.update({ where: { id: task.id }, data: { status: 'completed', finishedAt: new Date() } });
    const upload = { id: 'upload_previous', accountId, apiKeyId, contentType: 'image/png', bytes: 1, expiresAt: soon };
    await prisma.upload.create({ data: upload });
    expect(await prisma.task.findMany()).toMatchObject([{ id: task.id, status: 'completed', prompt: task.prompt }]);
    expect(await prisma.upload.findMany()).toMatchObject([{ id: upload.id, expiresAt: soon }]);
    await prisma.upload.delete({ where: { id: upload.id } });
    await prisma.task.delete({ where: { id: task.id } });
    await prisma.$disconnect();
  });
});
