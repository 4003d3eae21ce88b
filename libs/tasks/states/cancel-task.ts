import { Injectable } from '@nestjs/common';
import { ImageQueue } from '#queue/image-queue.js';
import { Logger } from '#telemetry/logger.js';
import { DropInputs } from '../retention/drop-inputs.js';
import { TaskEnds } from './task-ends.js';
import { TaskStore } from '../reading/task-store.js';
import type { TaskScope, TaskSummary } from '../row/task.js';

/** Ends a task because its owner no longer wants it. */
@Injectable()
export class CancelTask {
  constructor(
    private readonly store: TaskStore,
    private readonly ends: TaskEnds,
    private readonly queue: ImageQueue,
    private readonly logger: Logger,
    private readonly inputs: DropInputs,
  ) {}

  /**
   * The task as it is afterwards: cancelled, or unchanged when it had ended already; undefined when the scope has no
   * such task. The worker that runs it stops soon after; anything it still makes is discarded. Throws when Postgres
   * does not answer.
   */
  async cancel(scope: TaskScope, id: string): Promise<TaskSummary | undefined> {
    const { accountId } = scope;
    const cancelled = await this.store.cancel(scope, id);
    if (cancelled === undefined) return this.store.find(scope, id);
    this.ends.cancelled({ accountId, originalKeyId: cancelled.originalKeyId, id });
    this.logger.info('task.cancelled', { taskId: id, accountId });
    // A job that is left finds its task ended and does nothing, so this only saves a worker the lookup.
    this.queue.remove({ taskId: id, epoch: cancelled.epoch }).catch((error: unknown) => {
      this.logger.debug('task.not_dequeued', { taskId: id, error });
    });
    void this.inputs.drop(id);
    return cancelled.task;
  }
}
