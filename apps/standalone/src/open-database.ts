import { PrismaService } from '#database/prisma.service.js';
import { Logger } from '#telemetry/logger.js';

/** Prisma for a command, on one connection; a command says itself what failed. `close` ends it. */
export function openDatabase(databaseUrl: string, logger = new Logger('command', 'silent')): PrismaService {
  const limits = { databasePool: 1, connectTimeoutMs: 5_000, queryTimeoutMs: 10_000 };
  return new PrismaService({ databaseUrl, ...limits }, logger);
}
