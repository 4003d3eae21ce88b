import { Injectable } from '@nestjs/common';
import { EraseTasks } from '#erasure/erase-tasks.js';
import { DeletedTasks } from '#tasks/states/deleted-tasks.js';
import { Logger } from '#telemetry/logger.js';
import type { Attempt } from './attempt.js';

/** What a worker does last with a task that was canceled, or ended in another way, while it had it. */
@Injectable()
export class LeaveTask {
  constructor(
    private readonly tasks: DeletedTasks,
    private readonly erasures: EraseTasks,
    private readonly logger: Logger,
  ) {}

  /**
   * Says that nothing more of the task is stored, and erases it if it was deleted meanwhile. Never fails: without it, the
   * erasure waits until no worker can have a lease any more.
   */
  async leave({ lease, isLast }: Attempt): Promise<void> {
    if (!isLast) return;
    try {
      if (await this.tasks.workerStopped(lease)) await this.erasures.erase(lease.id);
    } catch (error) {
      this.logger.warn('task.not_erased', { taskId: lease.id, error });
    }
  }
}
