import { Injectable } from '@nestjs/common';
import { TaskEvents } from '#tasks/states/task-events.js';
import { TaskTransitions } from '#tasks/states/task-transitions.js';
import { Logger } from '#telemetry/logger.js';
import type { LeasedTask } from './leases.js';

/** Shorter phases are over before a caller could see them. */
const VISIBLE_MS = 250;
/** Progress when the image is generated and not yet stored. */
const STORING_PERCENT = 90;
/** A provider's progress is written at most this often. */
const INTERVAL_MS = 1_000;
/** A provider's 0..100 is mapped to this range of the task's progress; the start of a call writes the first number. */
const PROVIDER_FROM = 5;
const PROVIDER_TO = 90;

/** Publishes a task's progress. Nothing depends on it, so it never fails. */
@Injectable()
export class TaskProgress {
  constructor(
    private readonly transitions: TaskTransitions,
    private readonly events: TaskEvents,
    private readonly logger: Logger,
  ) {}

  /** A progress writer for one provider call, which may be resumed. */
  writer(lease: LeasedTask, resumed: boolean): ProgressWriter {
    return new ProgressWriter((percent) => this.write(lease, percent, 'running'), resumed);
  }

  /** Shows the phase `storing` if the work takes long enough to be seen. Throws what the work throws. */
  async whileStoring(lease: LeasedTask, work: () => Promise<void>): Promise<void> {
    const notice = setTimeout(() => this.write(lease, STORING_PERCENT, 'storing'), VISIBLE_MS);
    await work().finally(() => clearTimeout(notice));
  }

  private write(lease: LeasedTask, percent: number, phase: 'running' | 'storing'): void {
    this.transitions.progress(lease, percent, phase).then(
      (written) => {
        if (written) this.events.publishChanged(lease.id);
      },
      (error: unknown) => this.logger.debug('progress.not_written', { taskId: lease.id, error }),
    );
  }
}

/**
 * Writes progress to the row at most once a second, because each write is a transaction and a new row version. What a
 * provider reports at its start and at its end is not written: the statements that start the call and end the task are.
 */
export class ProgressWriter {
  private writtenAt: number;
  private written = PROVIDER_FROM;

  /**
   * `write` takes the task's progress in percent. `resumed`: the call has not just started, so its first report is news.
   */
  constructor(
    private readonly write: (percent: number) => void,
    resumed: boolean,
  ) {
    this.writtenAt = resumed ? 0 : Date.now();
  }

  /** `percent`: the provider's progress, 0..100. */
  provider(percent: number): void {
    if (percent >= 100) return;
    const now = Date.now();
    const value = PROVIDER_FROM + ((PROVIDER_TO - PROVIDER_FROM) * Math.max(0, percent)) / 100;
    if (now - this.writtenAt < INTERVAL_MS || value - this.written < 1) return;
    this.writtenAt = now;
    this.written = value;
    this.write(value);
  }
}
