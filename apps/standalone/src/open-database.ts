import { PrismaService } from '#database/prisma.service.js';
import { Logger } from '#telemetry/logger.js';

/** The database as an operator's command uses it, which closes it. Nothing is asked of it yet. */
export function openDatabase(databaseUrl: string, logger = new Logger('command', 'silent')): PrismaService {
  // One connection for a transaction, and one for what is read meanwhile.
  return new PrismaService({ databaseUrl, databasePool: 2, connectTimeoutMs: 5_000, queryTimeoutMs: 10_000 }, logger);
}
