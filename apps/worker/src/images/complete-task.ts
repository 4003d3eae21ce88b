import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { ProviderEntry } from '#providers/provider-entry.js';
import type { CallEnd } from '#tasks/provider-call.js';
import { TaskEnds } from '#tasks/task-ends.js';
import { TaskTransitions, type Completion, type TaskResult } from '#tasks/task-transitions.js';
import { Logger } from '#telemetry/logger.js';
import { inSpan } from '#telemetry/spans.js';
import { identity, successOf, type Attempt } from './attempt.js';
import { ImageNotStored } from './failure-verdict.js';
import { LeaseLost } from './leases.js';
import { TaskMeter } from './task-meter.js';

/** How long a finished image waits for the database between two tries. */
const RETRY_MS = 500;
/** How often it is offered; about a quarter of an hour. */
const MOST_TRIES = 1_800;

/** Ends a task with its images. */
@Injectable()
export class CompleteTask {
  constructor(
    private readonly transitions: TaskTransitions,
    private readonly ends: TaskEnds,
    private readonly meter: TaskMeter,
    private readonly logger: Logger,
  ) {}

  /**
   * False when the task has ended in another way meanwhile; then the image is not wanted. Throws ImageNotStored when
   * it could not be written down.
   */
  async complete(attempt: Attempt, provider: ProviderEntry, result: TaskResult): Promise<boolean> {
    const { claimed, lease, span } = attempt;
    const ended = await inSpan({ name: 'task.complete', parent: claimed.task.id }, () =>
      this.completeInTheEnd(attempt, result, successOf(provider.free)),
    );
    const won = ended !== undefined;
    span.set({ outcome: won ? 'completed' : 'discarded', images: result.images.length });
    if (won) {
      this.ends.completed(claimed.task, claimed.asynchronous, ended.row);
      this.meter.completed(claimed, provider.name, result.images.length);
    }
    const durationMs = Date.now() - claimed.task.createdAt.getTime();
    this.logger.info(won ? 'task.completed' : 'task.result_discarded', {
      ...identity(claimed),
      attempt: lease.attempt,
      durationMs,
    });
    return won;
  }

  /**
   * An image that is made and stored outlives a database that is away for a while: it is offered again until the
   * task's deadline or the end of the process. That the lease has run out meanwhile matters only if another took over.
   * Undefined when it was not wanted.
   */
  private async completeInTheEnd(
    { claimed, lease }: Attempt,
    result: TaskResult,
    end: CallEnd,
  ): Promise<{ readonly row?: Completion } | undefined> {
    for (let tries = 1; ; tries++) {
      try {
        const row = await this.transitions.complete(lease, result, end);
        if (row !== undefined) return { row };
        // An earlier try may have been carried out, and only its answer lost.
        return tries > 1 && (await this.transitions.isCompletedBy(lease)) ? {} : undefined;
      } catch (error) {
        const { signal } = lease;
        const isLast = signal.aborted && !(signal.reason instanceof LeaseLost);
        if (isLast || tries === MOST_TRIES) throw new ImageNotStored('not written down', { cause: error });
        this.logger.warn('task.not_completed', { ...identity(claimed), attempt: lease.attempt, error });
        await delay(RETRY_MS);
      }
    }
  }
}
