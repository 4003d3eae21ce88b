import { readServer, readUnsafe, tryCommit } from '#database/connections.sql.js';
import type { DatabaseConfig } from '#database/database.config.js';
import { PrismaService } from '#database/prisma.service.js';
import type { Queryable } from '#database/queryable.js';
import { Logger } from '#telemetry/logger.js';
import { reasonOf } from '../platform/running.js';
import { Inconclusive } from './inconclusive.js';

/**
 * Share of Postgres' connections to plan for; the rest is for rolling restarts and manual access (docs/operations.md,
 * Connections).
 */
const SHARE = 0.7;
const REMEDY = 'lower DATABASE_POOL, raise max_connections, or use PgBouncer';

/** SQLSTATE of a server or a role that takes no writes. */
const READ_ONLY = '25006';
const READ_ONLY_REMEDY =
  'the server is a standby, or its provider or role has made it read-only (default_transaction_read_only), ' +
  'as when its disk is full';

/** The planned number of processes, and the connections that each may open. */
export interface PlannedProcesses {
  readonly apis: number;
  readonly workers: number;
  readonly apiPool: number;
  readonly workerPool: number;
}

/**
 * What each of several servers is, to follow the version; empty if there is only one. Throws when one can't be reached, or when not exactly
 * one accepts writes.
 */
export async function postgresHosts(database: PrismaService): Promise<string> {
  const servers = await database.servers();
  if (servers.length === 0) return '';
  const text = servers
    .map(({ host, acceptsWrites, problem }) => {
      if (problem !== undefined) return `${host}: ${reasonOf(problem)}`;
      return `${host}: ${acceptsWrites ? 'accepts writes' : 'standby'}`;
    })
    .join('; ');
  const primaries = servers.filter(({ acceptsWrites }) => acceptsWrites).length;
  if (primaries > 1)
    throw new Error(`${text}; processes may use either: stop all but one (docs/operations.md, Postgres)`);
  if (primaries === 0 || servers.some(({ problem }) => problem !== undefined)) throw new Error(text);
  return `; ${text}`;
}

/**
 * Compares the connections that the running processes may open with what Postgres allows, and says how many more
 * processes fit. Throws when they exceed it.
 */
export async function connectionBudget(database: Queryable, pool: number): Promise<string> {
  const { available, open, processes } = await readServer(database);
  const most = processes.reduce((sum, one) => sum + one.pool, 0);
  const count = (service: string): number => processes.filter((one) => one.service === service).length;
  const text =
    `APIs: ${count('api')}, workers: ${count('worker')}; they may open ${most} of ${available} connections ` +
    `(${open} are open)`;
  if (most > available) throw new Error(`${text}; ${REMEDY}`);
  const more = Math.max(0, Math.floor((available * SHARE - most) / pool));
  return `${text}; room for ${more} more processes with ${pool} each below ${SHARE * 100} %`;
}

/**
 * Whether Postgres allows the connections that the planned processes may open. Throws when it does not, and
 * Inconclusive when they connect to a pooler, which shows its own limits only to its administrators.
 */
export async function plannedConnections(
  database: Queryable,
  { apis, workers, apiPool, workerPool }: PlannedProcesses,
  pooler: boolean,
): Promise<string> {
  const { available } = await readServer(database);
  const most = apis * apiPool + workers * workerPool;
  const text = `APIs: ${apis} with ${apiPool} each, workers: ${workers} with ${workerPool} each; they may open ${most}`;
  if (pooler)
    throw new Inconclusive(
      `${text} connections to the pooler; compare them with its max_client_conn, and what it opens itself ` +
        `(default_pool_size) with the ${available} connections of Postgres`,
    );
  if (most > available) throw new Error(`${text} of ${available} connections; ${REMEDY}`);
  const tight =
    most > available * SHARE ? `; above ${SHARE * 100} %, which leaves few connections for other clients` : '';
  return `${text} of ${available} connections${tight}`;
}

/**
 * Opens a session at the pooler of DATABASE_URL, as the processes do. Behind a pooler, timeouts must be set on the
 * role, because processes can't set them. Throws when they are missing, or when the sessions have other settings than ours.
 */
export async function poolerSession(config: DatabaseConfig): Promise<string> {
  const database = new PrismaService({ ...config, databasePool: 1 }, new Logger('command', 'silent'));
  try {
    await database.ping();
    const { limits } = await readServer(database.pool);
    const missing = Object.keys(limits).filter((name) => limits[name] === '0');
    if (missing.length > 0)
      throw new Error(
        `sessions have no ${missing.join(', ')}; set them with ALTER ROLE (docs/operations.md, PgBouncer)`,
      );
    return `transaction mode, statement_timeout ${limits['statement_timeout'] ?? '?'} ms`;
  } finally {
    await database.close();
  }
}

/** Whether Postgres takes writes and commits them. Throws when not. */
export async function databaseWrites(database: Queryable): Promise<string> {
  await tryCommit(database).catch((error: unknown) => {
    const isReadOnly = (error as { code?: unknown }).code === READ_ONLY;
    throw new Error(`${reasonOf(error)}${isReadOnly ? `; ${READ_ONLY_REMEDY}` : ''}`);
  });
  return 'are committed';
}

/** What a crash of the server's machine may cost. Throws Inconclusive when that is accepted work. */
export async function databaseDurability(database: Queryable): Promise<string> {
  const off = await readUnsafe(database);
  if (off.length > 0)
    throw new Inconclusive(`${off.join(' and ')} off: if the machine of Postgres fails, it may lose every task`);
  return 'what is committed survives a failure of the machine';
}
