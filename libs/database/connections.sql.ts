import type { Queryable } from './queryable.js';

/** Connections of a Postgres server, the pools that use them, and the time limits of the current session. */
export interface ServerView {
  /** Maximum connections of this role to this database, without those reserved for administrators. */
  readonly available: number;
  /** Open connections, including those of other programs. */
  readonly open: number;
  /** Connected processes of this service, and the size of their pools. */
  readonly processes: readonly { readonly service: string; readonly pool: number }[];
  /** Time limits of the session by setting name, in ms; '0' means none. */
  readonly limits: Readonly<Record<string, string>>;
}

/** Reads the server's connections and limits. Raw SQL: Prisma has no API for settings and sessions. */
export async function readServer(database: Queryable): Promise<ServerView> {
  const { rows } = await database.query<Omit<ServerView, 'processes'> & { names: string[] }>(
    // A limit of -1 is none.
    `SELECT least(current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
           - COALESCE(current_setting('reserved_connections', true), '0')::int,
         (SELECT NULLIF(rolconnlimit, -1) FROM pg_roles WHERE rolname = session_user),
         (SELECT NULLIF(datconnlimit, -1) FROM pg_database WHERE datname = current_database())) AS available,
       (SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend') AS open,
       ARRAY(SELECT DISTINCT application_name FROM pg_stat_activity
         WHERE application_name LIKE 'darkroom %' AND datname = current_database() ORDER BY 1) AS names,
       (SELECT json_object_agg(name, setting ORDER BY name DESC) FROM pg_settings
         WHERE name IN ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout')) AS limits`,
  );
  const { available = 0, open = 0, names = [], limits = {} } = rows[0] ?? {};
  const processes = names.flatMap((name) => {
    const [, service, pool] = /^darkroom (\w+) (\d+) /.exec(name) ?? [];
    return service === undefined || service === 'command' ? [] : [{ service, pool: Number(pool) }];
  });
  return { available, open, processes, limits };
}

/**
 * Commits a message in the log that nothing reads, in a transaction that may write tasks. Throws when Postgres does not
 * commit, for example while it waits for a synchronous standby, or has no room for its log; and when it takes no writes,
 * for example because its provider made it read-only when its disk was full: the message alone is allowed then. The
 * insert has no rows, so it writes nothing. Raw SQL: Prisma has no API for this, and no table is for it.
 */
export async function tryCommit(database: Queryable): Promise<void> {
  await database.query(
    `WITH attempt AS (INSERT INTO tasks (id) SELECT id FROM tasks WHERE false)
     SELECT pg_logical_emit_message(true, 'darkroom', '')`,
  );
}

/** Settings of the server without which a failure of its machine loses commits, if they are off. Raw SQL, as above. */
export async function readUnsafe(database: Queryable): Promise<string[]> {
  const { rows } = await database.query<{ name: string }>(
    `SELECT name FROM pg_settings WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off' ORDER BY name`,
  );
  return rows.map(({ name }) => name);
}
