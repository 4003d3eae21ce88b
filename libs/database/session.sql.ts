import type { Queryable } from './queryable.js';

/**
 * Settings that our statements and Prisma's adapter rely on. A role, a database, a server or a URL may set others, with
 * which times come back as null, waits for locks become errors, or a commit returns before it is durable.
 */
const FORCED = {
  TimeZone: 'UTC',
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  client_encoding: 'UTF8',
  standard_conforming_strings: 'on',
  bytea_output: 'hex',
  extra_float_digits: '1',
  array_nulls: 'on',
  transform_null_equals: 'off',
  row_security: 'on',
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  synchronous_commit: 'on',
  idle_session_timeout: '0',
  exit_on_error: 'off',
} as const;
type Forced = keyof typeof FORCED;

/** Waits for more than `on` does, so it may stay behind a pooler. */
const STRONGER_COMMIT = 'remote_apply';
/** Those that a pooler in transaction mode keeps for each client (PgBouncer 1.18 and later). */
const KEPT_BY_POOLERS: readonly Forced[] = ['TimeZone', 'DateStyle', 'client_encoding', 'standard_conforming_strings'];
const OLDEST_VERSION = 15;

/** Startup options for a session of its own; the last of two for the same setting decides. */
export const SESSION_OPTIONS = Object.entries(FORCED)
  .map(([name, value]) => `-c ${name}=${value.replaceAll(' ', String.raw`\ `)}`)
  .join(' ');

/** What a database sets that would silently change what we store or return; the message says what to do. */
export class UnsuitableDatabase extends Error {
  override readonly name = 'UnsuitableDatabase';
  /** Postgres' code for "not now", so that callers are told to try again. */
  readonly code = '57P03';
}

/** Sets what a pooler keeps for its client, in one message. Raw SQL: Prisma has no API for settings. */
export async function setPooledSession(client: Queryable): Promise<void> {
  await client.query(KEPT_BY_POOLERS.map((name) => `SET ${name} = '${FORCED[name]}'`).join('; '));
}

/** Where a session comes from. */
interface SessionKind {
  /** From a pooler, which has the settings of the role instead of ours. */
  readonly pooled: boolean;
  /** Without our time limits, as for a migration. */
  readonly unlimited?: boolean;
}

type Settings = Readonly<Record<Forced, string | null>> & {
  readonly version: number;
  readonly encoding: string;
  readonly schema: string | null;
  readonly search_path: string;
  readonly replication_role: string;
  readonly statement_timeout: string;
};

const SETTINGS = Object.keys(FORCED).map((name) => `current_setting('${name}', true) AS "${name}"`);

/**
 * Throws UnsuitableDatabase when the session's settings are not those that our statements rely on, and connection
 * errors. Raw SQL: Prisma has no API for settings.
 */
export async function requireSession(database: Queryable, kind: SessionKind): Promise<void> {
  const { rows } = await database.query<Settings>(
    `SELECT current_setting('server_version_num')::int / 10000 AS version, current_setting('server_encoding') AS encoding,
       current_schema() AS schema, current_setting('search_path') AS search_path,
       current_setting('session_replication_role') AS replication_role,
       current_setting('statement_timeout') AS statement_timeout, ${SETTINGS.join(', ')}`,
  );
  const problems = rows[0] === undefined ? [] : problemsOf(rows[0], kind);
  if (problems.length > 0) throw new UnsuitableDatabase(`Postgres can't be used as it is set: ${problems.join('; ')}`);
}

function problemsOf(settings: Settings, { pooled, unlimited = false }: SessionKind): string[] {
  const { version, encoding, schema, search_path: path, replication_role: role } = settings;
  const others = (Object.keys(FORCED) as Forced[]).filter((name) => !isForced(name, settings[name]));
  return [
    ...(version < OLDEST_VERSION ? [`its version is ${version}; ${OLDEST_VERSION} or later is needed`] : []),
    ...(encoding === 'UTF8' ? [] : [`the encoding of the database is ${encoding}; create it with ENCODING 'UTF8'`]),
    ...(schema === 'public' ? [] : [schemaProblem(schema, path)]),
    ...(role === 'origin' ? [] : [`session_replication_role is ${role}, which ignores foreign keys; set it to origin`]),
    ...others.map((name) => `${name} is ${settings[name] ?? 'unknown'}; ${remedy(name)}`),
    ...(pooled || unlimited || settings.statement_timeout !== '0' ? [] : [NO_LIMIT]),
  ];
}

const NO_LIMIT =
  'there is no statement_timeout, so a pooler drops our startup parameters: set DATABASE_POOLER=transaction, or the ' +
  'limits on the role (docs/operations.md, PgBouncer)';

function isForced(name: Forced, value: string | null): boolean {
  return value === null || value === FORCED[name] || (name === 'synchronous_commit' && value === STRONGER_COMMIT);
}

function schemaProblem(schema: string | null, path: string): string {
  return schema === null
    ? `search_path is ${path}, without a schema that the role may use; set it to public, and grant USAGE on that`
    : `search_path is ${path}, so tables would be in the schema ${schema}; set it to public, and give each ` +
        'installation a database of its own';
}

/** We set it ourselves, unless a pooler is between us and Postgres. */
function remedy(name: Forced): string {
  return `behind a pooler, the role must have it: ALTER ROLE ... SET ${name} = '${FORCED[name]}'`;
}
