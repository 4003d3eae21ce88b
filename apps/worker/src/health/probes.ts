import { Injectable, type OnApplicationShutdown, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import type { Server } from 'node:http';
import { Readiness } from '#health/readiness.js';
import { WorkerConfig } from '../worker.config.js';
import { close, createHealthServer, listen } from './health-server.js';

/** `/healthz` and `/readyz` of a worker, on the port that the settings name, if they name one. */
@Injectable()
export class Probes implements OnModuleInit, OnModuleDestroy, OnApplicationShutdown {
  private readonly server: Server = createHealthServer(() => this.readiness.report(this.stopping));
  private stopping = false;

  constructor(
    private readonly readiness: Readiness,
    private readonly config: WorkerConfig,
  ) {}

  /** Before jobs are taken: a worker that waits for migrations is alive. */
  async onModuleInit(): Promise<void> {
    const { healthPort, healthHost } = this.config;
    if (healthPort > 0) await listen(this.server, healthPort, healthHost);
  }

  onModuleDestroy(): void {
    this.stopping = true;
  }

  /** Last: a worker that finishes what it has in hand, for minutes maybe, is alive. */
  onApplicationShutdown(): void {
    close(this.server);
  }
}
