import { Injectable } from '@nestjs/common';
import { ProviderLimiter } from '#routing/provider-limiter.js';
import { CancelTask } from '#tasks/states/cancel-task.js';
import { TaskStore } from '#tasks/reading/task-store.js';
import type { TaskSummary } from '#tasks/row/task.js';
import { Logger } from '#telemetry/logger.js';

/** Cancels a caller's task. If the task is parked at a provider, also releases its slot there. */
@Injectable()
export class CancelOwnTask {
  constructor(
    private readonly cancelTask: CancelTask,
    private readonly tasks: TaskStore,
    private readonly limiter: ProviderLimiter,
    private readonly logger: Logger,
  ) {}

  /** Like CancelTask; the slot is released in the background. */
  async cancel(accountId: string, id: string): Promise<TaskSummary | undefined> {
    const task = await this.cancelTask.cancel(accountId, id);
    if (task?.status === 'cancelled') void this.freeSlot(accountId, id);
    return task;
  }

  private async freeSlot(accountId: string, id: string): Promise<void> {
    try {
      const last = (await this.tasks.history(accountId, id))?.calls.at(-1);
      if (last !== undefined) await this.limiter.forget(last.provider, id);
    } catch (error) {
      // The slot expires by itself.
      this.logger.warn('limiter.slot_not_freed', { taskId: id, error });
    }
  }
}
