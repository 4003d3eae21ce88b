import { createHash, randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { PACKAGE_ROOT } from '#config/package.js';
import { driverAddresses } from './database-url.js';
import { primaryClient } from './primary-client.js';
import type { Queryable } from './queryable.js';
import { requireSession, SESSION_OPTIONS, UnsuitableDatabase } from './session.sql.js';

/** The folder of this version's migrations. */
export const MIGRATIONS = join(PACKAGE_ROOT, 'prisma', 'migrations');

/** Why the database can't be migrated; the message says what to do. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError';
}

interface Migration {
  readonly name: string;
  readonly sql: string;
  /** SHA-256 of the file, hex. */
  readonly checksum: string;
}

interface AppliedMigration {
  readonly migration_name: string;
  readonly checksum: string;
  readonly finished_at: Date | null;
}

interface MigrateOptions {
  /** Milliseconds to wait while another process migrates. */
  readonly lockTimeoutMs?: number;
  /** Milliseconds one migration may take. */
  readonly statementTimeoutMs?: number;
  /** How long a migration waits for table locks per attempt, in ms; other users of the tables wait behind it. */
  readonly tableLockMs?: number;
  /** How often a migration that could not get its table locks is retried. */
  readonly tableLockTries?: number;
}

/** The advisory lock of Prisma's own `migrate deploy`, so that the two never run at once. */
const LOCK = 72_707_369;

const CONNECT_MS = 10_000;

/** SQLSTATE of a role without the right. */
const INSUFFICIENT_PRIVILEGE = '42501';

/** SQLSTATE of a lock that was not available in time. */
const LOCK_NOT_AVAILABLE = '55P03';

/** Less than the service's lock timeout of 2 s, so that statements waiting behind a migration don't time out. */
const TABLE_LOCK_MS = 1_000;

const TABLE = `CREATE TABLE IF NOT EXISTS "_prisma_migrations" (
  "id" VARCHAR(36) PRIMARY KEY NOT NULL,
  "checksum" VARCHAR(64) NOT NULL,
  "finished_at" TIMESTAMPTZ,
  "migration_name" VARCHAR(255) NOT NULL,
  "logs" TEXT,
  "rolled_back_at" TIMESTAMPTZ,
  "started_at" TIMESTAMPTZ NOT NULL DEFAULT now(),
  "applied_steps_count" INTEGER NOT NULL DEFAULT 0
)`;

/**
 * Applies the same migrations as `prisma migrate deploy` and records them in the same table, without Prisma's native
 * engine. Any number of processes may call it at once: one migrates, the others wait. Returns the names of the
 * migrations that this call applied. Throws MigrationError.
 */
export async function migrate(databaseUrl: string, folder: string, options: MigrateOptions = {}): Promise<string[]> {
  const migrations = await readMigrations(folder);
  const address = driverAddresses(databaseUrl);
  const Client = primaryClient(address.urls, CONNECT_MS);
  const client = new Client({
    connectionString: address.urls[0],
    // Limits that a role has for its other sessions are too short for a migration.
    options: `${address.options} ${SESSION_OPTIONS} -c statement_timeout=0 -c lock_timeout=0`.trim(),
    enableChannelBinding: address.channelBinding,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: options.statementTimeoutMs ?? 600_000,
  });
  client.on('error', () => undefined);
  try {
    await connect(client);
    await prepareSession(client);
    await takeLock(client, options.lockTimeoutMs ?? 120_000);
    await client.query(TABLE);
    await forgetUnfinishedIndexes(client, migrations);
    const pending = pendingOf(migrations, await readApplied(client));
    for (const migration of pending) await apply(client, migration, options);
    return pending.map(({ name }) => name);
  } catch (error) {
    throw isForbidden(error) ? notAllowed(error) : error;
  } finally {
    // Ending the session also releases the lock.
    await client.end().catch(() => undefined);
  }
}

/**
 * Names of the folder's migrations that are not applied. Throws MigrationError if one of them failed or was edited.
 * Ignores migrations of later versions, because this version keeps running while they are applied.
 */
export async function pendingMigrations(database: Queryable, folder: string): Promise<string[]> {
  const migrations = await readMigrations(folder);
  const names = new Set(migrations.map(({ name }) => name));
  const table = await database.query<{ known: boolean }>(
    `SELECT to_regclass('_prisma_migrations') IS NOT NULL AS known`,
  );
  const applied = table.rows[0]?.known === true ? await readApplied(database) : [];
  const ours = applied.filter(({ migration_name }) => names.has(migration_name));
  return pendingOf(migrations, ours).map(({ name }) => name);
}

/** Throws MigrationError unless all migrations of this version are applied; those of later versions are ignored. */
export async function requireMigrations(database: Queryable): Promise<void> {
  const pending = await pendingMigrations(database, MIGRATIONS);
  if (pending.length > 0) throw new MigrationError(`${pending.length} migrations are not applied; run migrate`);
}

async function readMigrations(folder: string): Promise<Migration[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => {
    throw new MigrationError(`The folder of migrations ${folder} can't be read.`);
  });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  return Promise.all(
    names.sort().map(async (name) => {
      const text = await readFile(join(folder, name, 'migration.sql'), 'utf8').catch(() => {
        throw new MigrationError(`The migration ${name} has no migration.sql that can be read.`);
      });
      // Git on Windows may check files out with CRLF, which is no change.
      const sql = text.replaceAll('\r\n', '\n');
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    }),
  );
}

async function connect(client: pg.Client): Promise<void> {
  try {
    await client.connect();
  } catch (error) {
    throw new MigrationError(`The database of DATABASE_URL can't be reached: ${describe(error)}`, { cause: error });
  }
}

