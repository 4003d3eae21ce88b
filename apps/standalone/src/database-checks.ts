import { readServer } from '#database/connections.sql.js';
import type { DatabaseConfig } from '#database/database.config.js';
import { PrismaService } from '#database/prisma.service.js';
import type { Queryable } from '#database/queryable.js';
import { Logger } from '#telemetry/logger.js';
import { Inconclusive } from './inconclusive.js';

/** Of what Postgres allows: the rest is for a rolling restart and for people (docs/operations.md, Connections). */
const SHARE = 0.7;
const REMEDY = 'lower DATABASE_POOL, raise max_connections, or put PgBouncer in between';

/** How many processes there shall be, and how many connections each of them may open. */
export interface PlannedProcesses {
  readonly apis: number;
  readonly workers: number;
  readonly apiPool: number;
  readonly workerPool: number;
}

/** What the processes that run may open in all, and how many more would fit. Throws when it is too much already. */
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
 * Whether Postgres allows as many connections as the planned processes may open. Throws when it doesn't, and Inconclusive
 * where they go to a pooler, which tells its own limits to its administrators only.
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
  const tight = most > available * SHARE ? `; above ${SHARE * 100} %, which leaves little for anybody else` : '';
  return `${text} of ${available} connections${tight}`;
}

/**
 * Asks the pooler of DATABASE_URL for a session as processes get them. What limits it are settings of its role, since
 * processes can't. Throws when it would have no limits.
 */
export async function poolerSession(config: DatabaseConfig): Promise<string> {
  const database = new PrismaService({ ...config, databasePool: 1 }, new Logger('command', 'silent'));
  try {
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
