import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { ProviderEntry } from '#providers/provider-entry.js';
import type { CallEnd } from '#tasks/row/provider-call.js';
import { TaskEnds } from '#tasks/states/task-ends.js';
import { TaskTransitions, type Completion, type TaskResult } from '#tasks/states/task-transitions.js';
import { Logger } from '#telemetry/logger.js';
import { inSpan } from '#telemetry/spans.js';
import { identity, successOf, type Attempt } from './attempt.js';
import { ImageNotStored } from './failure-verdict.js';
import { LeaseLost } from './leases.js';
import { TaskMeter } from './task-meter.js';

/** Delay between two writes of a finished image, when the database fails. */
const RETRY_MS = 500;
/** Maximum number of writes; about a quarter of an hour. */
const MAX_TRIES = 1_800;

/** Completes a task with its images. */
@Injectable()
export class CompleteTask {
  constructor(
    private readonly transitions: TaskTransitions,
    private readonly ends: TaskEnds,
    private readonly meter: TaskMeter,
    private readonly logger: Logger,
  ) {}

  /**
   * False when the task has already ended in another way, so the images are discarded. Throws ImageNotStored when the
   * result could not be saved.
   */
  async complete(attempt: Attempt, provider: ProviderEntry, result: TaskResult): Promise<boolean> {
    const { claimed, lease, span } = attempt;
    const ended = await inSpan({ name: 'task.complete', parent: claimed.task.id }, () =>
      this.completeWithRetries(attempt, result, successOf(provider.free)),
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
   * Keeps a stored image through a database outage: retries until the task's deadline or the end of the process. An
   * expired lease matters only if another worker has claimed the task. Undefined when the result was rejected.
   */
  private async completeWithRetries(
    { claimed, lease }: Attempt,
    result: TaskResult,
    end: CallEnd,
  ): Promise<{ readonly row?: Completion } | undefined> {
    for (let tries = 1; ; tries++) {
      try {
        const row = await this.transitions.complete(lease, result, end);
        if (row !== undefined) return { row };
        // An earlier write may have been committed, with only its response lost.
        return tries > 1 && (await this.transitions.isCompletedBy(lease)) ? {} : undefined;
      } catch (error) {
        const { signal } = lease;
        const isLast = signal.aborted && !(signal.reason instanceof LeaseLost);
        if (isLast || tries === MAX_TRIES) throw new ImageNotStored('not written down', { cause: error });
        this.logger.warn('task.not_completed', { ...identity(claimed), attempt: lease.attempt, error });
        await delay(RETRY_MS);
      }
    }
  }
}
