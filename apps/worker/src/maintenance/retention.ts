import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { Logger } from '#telemetry/logger.js';

/** How often what has expired is removed. */
export const EXPIRE_EVERY_MS = 10 * 60_000;

/** Runs the clean-ups from time to time, in each worker at its own moment. */
@Injectable()
export class Retention implements OnModuleDestroy {
  private readonly timers: NodeJS.Timeout[] = [];
  private stopped = false;

  constructor(private readonly logger: Logger) {}

  /** The work for the first time within the interval, and then so long after each end of it. What it throws is logged. */
  every(intervalMs: number, work: () => Promise<unknown>): void {
    const index = this.timers.length;
    const next = (delayMs: number): void => {
      if (this.stopped) return;
      this.timers[index] = setTimeout(() => {
        work()
          .catch((error: unknown) => this.logger.warn('retention.failed', { error }))
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
