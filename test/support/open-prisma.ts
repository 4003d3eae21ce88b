import { PrismaService } from '#database/prisma.service.js';
import { Logger } from '#telemetry/logger.js';

/** Prisma on a database that a test looks at beside the processes under test; whoever opens it closes it. */
export function openPrisma(databaseUrl: string): PrismaService {
  const config = { databaseUrl, databasePool: 2, connectTimeoutMs: 60_000, queryTimeoutMs: 60_000 };
  return new PrismaService(config, new Logger('test', 'silent'));
}
