import { Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { Logger } from '#telemetry/logger.js';
import { Metrics, cachedFor } from '#telemetry/metrics.js';

/** How often expired data is removed. */
export const EXPIRE_EVERY_MS = 10 * 60_000;
/** The lag is measured at most this often. */
const LOOK_EVERY_MS = 60_000;

/** Runs cleanups at intervals, each worker with its own random offset. */
@Injectable()
export class Retention implements OnModuleInit, OnModuleDestroy {
  private readonly timers: NodeJS.Timeout[] = [];
  private readonly kinds = new Map<string, () => Promise<Date | undefined>>();
  private stopped = false;

  constructor(
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

  /**
   * Adds a kind to the lag metric; `oldestDueSince` returns since when its oldest expired item is due, if there is one.
   */
  watch(kind: string, oldestDueSince: () => Promise<Date | undefined>): void {
    this.kinds.set(kind, oldestDueSince);
  }

  private async lags(): Promise<Record<string, number>> {
    const lags: Record<string, number> = {};
    for (const [kind, read] of this.kinds) {
      const since = await read();
      lags[kind] = since === undefined ? 0 : Math.max(0, Date.now() - since.getTime()) / 1_000;
    }
    return lags;
  }

  /**
   * Runs the work at a random time within the first interval, then `intervalMs` after each run ends. Logs errors with the
   * job's name.
   */
  every(intervalMs: number, job: string, work: () => Promise<unknown>): void {
    const index = this.timers.length;
    const next = (delayMs: number): void => {
      if (this.stopped) return;
      this.timers[index] = setTimeout(() => {
        work()
          .catch((error: unknown) => this.logger.warn('retention.failed', { code: job, error }))
          .finally(() => next(intervalMs));
      }, delayMs).unref();
    };
    next(Math.random() * intervalMs);
  }

  onModuleDestroy(): void {
    this.stopped = true;
    for (const timer of this.timers) clearTimeout(timer);
  }
}