/** Throws MigrationError before anything is created in a database that can't be used. */
async function prepareSession(client: pg.Client): Promise<void> {
  await requireSession(client, { pooled: false, unlimited: true }).catch((error: unknown) => {
    throw error instanceof UnsuitableDatabase ? new MigrationError(`${error.message}.`, { cause: error }) : error;
  });
  // Postgres before 17 does not know this limit, which a role may have.
  await client.query(`SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'transaction_timeout'`);
}

async function takeLock(client: pg.Client, timeoutMs: number): Promise<void> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    const result = await client.query<{ taken: boolean }>('SELECT pg_try_advisory_lock($1) AS taken', [LOCK]);
    if (result.rows[0]?.taken === true) return;
    if (performance.now() >= end)
      throw new MigrationError(
        `Another process has been migrating this database for more than ${Math.round(timeoutMs / 1000)} s. ` +
          'Wait until it finishes or stop it, then start again.',
      );
    await delay(100);
  }
}

async function readApplied(database: Queryable): Promise<AppliedMigration[]> {
  const result = await database.query<AppliedMigration>(
    'SELECT migration_name, checksum, finished_at FROM "_prisma_migrations" WHERE rolled_back_at IS NULL',
  );
  return result.rows;
}

function pendingOf(migrations: readonly Migration[], applied: readonly AppliedMigration[]): Migration[] {
  const failed = applied.find(({ finished_at }) => finished_at === null);
  if (failed !== undefined)
    throw new MigrationError(
      `The migration ${failed.migration_name} failed half-way earlier; its error is in the column logs of ` +
        '_prisma_migrations. Undo what it left, set its rolled_back_at to now(), and start again.',
    );
  const checksums = new Map(applied.map(({ migration_name, checksum }) => [migration_name, checksum]));
  const edited = migrations.find(({ name, checksum }) => (checksums.get(name) ?? checksum) !== checksum);
  if (edited !== undefined)
    throw new MigrationError(
      `The migration ${edited.name} was edited after it had been applied to this database. ` +
        'Restore the file, and put the change into a new migration.',
    );
  return migrations.filter(({ name }) => !checksums.has(name));
}

/** A migration that only creates an index while the table stays writable; captures the index's name. */
const CONCURRENT_INDEX = /^(?:--.*\n)*CREATE (?:UNIQUE )?INDEX CONCURRENTLY "(\w+)" [^;]*;\s*$/;

/** Lets interrupted index builds run again; this is safe because their migrations do nothing else. */
async function forgetUnfinishedIndexes(client: pg.Client, migrations: readonly Migration[]): Promise<void> {
  const names = migrations.filter(({ sql }) => CONCURRENT_INDEX.test(sql)).map(({ name }) => name);
  await client.query(
    `UPDATE "_prisma_migrations" SET rolled_back_at = now()
      WHERE finished_at IS NULL AND rolled_back_at IS NULL AND migration_name = ANY($1)`,
    [names],
  );
}

async function apply(client: pg.Client, migration: Migration, options: MigrateOptions): Promise<void> {
  const { name, sql, checksum } = migration;
  const id = randomUUID();
  await client.query('INSERT INTO "_prisma_migrations" (id, checksum, migration_name) VALUES ($1, $2, $3)', [
    id,
    checksum,
    name,
  ]);
  try {
    const index = CONCURRENT_INDEX.exec(sql)?.[1];
    if (index === undefined) await changeTables(client, sql, options);
    else await createIndex(client, index, sql);
  } catch (error) {
    // A migration that never got its table locks changed nothing, so it counts as rolled back.
    await client.query(
      'UPDATE "_prisma_migrations" SET logs = $2, rolled_back_at = CASE WHEN $3 THEN now() END WHERE id = $1',
      [id, describe(error), isLockTimeout(error)],
    );
    throw new MigrationError(`The migration ${name} failed: ${describe(error)}`, { cause: error });
  }
  await client.query('UPDATE "_prisma_migrations" SET finished_at = now(), applied_steps_count = 1 WHERE id = $1', [
    id,
  ]);
}

/** Stops waiting for table locks after a short time and retries, so that a long read does not block the service too. */
async function changeTables(client: pg.Client, sql: string, options: MigrateOptions): Promise<void> {
  const limit = `SET LOCAL lock_timeout = ${options.tableLockMs ?? TABLE_LOCK_MS};`;
  for (let left = options.tableLockTries ?? 200; ; left--) {
    try {
      // Postgres runs one message as one transaction, unless the file itself says otherwise.
      await client.query(`${limit}\n${sql}`);
      return;
    } catch (error) {
      if (!isLockTimeout(error) || left === 0) throw error;
      await delay(500);
    }
  }
}

function isForbidden(error: unknown): boolean {
  return (error as { code?: string }).code === INSUFFICIENT_PRIVILEGE;
}

function notAllowed(cause: unknown): MigrationError {
  const message = `The database can't be migrated: ${describe(cause)}. Connect as the owner of its tables.`;
  return new MigrationError(message, { cause });
}

function isLockTimeout(error: unknown): boolean {
  return (error as { code?: string }).code === LOCK_NOT_AVAILABLE;
}

/**
 * Waits for older transactions without a lock timeout, because other statements don't wait behind it. Drops the
 * incomplete index of an earlier attempt.
 */
async function createIndex(client: pg.Client, name: string, sql: string): Promise<void> {
  await client.query(`DROP INDEX CONCURRENTLY IF EXISTS "${name}"`);
  await client.query(sql);
}

function describe(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return describe(error.errors[0]);
  return error instanceof Error ? error.message : String(error);
}
