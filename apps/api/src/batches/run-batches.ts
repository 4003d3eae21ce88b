import { Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { BatchSteps } from '#batches/batch-steps.repository.js';
import { CallerGone } from '#tasks/intake/open-call.js';
import { TasksConfig } from '#tasks/row/tasks.config.js';
import { Logger } from '#telemetry/logger.js';
import { AdvanceBatch } from './advance-batch.js';

/** How often a process looks for a due batch while it knows of one, in ms. */
const BUSY_MS = 250;
/** For how many looks without a due batch it still does so: longer than a batch waits for its tasks. */
const BUSY_LOOKS = 20;
/** When a step that failed is tried again, in ms. */
const RETRY_MS = 5_000;

/**
 * Takes the steps of due batches, one at a time, in every API process: what accepts requests is here. A batch whose
 * process was killed is due again a few seconds later, at any other.
 */
@Injectable()
export class RunBatches implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly gone = new AbortController();
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;
  private idleLooks = BUSY_LOOKS;

  constructor(
    private readonly steps: BatchSteps,
    private readonly batch: AdvanceBatch,
    private readonly config: TasksConfig,
    private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    this.schedule(Math.random() * this.config.sweepIntervalMs);
  }

  /** Runs before anything closes, because a step in progress still writes. */
  async beforeApplicationShutdown(): Promise<void> {
    this.gone.abort();
    clearTimeout(this.timer);
    await this.running;
  }

  /** There may be a step to take now. */
  wake(): void {
    this.idleLooks = 0;
    if (this.running === undefined) this.schedule(0);
  }

  private get stopping(): boolean {
    return this.gone.signal.aborted;
  }

  private schedule(ms: number): void {
    if (this.stopping) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.running = this.takeSteps().finally(() => {
        this.running = undefined;
        this.schedule(this.idleLooks < BUSY_LOOKS ? BUSY_MS : this.config.sweepIntervalMs);
      });
    }, ms);
  }

  /** Takes steps until none is due. Never fails. */
  private async takeSteps(): Promise<void> {
    try {
      while (!this.stopping) {
        const batch = await this.steps.take();
        if (batch === undefined) break;
        this.idleLooks = 0;
        const waitMs = await this.batch.advance(batch, this.gone.signal).catch((error: unknown) => {
          if (!(error instanceof CallerGone)) this.logger.warn('batch.step_failed', { jobId: batch.id, error });
          return this.stopping ? 0 : RETRY_MS;
        });
        await this.steps.done(batch.id, waitMs);
      }
      this.idleLooks++;
    } catch (error) {
      this.idleLooks = BUSY_LOOKS;
      this.logger.warn('batch.not_found', { error });
    }
  }
}
