import pg from 'pg';
import { isDatabaseUnavailable } from '#database/database-errors.js';
import { migrate } from '#database/migrate.js';
import { tryCommit } from '#database/connections.sql.js';
import type { PrismaService } from '#database/prisma.service.js';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { openPrisma } from '../support/open-prisma.js';
import { doctor } from '../../apps/standalone/src/commands/doctor.js';

const MIGRATIONS = 'prisma/migrations';

// Real: Postgres, roles and databases with settings that somebody else made.
describe('a database whose role, database or URL sets something', () => {
  const role = `unusual_${process.pid}`;
  let database: TestDatabase;
  let admin: pg.Client;
  let url: string;

  beforeAll(async () => {
    database = await createTestDatabase();
    admin = new pg.Client({ connectionString: database.url, query_timeout: 60_000 });
    await admin.connect();
    await admin.query(`CREATE ROLE ${role} LOGIN SUPERUSER PASSWORD 'unusual'`);
    url = as(database.url);
  });
  afterAll(async () => {
    await admin.query(`DROP OWNED BY ${role} CASCADE`);
    await admin.query(`DROP ROLE ${role}`);
    await admin.end();
    await database.drop();
  });
  afterEach(async () => {
    await admin.query(`ALTER ROLE ${role} RESET ALL`);
    await admin.query(`ALTER DATABASE "${database.name}" RESET ALL`);
  });

  function as(address: string): string {
    const own = new URL(address);
    [own.username, own.password] = [role, 'unusual'];
    return own.href;
  }
  async function using<T>(address: string, work: (prisma: PrismaService) => Promise<T>): Promise<T> {
    const prisma = openPrisma(address);
    return await work(prisma).finally(() => prisma.close());
  }
  const refusal = (address: string): Promise<string> =>
    using(address, (prisma) =>
      prisma.ping().then(
        () => '',
        ({ message }: Error) => message,
      ),
    );
  async function told(check: string, env: Record<string, string>): Promise<string> {
    const lines: string[] = [];
    await doctor({ REDIS_URL: 'redis://127.0.0.1:1', SECRET_KEY: 's'.padEnd(40, 'x'), ...env }, (line) =>
      lines.push(line),
    );
    return lines.find((line) => line.slice(6).startsWith(check.padEnd(18))) ?? '';
  }

  it.each([
    ['DateStyle', 'German, DMY'],
    ['DateStyle', 'SQL, DMY'],
    ['TimeZone', 'Asia/Tokyo'],
    ['IntervalStyle', 'sql_standard'],
    ['bytea_output', 'escape'],
    ['extra_float_digits', '-5'],
    ['standard_conforming_strings', 'off'],
    ['array_nulls', 'off'],
    ['transform_null_equals', 'on'],
    ['row_security', 'off'],
    ['default_transaction_isolation', 'serializable'],
    ['default_transaction_deferrable', 'on'],
    ['synchronous_commit', 'off'],
    ['idle_session_timeout', '100'],
    ['client_encoding', 'LATIN1'],
    ['statement_timeout', '1'],
    ['lock_timeout', '1'],
    ['idle_in_transaction_session_timeout', '1'],
  ])('has %s of the role and the database (%s) replaced by ours', async (name, value) => {
    const expected = await using(database.url, (prisma) => settingOf(prisma, name));
    await admin.query(`ALTER ROLE ${role} SET ${name} = '${value}'`);
    await admin.query(`ALTER DATABASE "${database.name}" SET ${name} = '${value}'`);
    const options = `${url}?options=${encodeURIComponent(`-c ${name}=${value.replaceAll(' ', '\\ ')}`)}`;
    for (const address of [url, options]) {
      const found = await using(address, async (prisma) => {
        await prisma.ping();
        return await settingOf(prisma, name);
      });
      expect(found).toBe(expected);
    }
    expect(await migrate(url, MIGRATIONS)).toEqual([]);
  });

  it('reads and writes times as they are, and commits durably, whatever the role has', async () => {
    for (const setting of [`DateStyle = 'German, DMY'`, `TimeZone = 'Asia/Tokyo'`, `synchronous_commit = 'off'`])
      await admin.query(`ALTER ROLE ${role} SET ${setting}`);
    const createdAt = new Date('2026-03-04T05:06:07.891Z');
    await using(url, async (prisma) => {
      await prisma.account.create({ data: { id: 'acct_style', name: 'Style', createdAt } });
      const { rows } = await prisma.pool.query(`SELECT created_at FROM accounts WHERE id = 'acct_style'`);
      expect(rows).toEqual([{ created_at: createdAt }]);
      expect(await prisma.account.findUnique({ where: { id: 'acct_style' } })).toMatchObject({ createdAt });
    });
  });

  it('is refused with a schema of its own, in which the tables would be, before anything is created', async () => {
    const empty = await createEmptyDatabase();
    try {
      await using(empty.url, async ({ pool }) => {
        await pool.query(`CREATE SCHEMA second`);
        await pool.query(`ALTER DATABASE "${empty.name}" SET search_path = second, public`);
      });
      expect(await refusal(empty.url)).toMatch(
        /search_path is second, public, so tables would be in the schema second/,
      );
      await expect(migrate(empty.url, MIGRATIONS)).rejects.toThrow(/schema second; .* a database of its own/);
      const options = `${database.url}?options=${encodeURIComponent('-c search_path=nowhere')}`;
      expect(await refusal(options)).toMatch(/without a schema that the role may use/);
      expect(await told('postgres', { DATABASE_URL: empty.url })).toMatch(/^fail .* schema second/);
      const plain = new pg.Client({ connectionString: empty.url });
      await plain.connect();
      const { rows } = await plain.query(
        `SELECT count(*)::int AS tables FROM pg_tables WHERE schemaname IN ('public', 'second')`,
      );
      await plain.end();
      expect(rows).toEqual([{ tables: 0 }]);
    } finally {
      await empty.drop();
    }
  });

  it('is refused when the role ignores foreign keys', async () => {
    await admin.query(`ALTER ROLE ${role} SET session_replication_role = replica`);
    expect(await refusal(url)).toMatch(/session_replication_role is replica/);
    await using(url, async (prisma) => {
      const error = await prisma.account.count().catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(Error);
    });
  });

  it('is refused with an encoding that lacks most characters', async () => {
    const name = `${database.name}_latin`;
    await admin.query(`CREATE DATABASE "${name}" TEMPLATE template0 ENCODING 'LATIN1' LOCALE_PROVIDER libc LOCALE 'C'`);
    const latin = new URL(url);
    latin.pathname = `/${name}`;
    try {
      await expect(migrate(latin.href, MIGRATIONS)).rejects.toThrow(
        /encoding of the database is LATIN1; create it with/,
      );
      const error = await using(latin.href, (prisma) => prisma.now().catch((reason: unknown) => reason));
      expect(String(error)).toMatch(/LATIN1/);
      expect(isDatabaseUnavailable(error)).toBe(true);
      expect(await told('postgres', { DATABASE_URL: latin.href })).toMatch(/^fail .*LATIN1/);
    } finally {
      await admin.query(`DROP DATABASE "${name}" WITH (FORCE)`);
    }
  });

  it('is refused when something between us drops our settings', async () => {
    await admin.query(`ALTER ROLE ${role} SET bytea_output = 'escape'`);
    const pooled = openPrisma(url, { databasePooler: 'transaction' });
    await expect(pooled.ping()).rejects.toThrow(
      /bytea_output is escape; behind a pooler, the role must have it: ALTER ROLE ... SET bytea_output = 'hex'/,
    );
    await pooled.close();
  });

  it('says that it takes no writes, by its probes and doctor, when its provider made it read-only', async () => {
    await using(url, async (prisma) => {
      await tryCommit(prisma.pool);
    });
    expect(await told('postgres writes', { DATABASE_URL: url })).toMatch(/^ok /);
    await admin.query(`ALTER DATABASE "${database.name}" SET default_transaction_read_only = on`);
    await using(url, async (prisma) => {
      await prisma.ping();
      const error = await tryCommit(prisma.pool).catch((reason: unknown) => reason);
      expect(String(error)).toMatch(/read-only transaction/);
      expect(isDatabaseUnavailable(error)).toBe(true);
    });
    expect(await told('postgres writes', { DATABASE_URL: url })).toMatch(/^fail .*default_transaction_read_only/);
  });

  it('says so, too, when the role may only read', async () => {
    await admin.query(`ALTER ROLE ${role} NOSUPERUSER`);
    try {
      await admin.query(`GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${role}`);
      await using(url, async ({ pool }) => {
        await expect(tryCommit(pool)).rejects.toThrow(/permission denied for table tasks/);
      });
      expect(await told('postgres writes', { DATABASE_URL: url })).toMatch(/^fail .*permission denied/);
    } finally {
      await admin.query(`ALTER ROLE ${role} SUPERUSER`);
    }
  });

  it('writes nothing to find that out', async () => {
    const written = async (): Promise<unknown> =>
      (await admin.query(`SELECT n_tup_ins, n_tup_upd FROM pg_stat_user_tables WHERE relname = 'tasks'`)).rows;
    const before = await written();
    await using(url, ({ pool }) => tryCommit(pool));
    await admin.query('SELECT pg_stat_force_next_flush()');
    expect(await written()).toEqual(before);
  });

  it('has its own limit of connections counted by doctor', async () => {
    await admin.query(`ALTER ROLE ${role} CONNECTION LIMIT 7`);
    expect(await told('postgres pools', { DATABASE_URL: url })).toMatch(/ of 7 connections/);
    await admin.query(`ALTER ROLE ${role} CONNECTION LIMIT -1`);
  });
});

async function settingOf({ pool }: PrismaService, name: string): Promise<unknown> {
  const { rows } = await pool.query<Record<string, unknown>>(`SELECT current_setting('${name}') AS value`);
  return rows[0]?.['value'];
}
