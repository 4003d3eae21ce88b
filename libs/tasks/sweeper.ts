import type { Logger } from '#telemetry/logger.js';
import type { SweepTasks } from './sweep-tasks.js';

/** Runs the sweep again and again, at slightly different times in each process. */
export class Sweeper {
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;
  private stopped = false;

  constructor(
    private readonly sweep: SweepTasks,
    private readonly intervalMs: number,
    private readonly logger: Logger,
  ) {}

  start(): void {
    this.schedule(Math.random() * this.intervalMs);
  }

  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    await this.running;
  }

  private schedule(delayMs: number): void {
    if (this.stopped) return;
    this.timer = setTimeout(() => {
      this.running = this.run().finally(() => {
        this.schedule(this.sweep.midway ? 50 : this.intervalMs * (0.75 + Math.random() / 2));
      });
    }, delayMs);
  }

  private async run(): Promise<void> {
    // Each step stands alone: without Redis the deadline is still enforced.
    for (const step of [
      () => this.sweep.failOverdue(),
      () => this.sweep.requeueAbandoned(),
      () => this.sweep.enqueueForgotten(),
    ]) {
      await step().catch((error: unknown) => {
        this.logger.warn('sweep.failed', { error });
      });
    }
  }
}
