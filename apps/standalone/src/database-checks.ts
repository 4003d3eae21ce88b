import { readServer } from '#database/connections.sql.js';
import type { DatabaseConfig } from '#database/database.config.js';
import { PrismaService } from '#database/prisma.service.js';
import type { Queryable } from '#database/queryable.js';
import { Logger } from '#telemetry/logger.js';

/** Of what Postgres allows: the rest is for a rolling restart and for people (docs/operations.md, Connections). */
const SHARE = 0.7;

/** What the processes that run may open in all, and how many more would fit. Throws when it is too much already. */
export async function connectionBudget(database: Queryable, pool: number): Promise<string> {
  const { available, open, processes } = await readServer(database);
  const most = processes.reduce((sum, one) => sum + one.pool, 0);
  const count = (service: string): number => processes.filter((one) => one.service === service).length;
  const text =
    `APIs: ${count('api')}, workers: ${count('worker')}; they may open ${most} of ${available} connections ` +
    `(${open} are open)`;
  if (most > available)
    throw new Error(`${text}; lower DATABASE_POOL, raise max_connections, or put PgBouncer in between`);
  const more = Math.max(0, Math.floor((available * SHARE - most) / pool));
  return `${text}; room for ${more} more processes with ${pool} each below ${SHARE * 100} %`;
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
