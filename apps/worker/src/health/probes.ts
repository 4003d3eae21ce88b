import { Injectable, type OnApplicationShutdown, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import type { Server } from 'node:http';
import { Readiness } from '#health/readiness.js';
import { WorkerConfig } from '../worker.config.js';
import { AwaitMigrations } from './await-migrations.js';
import { close, createHealthServer, listen } from './health-server.js';

/** `/healthz` and `/readyz` of a worker, on the port that the settings name, if they name one. */
@Injectable()
export class Probes implements OnModuleInit, OnModuleDestroy, OnApplicationShutdown {
  private readonly server: Server = createHealthServer(() => this.readiness.report(this.stopping));
  private stopping = false;

  constructor(
    private readonly readiness: Readiness,
    private readonly config: WorkerConfig,
    private readonly migrations: AwaitMigrations,
  ) {}

  /** Nest takes jobs after this, at the bootstrap: a worker that waits for its migrations answers probes already. */
  async onModuleInit(): Promise<void> {
    const { healthPort, healthHost } = this.config;
    if (healthPort > 0) await listen(this.server, healthPort, healthHost);
    await this.migrations.untilApplied();
  }

  onModuleDestroy(): void {
    this.stopping = true;
  }

  /** Last: a worker that finishes what it has in hand, for minutes maybe, is alive. */
  onApplicationShutdown(): void {
    close(this.server);
  }
}
