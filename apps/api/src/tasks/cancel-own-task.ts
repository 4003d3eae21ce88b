import { Injectable } from '@nestjs/common';
import { serverId } from '#providers/provider-entry.js';
import { ProviderLimiter } from '#routing/provider-limiter.js';
import { CancelTask } from '#tasks/states/cancel-task.js';
import { TaskStore } from '#tasks/reading/task-store.js';
import type { TaskScope, TaskSummary } from '#tasks/row/task.js';
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
  async cancel(scope: TaskScope, id: string): Promise<TaskSummary | undefined> {
    const task = await this.cancelTask.cancel(scope, id);
    if (task?.status === 'cancelled') void this.freeSlot(scope, id);
    return task;
  }

  private async freeSlot(scope: TaskScope, id: string): Promise<void> {
    try {
      const last = (await this.tasks.history(scope, id))?.calls.at(-1);
      if (last !== undefined) await this.limiter.forget(serverId({ name: last.provider, server: last.server }), id);
    } catch (error) {
      // The slot expires by itself.
      this.logger.warn('limiter.slot_not_freed', { taskId: id, error });
    }
  }
}
