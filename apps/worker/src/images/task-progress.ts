import { Injectable } from '@nestjs/common';
import { TaskEvents } from '#tasks/states/task-events.js';
import { TaskTransitions } from '#tasks/states/task-transitions.js';
import { Logger } from '#telemetry/logger.js';
import type { LeasedTask } from './leases.js';
import { ProgressWriter } from './progress-writer.js';

/** Shorter phases are over before a caller could see them. */
const VISIBLE_MS = 250;
/** Progress when the image is generated and not yet stored. */
const STORING_PERCENT = 90;

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
