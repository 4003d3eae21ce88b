import { createHash } from 'node:crypto';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { migrate, MigrationError, pendingMigrations } from '#database/migrate.js';
import { waitUntil } from '#embedded/wait-until.js';
import { createEmptyDatabase, type TestDatabase } from '../support/postgres.js';

// Real: a Postgres database without tables, a folder of migrations.
let database: TestDatabase;
let folder: string;
let client: pg.Client;

beforeEach(async () => {
  database = await createEmptyDatabase();
  folder = await mkdtemp(join(tmpdir(), 'darkroom-migrate-'));
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
});

afterEach(async () => {
  await client.end();
  await database.drop();
  await rm(folder, { recursive: true });
});

async function write(name: string, sql: string): Promise<void> {
  await mkdir(join(folder, name), { recursive: true });
  await writeFile(join(folder, name, 'migration.sql'), sql);
}

/** Connections that wait for a lock on a table. */
async function waiters(): Promise<number> {
  return (await rows(`SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'a'::regclass`)).length;
}

async function rows(sql: string): Promise<unknown[]> {
  return (await client.query<Record<string, unknown>>(sql)).rows;
}

it('takes a folder that Git checked out with CRLF for the same migrations', async () => {
  const sql = 'CREATE TABLE a (\n  id int\n);\n';
  await write('1_first', sql);
  expect(await migrate(database.url, folder)).toEqual(['1_first']);
  await write('1_first', sql.replaceAll('\n', '\r\n'));
  await write('2_second', "INSERT INTO a VALUES (1);\r\nCOMMENT ON TABLE a IS 'one\r\ntwo';\r\n");
  expect(await pendingMigrations(client, folder)).toEqual(['2_second']);
  expect(await migrate(database.url, folder)).toEqual(['2_second']);
  // What it stores is the same, too.
  expect(await rows(`SELECT obj_description('a'::regclass) AS comment`)).toEqual([{ comment: 'one\ntwo' }]);
  await write('2_second', "INSERT INTO a VALUES (1);\nCOMMENT ON TABLE a IS 'one\ntwo';\n");
  expect(await pendingMigrations(client, folder)).toEqual([]);
});

it('applies what is missing in the order of names, once, and writes it down as Prisma does', async () => {
  await write('2_second', 'ALTER TABLE a ADD COLUMN b int; INSERT INTO a (id, b) VALUES (1, 2);');
  await write('1_first', 'CREATE TABLE a (id int);');
  expect(await pendingMigrations(client, folder)).toEqual(['1_first', '2_second']);
  expect(await migrate(database.url, folder)).toEqual(['1_first', '2_second']);
  expect(await migrate(database.url, folder)).toEqual([]);
  expect(await pendingMigrations(client, folder)).toEqual([]);
  expect(await rows('SELECT * FROM a')).toEqual([{ id: 1, b: 2 }]);
  const checksum = createHash('sha256').update('CREATE TABLE a (id int);').digest('hex');
  expect(
    await rows(`SELECT migration_name, checksum, applied_steps_count, logs, rolled_back_at,
      finished_at >= started_at AS finished, length(id) AS id FROM _prisma_migrations ORDER BY migration_name LIMIT 1`),
  ).toEqual([
    {
      migration_name: '1_first',
      checksum,
      applied_steps_count: 1,
      logs: null,
      rolled_back_at: null,
      finished: true,
      id: 36,
    },
  ]);
});

it('lets several starters at once do the work once', async () => {
  await write('1_first', 'CREATE TABLE a (id int);');
  await write('2_second', 'INSERT INTO a VALUES (1); SELECT pg_sleep(0.1);');
  const applied = await Promise.all(Array.from({ length: 5 }, () => migrate(database.url, folder)));
  expect(applied.flat().sort()).toEqual(['1_first', '2_second']);
  expect(await rows('SELECT id FROM a')).toEqual([{ id: 1 }]);
});

it('takes the database as it was when a migration fails, and refuses until that is settled', async () => {
  await write('1_broken', 'CREATE TABLE a (id int); INSERT INTO nowhere VALUES (1);');
  await expect(migrate(database.url, folder)).rejects.toThrow(/1_broken failed: relation "nowhere" does not exist/);
  expect(await rows(`SELECT to_regclass('a') AS found`)).toEqual([{ found: null }]);
  await write('1_broken', 'CREATE TABLE a (id int);');
  await expect(migrate(database.url, folder)).rejects.toThrow(/1_broken failed half-way earlier.*rolled_back_at/s);
  await expect(pendingMigrations(client, folder)).rejects.toThrow(MigrationError);
  await client.query('UPDATE _prisma_migrations SET rolled_back_at = now()');
  expect(await migrate(database.url, folder)).toEqual(['1_broken']);
});

