import type { DatabaseConfig } from '#database/database.config.js';
import { PrismaService } from '#database/prisma.service.js';
import { Logger } from '#telemetry/logger.js';
import type { ApiPlatform } from './platform.js';

const opened = new WeakMap<ApiPlatform['pool'], PrismaService>();

/** Prisma on a database, next to the processes under test; the caller closes it. */
export function openPrisma(databaseUrl: string, changes: Partial<DatabaseConfig> = {}): PrismaService {
  const config = { databaseUrl, databasePool: 2, connectTimeoutMs: 60_000, queryTimeoutMs: 60_000, ...changes };
  return new PrismaService(config, new Logger('test', 'silent'));
}

/** The same on a platform's database; closes with the platform. */
export function databaseOf({ pool, settings, closing }: ApiPlatform): PrismaService {
  let database = opened.get(pool);
  if (database === undefined) {
    database = openPrisma(settings['DATABASE_URL'] ?? '');
    opened.set(pool, database);
    closing.push(database.close.bind(database));
  }
  return database;
}
