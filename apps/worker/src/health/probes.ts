import { Injectable, type OnApplicationShutdown, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import type { Server } from 'node:http';
import { Readiness } from '#health/readiness.js';
import { WorkerConfig } from '../worker.config.js';
import { AwaitMigrations } from './await-migrations.js';
import { close, createHealthServer, listen } from './health-server.js';

/** `/healthz` and `/readyz` of a worker, on the configured port, if there is one. */
@Injectable()
export class Probes implements OnModuleInit, OnModuleDestroy, OnApplicationShutdown {
  private readonly server: Server = createHealthServer(() => this.readiness.report(this.stopping));
  private stopping = false;

  constructor(
    private readonly readiness: Readiness,
    private readonly config: WorkerConfig,
    private readonly migrations: AwaitMigrations,
  ) {}

  /** Nest starts jobs after this hook, so a worker that waits for migrations already answers probes. */
  async onModuleInit(): Promise<void> {
    const { healthPort, healthHost } = this.config;
    if (healthPort > 0) await listen(this.server, healthPort, healthHost);
    await this.migrations.untilApplied();
  }

  onModuleDestroy(): void {
    this.stopping = true;
  }

  /** Closes last: a worker that is finishing its tasks, perhaps for minutes, is still alive. */
  onApplicationShutdown(): void {
    close(this.server);
  }
}
