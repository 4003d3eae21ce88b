import { hostname } from 'node:os';
import pg from 'pg';
import type { Logger } from '#telemetry/logger.js';
import { setTimeZone } from './connections.sql.js';
import type { DatabaseConfig } from './database.config.js';
import { driverAddress } from './database-url.js';

/** How long Postgres lets a transaction wait for its next statement, in ms. */
export const IDLE_IN_TRANSACTION_MS = 10_000;
/** Prisma's adapter writes and reads times without their zone, as if every server were set to this one. */
const TIME_ZONE = 'UTC';

/** The one pool of a process. What it connects to closes connections of its own accord, which is only logged. */
export function createPool(config: DatabaseConfig, logger: Logger): pg.Pool {
  const { connectionString, options } = driverAddress(config.databaseUrl);
  const pool = new pg.Pool({
    connectionString,
    application_name: processName(logger.service, config.databasePool),
    max: config.databasePool,
    connectionTimeoutMillis: config.connectTimeoutMs,
    query_timeout: config.queryTimeoutMs,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    types: { getTypeParser },
    ...(config.databasePooler === 'transaction' ? POOLED : sessionSettings(config, options)),
  });
  // An idle connection's failure is an event; without a listener it would end the process.
  pool.on('error', (error) => logger.warn('database.connection_lost', { error }));
  return pool;
}

/** What pg_stat_activity calls a process, and `doctor` counts by; Postgres cuts it off after 63 bytes. */
function processName(service: string, pool: number): string {
  return `darkroom ${service} ${pool} ${process.pid}@${hostname()}`;
}

/** A session is ours for as long as its connection, so it begins with its limits. */
function sessionSettings({ queryTimeoutMs }: DatabaseConfig, options: string): pg.PoolConfig {
  return {
    statement_timeout: queryTimeoutMs,
    lock_timeout: 2_000,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    options: `${options} -c TimeZone=${TIME_ZONE}`.trim(),
  };
}

/**
 * Behind a pooler each transaction may be in another session. A pooler refuses parameters that it does not know, but
 * keeps the time zone of its clients; statements that were prepared in one session do not exist in the next.
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

/** Lets a connection forget the names of all statements that it is given. */
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

/** Postgres writes a time the way Date reads it; the driver's own reader takes more than twice as long. */
function getTypeParser(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
  if (oid === TIMESTAMPTZ && format !== 'binary') return (text: string) => new Date(text);
  return pg.types.getTypeParser(oid, format ?? 'text') as (value: string) => unknown;
}
