import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { PrismaPg } from '@prisma/adapter-pg';
import type pg from 'pg';
import { Logger } from '#telemetry/logger.js';
import { createPool, IDLE_IN_TRANSACTION_MS } from './create-pool.js';
import { DatabaseConfig } from './database.config.js';
import { driverAddresses } from './database-url.js';
import { PrismaClient } from './generated/client.js';
import { readServers, type ServerState } from './primary-client.js';
import { requireSession } from './session.sql.js';
import { Unanswered, type Repeated } from './unanswered.js';

/**
 * Prisma on a pool that it shares with the statements of `*.sql.ts` files. Client and server both limit the time of
 * every query: otherwise a frozen server would block callers forever.
 */
@Injectable()
export class PrismaService extends PrismaClient implements OnApplicationShutdown {
  readonly pool: pg.Pool;
  /** Longest time until a statement succeeds or fails, in ms, including the wait for a connection. */
  readonly answerMs: number;
  private readonly databaseUrl: string;
  private readonly pooled: boolean;
  private readonly unanswered: { stop(): Promise<void> }[] = [];

  constructor(
    config: DatabaseConfig,
    private readonly logger: Logger,
  ) {
    const answerMs = config.connectTimeoutMs + config.queryTimeoutMs;
    const pool = createPool(config, logger);
    super({
      adapter: new PrismaPg(pool, { statementNameGenerator: statementName }),
      // Prisma's other error formats quote the arguments of the failed query.
      errorFormat: 'minimal',
      // The same limit as Postgres has for idle transactions.
      transactionOptions: { maxWait: config.connectTimeoutMs, timeout: IDLE_IN_TRANSACTION_MS },
    });
    this.answerMs = answerMs;
    this.pool = pool;
    this.databaseUrl = config.databaseUrl;
    this.pooled = config.databasePooler === 'transaction';
  }

  /** Throws when the database does not answer in time, and UnsuitableDatabase when its settings would change results. */
  async ping(): Promise<void> {
    await requireSession(this.pool, { pooled: this.pooled });
  }

  /** The database's clock, for times to compare with those that its statements write. Throws when it does not answer in time. */
  async now(): Promise<Date> {
    const { rows } = await this.pool.query<{ now: Date }>('SELECT now()');
    return rows[0]?.now ?? new Date();
  }

  /** A list of items for which a statement is repeated, a last time before this closes. */
  repeated<Item>(repeat: Repeated<Item>): Unanswered<Item> {
    const list = new Unanswered(repeat, (error) => this.logger.debug('database.not_repeated', { error }));
    this.unanswered.push(list);
    return list;
  }

  /** What each server of DATABASE_URL is; none when it names only one. Never throws. */
  async servers(): Promise<ServerState[]> {
    const { urls } = driverAddresses(this.databaseUrl);
    return urls.length === 1 ? [] : await readServers(urls, this.answerMs);
  }

  /**
   * Loads Prisma's query compiler, which would otherwise block the event loop for a third of a second at the first
   * request. Never throws: the readiness check reports an unavailable database.
   */
  async warm(): Promise<void> {
    await this.apiKey.findUnique({ where: { id: '' } }).catch(() => undefined);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.close();
  }

  async close(): Promise<void> {
    await Promise.all(this.unanswered.map((list) => list.stop()));
    await this.$disconnect();
    await this.pool.end();
  }
}

const names = new Map<string, string>();

/** Prisma's SQL texts are few and stable, so a name per text lets the server keep its plans. */
function statementName({ sql }: { sql: string }): string {
  let name = names.get(sql);
  if (name === undefined) {
    name = `prisma_${names.size}`;
    names.set(sql, name);
  }
  return name;
}