it('O7: lets others at a table between its tries, behind a reader that takes long', async () => {
  await write('1_first', 'CREATE TABLE a (id int);');
  await migrate(database.url, folder);
  const reader = new pg.Client({ connectionString: database.url });
  await reader.connect();
  await reader.query('BEGIN');
  await reader.query('SELECT * FROM a');
  await write('2_second', 'ALTER TABLE a ADD COLUMN b int;');
  const impatient = { tableLockMs: 50, tableLockTries: 1 };
  await expect(migrate(database.url, folder, impatient)).rejects.toThrow(/2_second failed: .*lock timeout/);
  const migrating = migrate(database.url, folder, { tableLockMs: 100 });
  // Waits for the table, and leaves it to the others again: twice, to be sure.
  for (const waits of [true, false, true, false])
    expect(await waitUntil(async () => (await waiters()) === (waits ? 1 : 0), { timeoutMs: 15_000, everyMs: 5 })).toBe(
      true,
    );
  await reader.query('COMMIT');
  expect(await migrating).toEqual(['2_second']);
  await reader.end();
});

it('O7: creates an index while the table is written to, and again when an earlier try left half of one', async () => {
  await write('1_first', 'CREATE TABLE a (id int); INSERT INTO a VALUES (1), (1);');
  await write('2_index', '-- why\nCREATE UNIQUE INDEX CONCURRENTLY "a_id" ON "a"("id");\n');
  await expect(migrate(database.url, folder)).rejects.toThrow(/2_index failed: could not create unique index/);
  expect(await rows(`SELECT indisvalid FROM pg_index WHERE indexrelid = 'a_id'::regclass`)).toEqual([
    { indisvalid: false },
  ]);
  await client.query('DELETE FROM a');
  expect(await migrate(database.url, folder)).toEqual(['2_index']);
  expect(await rows(`SELECT indisvalid FROM pg_index WHERE indexrelid = 'a_id'::regclass`)).toEqual([
    { indisvalid: true },
  ]);
});

it('lets the version before go on while a later migration is being applied, or has failed', async () => {
  await write('1_first', 'CREATE TABLE a (id int);');
  await migrate(database.url, folder);
  await client.query(
    `INSERT INTO _prisma_migrations (id, checksum, migration_name) VALUES ('1', 'of a later version', '2_later')`,
  );
  expect(await pendingMigrations(client, folder)).toEqual([]);
});

it('refuses a migration that was edited after it had been applied', async () => {
  await write('1_first', 'CREATE TABLE a (id int);');
  await migrate(database.url, folder);
  await write('1_first', 'CREATE TABLE a (id bigint);');
  await write('2_second', 'CREATE TABLE b (id int);');
  await expect(migrate(database.url, folder)).rejects.toThrow(/1_first was edited/);
  expect(await rows(`SELECT to_regclass('b') AS found`)).toEqual([{ found: null }]);
});

it('gives up with a sentence when another process holds the lock', async () => {
  await client.query('SELECT pg_advisory_lock(72707369)');
  await expect(migrate(database.url, folder, { lockTimeoutMs: 300 })).rejects.toThrow(/Another process/);
});

it('says that the database can not be reached, without its password', async () => {
  const failure = await migrate('postgresql://user:hidden@127.0.0.1:1/none', folder).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(MigrationError);
  expect(String(failure)).toMatch(/can't be reached/);
  expect(String(failure)).not.toContain('hidden');
});

it('applies our own migrations to an empty database', async () => {
  await cp('prisma/migrations', folder, { recursive: true });
  const applied = await migrate(database.url, folder);
  expect(applied.length).toBeGreaterThan(0);
  expect(await rows('SELECT id FROM accounts')).toEqual([{ id: 'acct_default' }]);
});

it('says in one sentence that a role may not migrate', async () => {
  const reader = new URL(database.url);
  [reader.username, reader.password] = [`reader_${process.pid}`, 'reads'];
  await client.query(`CREATE ROLE ${reader.username} LOGIN PASSWORD '${reader.password}'`);
  await write('1_first', 'CREATE TABLE a (id int);');
  await expect(migrate(reader.href, folder)).rejects.toMatchObject({
    name: 'MigrationError',
    message: "The database can't be migrated: permission denied for schema public. Connect as the owner of its tables.",
  });
  await client.query(`DROP ROLE ${reader.username}`);
});
