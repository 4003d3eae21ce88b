import { hostname } from 'node:os';
import pg from 'pg';
import type { Logger } from '#telemetry/logger.js';
import type { DatabaseConfig } from './database.config.js';
import { driverAddresses } from './database-url.js';
import { primaryClient } from './primary-client.js';
import { requireSession, SESSION_OPTIONS, setPooledSession } from './session.sql.js';

/** How long Postgres lets a transaction stay idle between statements, in ms. */
export const IDLE_IN_TRANSACTION_MS = 10_000;

/** Creates the pool of this process. The server may close idle connections at any time, which is only logged. */
export function createPool(config: DatabaseConfig, logger: Logger): pg.Pool {
  const { urls, options, channelBinding } = driverAddresses(config.databaseUrl);
  const pooled = config.databasePooler === 'transaction';
  const pool = new pg.Pool({
    connectionString: urls[0],
    Client: primaryClient(urls, config.connectTimeoutMs),
    application_name: processName(logger.service, config.databasePool),
    max: config.databasePool,
    connectionTimeoutMillis: config.connectTimeoutMs,
    query_timeout: config.queryTimeoutMs,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    enableChannelBinding: channelBinding,
    types: { getTypeParser },
    verify: (client, done) => {
      void prepare(client, pooled).then(
        () => done(),
        (error: unknown) => done(error instanceof Error ? error : new Error('the session could not be set up')),
      );
    },
    ...(pooled ? {} : sessionSettings(config, options)),
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
    options: `${options} ${SESSION_OPTIONS}`.trim(),
  };
}

/**
 * Prepares a new connection, and ends it if it would silently change what we store or return. Behind a pooler, each
 * transaction may run in another session. Poolers reject startup parameters that they don't know, but keep some settings
 * of a client. Statements prepared in one session do not exist in the next, so none are named.
 */
async function prepare(client: pg.PoolClient, pooled: boolean): Promise<void> {
  if (pooled) {
    sendUnnamed(client);
    await setPooledSession(client);
  }
  await requireSession(client, { pooled });
}

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
