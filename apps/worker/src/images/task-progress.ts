import { Injectable } from '@nestjs/common';
import { TaskBell } from '#tasks/task-events.js';
import { TaskMoves } from '#tasks/task-moves.js';
import { Logger } from '#telemetry/logger.js';
import type { HeldTask } from './hold.js';
import { ProgressWriter } from './progress-writer.js';

/** A phase shorter than this is over before anyone could look. */
const VISIBLE_MS = 250;
/** What is done when the picture is made. */
const STORING_PERCENT = 90;

/** Lets callers see how far a task has come. Nothing depends on it, so it never fails. */
@Injectable()
export class TaskProgress {
  constructor(
    private readonly moves: TaskMoves,
    private readonly bell: TaskBell,
    private readonly logger: Logger,
  ) {}

  /** For one call to a provider. */
  writer(held: HeldTask): ProgressWriter {
    return new ProgressWriter((percent) => {
      this.write(held, percent, 'running');
    });
  }

  /** Shows the phase `storing` while the work takes long enough to be seen. Throws what the work throws. */
  async whileStoring(held: HeldTask, work: () => Promise<void>): Promise<void> {
    const notice = setTimeout(() => {
      this.write(held, STORING_PERCENT, 'storing');
    }, VISIBLE_MS);
    await work().finally(() => {
      clearTimeout(notice);
    });
  }

  private write(held: HeldTask, percent: number, phase: 'running' | 'storing'): void {
    this.moves.progress(held, percent, phase).then(
      (written) => {
        if (written) this.bell.ringChanged(held.id);
      },
      (error: unknown) => {
        this.logger.debug('progress.not_written', { taskId: held.id, error });
      },
    );
  }
}
