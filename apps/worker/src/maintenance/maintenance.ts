import { Injectable, type OnApplicationBootstrap, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { Logger } from '#telemetry/logger.js';
import { Metrics, cachedFor } from '#telemetry/metrics.js';
import { Schedules } from './schedules.js';

/** The lag is measured at most this often. */
const LOOK_EVERY_MS = 60_000;

/** Runs the jobs of the schedules, each worker with its own random offset, and measures how late they are. */
@Injectable()
export class Maintenance implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy {
  private readonly timers = new Map<string, NodeJS.Timeout>();
  private stopped = false;

  constructor(
    private readonly schedules: Schedules,
    private readonly logger: Logger,
    private readonly metrics: Metrics,
  ) {}

  onModuleInit(): void {
    this.metrics.gauges(
      'retention_lag_seconds',
      'How long the oldest expired row of each kind has been overdue for deletion; the same on every worker.',
      'kind',
      cachedFor(LOOK_EVERY_MS, () => this.lags()),
    );
  }

  /** Each job runs at a random time within its first interval. */
  onApplicationBootstrap(): void {
    for (const { name, everyMs, run } of this.schedules.table) {
      this.repeat(name, everyMs, run, Math.random() * everyMs);
    }
  }

  onModuleDestroy(): void {
    this.stopped = true;
    for (const timer of this.timers.values()) clearTimeout(timer);
  }

  /** Runs the job in `delayMs`, then `everyMs` after each run ends. Logs errors with the job's name. */
  private repeat(name: string, everyMs: number, run: () => Promise<unknown>, delayMs: number): void {
    if (this.stopped) return;
    const timer = setTimeout(() => {
      run()
        .catch((error: unknown) => this.logger.warn('retention.failed', { code: name, error }))
        .finally(() => this.repeat(name, everyMs, run, everyMs));
    }, delayMs);
    this.timers.set(name, timer.unref());
  }

  private async lags(): Promise<Record<string, number>> {
    const lags: Record<string, number> = {};
    for (const { dueSince = {} } of this.schedules.table) {
      for (const [kind, read] of Object.entries(dueSince)) {
        const since = await read();
        lags[kind] = since === undefined ? 0 : Math.max(0, Date.now() - since.getTime()) / 1_000;
      }
    }
    return lags;
  }
}
