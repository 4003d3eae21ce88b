import { Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { isDatabaseUnavailable } from '#database/database-errors.js';
import { Logger } from '#telemetry/logger.js';
import { Metrics } from '#telemetry/metrics.js';
import { EnqueueDeliveries } from '#notifications/deliveries/enqueue-deliveries.js';
import { SweepTasks } from './sweep-tasks.js';
import { TasksConfig } from '../row/tasks.config.js';

/** Runs the sweep periodically, at slightly different times in each process. */
@Injectable()
export class Sweeper implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;
  private stopped = false;
  /** When this process last found the database unavailable, in ms since it started. */
  private unavailableAt = -Infinity;

  constructor(
    private readonly sweep: SweepTasks,
    private readonly deliveries: EnqueueDeliveries,
    private readonly config: TasksConfig,
    private readonly logger: Logger,
    private readonly metrics: Metrics,
  ) {}

  onApplicationBootstrap(): void {
    // Starts at 0, because an alert misses a counter's first increment unless it saw a 0 before.
    for (const action of ['failed_overdue', 'requeued_abandoned']) this.metrics.sweeps.inc({ action }, 0);
    this.schedule(Math.random() * this.config.sweepIntervalMs);
  }

  /** Runs before anything closes, because a sweep in progress still writes. */
  async beforeApplicationShutdown(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    await this.running;
  }

  private schedule(delayMs: number): void {
    if (this.stopped) return;
    this.timer = setTimeout(() => {
      this.running = this.run().finally(() => {
        this.schedule(this.sweep.midway ? 50 : this.config.sweepIntervalMs * (0.75 + Math.random() / 2));
      });
    }, delayMs);
  }

  private async run(): Promise<void> {
    // Each step is independent: without Redis, deadlines are still enforced.
    for (const [action, step] of [
      ['failed_overdue', () => this.sweep.failOverdue()],
      ['requeued_abandoned', () => this.requeueLost()],
      // Shorter than a process's pause between sweeps, so that a single process is never held back.
      ['enqueued_forgotten', () => this.sweep.enqueueForgotten(this.config.sweepIntervalMs / 2)],
      ['counted_accounts', () => this.sweep.checkSlots()],
      ['enqueued_webhooks', () => this.deliveries.enqueueForgotten()],
    ] as const) {
      await step().then(
        (count) => this.count(action, count),
        (error: unknown) => {
          if (isDatabaseUnavailable(error)) this.unavailableAt = performance.now();
          this.logger.warn('sweep.failed', { error });
        },
      );
    }
  }

  /**
   * After a database outage, workers get the duration of one lease to renew their leases and to record the images that
   * they made meanwhile. Otherwise every paid call that outlived the outage would be lost.
   */
  private async requeueLost(): Promise<number> {
    if (performance.now() - this.unavailableAt < this.config.leaseMs) return 0;
    return this.sweep.requeueLost();
  }

  private count(action: string, count: number): void {
    if (count === 0) return;
    this.metrics.sweeps.inc({ action }, count);
  }
}
