import { Injectable } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import { MigrationError, requireMigrations } from '#database/migrate.js';
import { PrismaService } from '#database/prisma.service.js';
import { Logger } from '#telemetry/logger.js';

const LOOK_MS = 1_000;

/**
 * A worker that starts before its migrations takes no jobs until they are applied: on the old tables it could buy an
 * image and fail to save it. It does not wait for a database that is down: its jobs are retried.
 */
@Injectable()
export class AwaitMigrations {
  constructor(
    private readonly prisma: PrismaService,
    private readonly logger: Logger,
  ) {}

  async untilApplied(): Promise<void> {
    for (let told = false; ; told = true) {
      const error = await requireMigrations(this.prisma.pool).catch((reason: unknown) => reason);
      if (!(error instanceof MigrationError)) return;
      if (!told) this.logger.warn('worker.waits_for_migrations', { error });
      await delay(LOOK_MS);
    }
  }
}
