import { hostname } from 'node:os';
import pg from 'pg';
import type { Logger } from '#telemetry/logger.js';
import { setTimeZone } from './connections.sql.js';
import type { DatabaseConfig } from './database.config.js';
import { driverAddresses } from './database-url.js';
import { primaryClient } from './primary-client.js';

/** How long Postgres lets a transaction stay idle between statements, in ms. */
export const IDLE_IN_TRANSACTION_MS = 10_000;
/** Prisma's adapter reads and writes times without a time zone, and assumes that the server uses this one. */
const TIME_ZONE = 'UTC';

/** Creates the pool of this process. The server may close idle connections at any time, which is only logged. */
export function createPool(config: DatabaseConfig, logger: Logger): pg.Pool {
  const { urls, options } = driverAddresses(config.databaseUrl);
  const pool = new pg.Pool({
    connectionString: urls[0],
    Client: primaryClient(urls, config.connectTimeoutMs),
    application_name: processName(logger.service, config.databasePool),
    max: config.databasePool,
    connectionTimeoutMillis: config.connectTimeoutMs,
    query_timeout: config.queryTimeoutMs,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    types: { getTypeParser },
    ...(config.databasePooler === 'transaction' ? POOLED : sessionSettings(config, options)),
  });
  // An idle connection fails with an event; without a listener, the event would end the process.
  pool.on('error', (error) => logger.warn('database.connection_lost', { error }));
  return pool;
}

/** The process's name in pg_stat_activity, by which `doctor` counts; Postgres truncates it to 63 bytes. */
function processName(service: string, pool: number): string {
  return `darkroom ${service} ${pool} ${process.pid}@${hostname()}`;
}

/** How long a query may wait for a lock: this share of its time limit, but not less than this many ms. */
const LOCK_SHARE = 0.4;
const LEAST_LOCK_MS = 2_000;

/** Without a pooler, a session lasts as long as its connection, so the limits are set when it starts. */
function sessionSettings({ queryTimeoutMs }: DatabaseConfig, options: string): pg.PoolConfig {
  return {
    statement_timeout: queryTimeoutMs,
    lock_timeout: Math.max(LEAST_LOCK_MS, Math.round(LOCK_SHARE * queryTimeoutMs)),
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    options: `${options} -c TimeZone=${TIME_ZONE}`.trim(),
  };
}

/**
 * Behind a pooler, each transaction may run in another session. Poolers reject startup parameters that they don't know,
 * but keep a client's time zone. Statements prepared in one session do not exist in the next, so none are named.
 */
const POOLED: pg.PoolConfig = {
  verify: (client, done) => {
    sendUnnamed(client);
    void setTimeZone(client, TIME_ZONE).then(
      () => done(),
      (error: unknown) => done(error instanceof Error ? error : new Error('the time zone could not be set')),
    );
  },
};

/** Removes the names of all statements sent on a connection, so that none stays prepared. */
function sendUnnamed(client: pg.PoolClient): void {
  const send: unknown = Reflect.get(client, 'query');
  if (typeof send !== 'function') return;
  Reflect.set(client, 'query', (first: unknown, ...rest: unknown[]): unknown => {
    const unnamed =
      typeof first === 'object' && first !== null && 'text' in first ? { ...first, name: undefined } : first;
    const answer: unknown = Reflect.apply(send, client, [unnamed, ...rest]);
    return answer;
  });
}

const TIMESTAMPTZ = 1184;

/** Date parses the timestamps that Postgres writes; the driver's own parser takes more than twice as long. */
function getTypeParser(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
  if (oid === TIMESTAMPTZ && format !== 'binary') return (text: string) => new Date(text);
  return pg.types.getTypeParser(oid, format ?? 'text') as (value: string) => unknown;
}
