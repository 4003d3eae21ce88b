import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, type OnApplicationShutdown, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import type { Server } from 'node:http';
import { MigrationError, requireMigrations } from '#database/migrate.js';
import { PrismaService } from '#database/prisma.service.js';
import { Readiness } from '#health/readiness.js';
import { Logger } from '#telemetry/logger.js';
import { WorkerConfig } from '../worker.config.js';
import { close, createHealthServer, listen } from './health-server.js';

/** How often a worker looks whether the migrations that it waits for are applied. */
const LOOK_MS = 1_000;

/**
 * `/healthz` and `/readyz` of a worker, on the configured port, if there is one. They are answered from before the first
 * job is taken until the last one has ended.
 */
@Injectable()
export class Probes implements OnModuleInit, OnModuleDestroy, OnApplicationShutdown {
  private readonly server: Server = createHealthServer(() => this.readiness.report(this.stopping));
  private stopping = false;

  constructor(
    private readonly readiness: Readiness,
    private readonly config: WorkerConfig,
    private readonly prisma: PrismaService,
    private readonly logger: Logger,
  ) {}

  /** Nest starts jobs after this hook, so a worker that waits for migrations already answers probes. */
  async onModuleInit(): Promise<void> {
    const { healthPort, healthHost } = this.config;
    if (healthPort > 0) await listen(this.server, healthPort, healthHost);
    await this.migrationsApplied();
  }

  onModuleDestroy(): void {
    this.stopping = true;
  }

  /** Closes last: a worker that is finishing its tasks, perhaps for minutes, is still alive. */
  onApplicationShutdown(): void {
    close(this.server);
  }

  /**
   * A worker that starts before its migrations takes no jobs until they are applied: on the old tables it could buy an
   * image and fail to save it. It does not wait for a database that is down: its jobs are retried.
   */
  private async migrationsApplied(): Promise<void> {
    for (let told = false; ; told = true) {
      const error = await requireMigrations(this.prisma.pool).catch((reason: unknown) => reason);
      if (!(error instanceof MigrationError)) return;
      if (!told) this.logger.warn('worker.waits_for_migrations', { error });
      await delay(LOOK_MS);
    }
  }
}
