import type { Queryable } from './queryable.js';

/** Connections of a Postgres server, the pools that use them, and the time limits of the current session. */
export interface ServerView {
  /** Maximum connections, without those reserved for administrators. */
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
    `SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
         - COALESCE(current_setting('reserved_connections', true), '0')::int AS available,
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
 * Commits a message in the log that nothing reads. Throws when Postgres does not commit, for example while it waits for
 * a synchronous standby, or has no room for its log. Raw SQL: Prisma has no API for this, and no table is for it.
 */
export async function tryCommit(database: Queryable): Promise<void> {
  await database.query(`SELECT pg_logical_emit_message(true, 'darkroom', '')`);
}

/** Sets the time zone of a client, which a pooler keeps for it. Raw SQL: Prisma has no API for settings. */
export async function setTimeZone(client: Queryable, zone: 'UTC'): Promise<void> {
  await client.query(`SET TIME ZONE '${zone}'`);
}
