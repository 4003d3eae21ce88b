import { PrismaService } from '#database/prisma.service.js';
import { Logger } from '#telemetry/logger.js';

/** A database client for an operator's command, which closes it. Connects on first use. */
export function openDatabase(databaseUrl: string, logger = new Logger('command', 'silent')): PrismaService {
  // One connection for a transaction, and one for reads during it.
  return new PrismaService({ databaseUrl, databasePool: 2, connectTimeoutMs: 5_000, queryTimeoutMs: 10_000 }, logger);
}
