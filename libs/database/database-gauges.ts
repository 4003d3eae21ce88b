import { Injectable, type OnModuleInit } from '@nestjs/common';
import type pg from 'pg';
import { Metrics } from '#telemetry/metrics.js';
import { PrismaService } from './prisma.service.js';

/** Statement names of `*.sql.ts` files; the names generated for Prisma's statements contain a number. */
const NAMED = /^[a-z]+(?:_[a-z]+)*$/;

/** Metrics of this process's database use: its connections, read at each scrape, and the duration of statements. */
@Injectable()
export class DatabaseGauges implements OnModuleInit {
  constructor(
    private readonly metrics: Metrics,
    private readonly prisma: PrismaService,
  ) {}

  onModuleInit(): void {
    const { pool } = this.prisma;
    this.metrics.gauges(
      'database_connections',
      'Database connections of this process that are in use or idle, and statements waiting for a connection.',
      'state',
      () => {
        const { totalCount, idleCount: idle, waitingCount: waiting } = pool;
        return Promise.resolve({ in_use: totalCount - idle, idle, waiting });
      },
    );
    this.metrics.gauge('database_pool_size', 'Maximum database connections of this process.', () => pool.options.max);
    pool.on('connect', (client) => this.time(client));
  }

  /** Times every statement. Statements return their result by promise or callback; both are in use. */
  private time(client: pg.PoolClient): void {
    const query: unknown = Reflect.get(client, 'query');
    if (typeof query !== 'function') return;
    const timed = (...args: unknown[]): unknown => {
      const since = performance.now();
      const statement = nameOf(args[0]);
      const observe = (outcome: 'ok' | 'failed'): void => {
        this.metrics.statements.observe({ statement, outcome }, (performance.now() - since) / 1_000);
      };
      const answer: unknown = args.at(-1);
      if (typeof answer === 'function') {
        const told = (error: unknown, ...rest: unknown[]): unknown => {
          observe(error ? 'failed' : 'ok');
          return Reflect.apply(answer, undefined, [error, ...rest]);
        };
        return Reflect.apply(query, client, [...args.slice(0, -1), told]);
      }
      const result: unknown = Reflect.apply(query, client, args);
      if (result instanceof Promise) {
        result.then(
          () => observe('ok'),
          () => observe('failed'),
        );
      }
      return result;
    };
    Object.assign(client, { query: timed });
  }
}

function nameOf(statement: unknown): string {
  if (typeof statement !== 'object' || statement === null || !('name' in statement)) return 'other';
  const { name } = statement;
  if (typeof name !== 'string') return 'other';
  return NAMED.test(name) ? name : 'prisma';
}
