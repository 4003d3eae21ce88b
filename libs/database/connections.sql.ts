import type { Queryable } from './queryable.js';

/** How many connections a server takes, and which of our processes may open how many. */
export interface ConnectionBudget {
  /** Without those that Postgres keeps for its administrators. */
  readonly available: number;
  /** Open just now, of anybody. */
  readonly open: number;
  /** The pools of the processes that are connected, by their name. */
  readonly processes: readonly { readonly service: string; readonly pool: number }[];
}

/** Reads the server's own view. Raw: Prisma knows neither settings nor sessions. */
export async function readConnectionBudget(database: Queryable): Promise<ConnectionBudget> {
  const { rows } = await database.query<{ available: number; open: number; names: string[] }>(
    `SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
         - COALESCE(current_setting('reserved_connections', true), '0')::int AS available,
       (SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend') AS open,
       ARRAY(SELECT DISTINCT application_name FROM pg_stat_activity
         WHERE application_name LIKE 'darkroom %' AND datname = current_database() ORDER BY 1) AS names`,
  );
  const { available = 0, open = 0, names = [] } = rows[0] ?? {};
  const processes = names.flatMap((name) => {
    const [, service, pool] = /^darkroom (\w+) (\d+) /.exec(name) ?? [];
    return service === undefined || service === 'command' ? [] : [{ service, pool: Number(pool) }];
  });
  return { available, open, processes };
}

/** What a session of a pooler has for the settings that we would begin it with. Raw: these are no rows. */
export async function readSessionSettings(database: Queryable): Promise<Readonly<Record<string, string>>> {
  const { rows } = await database.query<{ name: string; setting: string }>(
    `SELECT name, setting FROM pg_settings WHERE name IN ('TimeZone', 'statement_timeout', 'lock_timeout',
       'idle_in_transaction_session_timeout')`,
  );
  return Object.fromEntries(rows.map(({ name, setting }) => [name, setting]));
}

/** Sets the time zone of a client, which a pooler keeps for it. Raw: this is a setting. */
export async function setTimeZone(client: Queryable, zone: 'UTC'): Promise<void> {
  await client.query(`SET TIME ZONE '${zone}'`);
}
