import { Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { isDatabaseAway } from '#database/database-errors.js';
import { Logger } from '#telemetry/logger.js';
import { Metrics } from '#telemetry/metrics.js';
import { SendDeliveries } from '#webhooks/send-deliveries.js';
import { SweepTasks } from './sweep-tasks.js';
import { TasksConfig } from './tasks.config.js';

/** Runs the sweep again and again, at slightly different times in each process. */
@Injectable()
export class Sweeper implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;
  private stopped = false;
  /** When this process last found the database unavailable, in ms since it started. */
  private unavailableAt = -Infinity;

  constructor(
    private readonly sweep: SweepTasks,
    private readonly deliveries: SendDeliveries,
    private readonly config: TasksConfig,
    private readonly logger: Logger,
    private readonly metrics: Metrics,
  ) {}

  onApplicationBootstrap(): void {
    // An alert counts the first one too only if there was a 0 before it.
    for (const action of ['failed_overdue', 'requeued_abandoned']) this.metrics.sweeps.inc({ action }, 0);
    this.schedule(Math.random() * this.config.sweepIntervalMs);
  }

  /** Before anything closes, since a sweep that has begun still writes. */
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
    // Each step stands alone: without Redis the deadline is still enforced.
    for (const [action, step] of [
      ['failed_overdue', () => this.sweep.failOverdue()],
      ['requeued_abandoned', () => this.requeueAbandoned()],
      // Less than the pause of one process, so that one alone always may.
      ['enqueued_forgotten', () => this.sweep.enqueueForgotten(this.config.sweepIntervalMs / 2)],
      ['counted_accounts', () => this.sweep.checkSlots()],
      ['enqueued_webhooks', () => this.deliveries.enqueueForgotten()],
    ] as const) {
      await step().then(
        (count) => this.count(action, count),
        (error: unknown) => {
          if (isDatabaseAway(error)) this.unavailableAt = performance.now();
          this.logger.warn('sweep.failed', { error });
        },
      );
    }
  }

  /**
   * After an outage of the database, workers get the time of one lease to renew what they could not, and to write down
   * the images that they made meanwhile. Otherwise every paid call that outlived the outage would be given up.
   */
  private async requeueAbandoned(): Promise<number> {
    if (performance.now() - this.unavailableAt < this.config.leaseMs) return 0;
    return this.sweep.requeueAbandoned();
  }

  private count(action: string, count: number): void {
    if (count === 0) return;
    this.metrics.sweeps.inc({ action }, count);
    if (action === 'failed_overdue')
      this.metrics.tasksEnded.inc({ outcome: 'failed', code: 'generation_timeout' }, count);
  }
}
