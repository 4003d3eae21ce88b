import { Injectable } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import type { TaskReceipt } from '#contract/task-receipt.js';
import { EraseTasks } from '#erasure/erase-tasks.js';
import { Receipts } from '#erasure/receipts.js';
import type { TaskScope } from '#tasks/row/task.js';
import { DeletedTasks } from '#tasks/states/deleted-tasks.js';
import { Logger } from '#telemetry/logger.js';
import { CancelOwnTask } from './cancel-own-task.js';

/** How long a caller waits for the erasure. */
const ERASE_MS = 5_000;

/** Deletes a caller's task: cancels it if it is pending, and erases it. */
@Injectable()
export class DeleteOwnTask {
  constructor(
    private readonly cancelTask: CancelOwnTask,
    private readonly tasks: DeletedTasks,
    private readonly eraseTasks: EraseTasks,
    private readonly receipts: Receipts,
    private readonly logger: Logger,
  ) {}

  /**
   * The receipt; null when something is left to erase, which a worker then does; undefined when the scope has no such
   * task. The same for a task that was deleted before. Throws when the database fails.
   */
  async delete(scope: TaskScope, id: string): Promise<TaskReceipt | null | undefined> {
    if ((await this.cancelTask.cancel(scope, id)) === undefined) return undefined;
    const [deleted] = await this.tasks.mark([id]);
    if (deleted !== undefined) this.logger.info('task.deleted', { taskId: id, accountId: scope.accountId });
    const erased = this.eraseTasks.erase(id).catch((error: unknown) => {
      this.logger.warn('task.not_erased', { taskId: id, error });
    });
    await Promise.race([erased, delay(ERASE_MS, undefined, { ref: false })]);
    return await this.receipts.of(scope, id);
  }
}
