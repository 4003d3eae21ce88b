import type { ImageQueue } from '#queue/image-queue.js';
import type { Logger } from '#telemetry/logger.js';
import type { Metrics } from '#telemetry/metrics.js';
import type { SendDeliveries } from '#webhooks/send-deliveries.js';
import type { TaskBell } from './task-events.js';
import type { TaskSlots } from './task-slots.js';
import type { TaskStore } from './task-store.js';
import type { TaskSummary } from './task.js';

/** Who learns that a task was cancelled. */
interface Notified {
  readonly bell: TaskBell;
  readonly queue: ImageQueue;
  readonly slots: TaskSlots;
  readonly deliveries: SendDeliveries;
}

/** Ends a task because its owner no longer wants it. */
export class CancelTask {
  constructor(
    private readonly store: TaskStore,
    private readonly notify: Notified,
    private readonly metrics: Metrics,
    private readonly logger: Logger,
  ) {}

  /**
   * The task as it is afterwards: cancelled, or unchanged when it had ended already; undefined when the account has no
   * such task. The worker that runs it stops soon after; whatever it still makes is thrown away. Throws when Postgres
   * does not answer.
   */
  async cancel(accountId: string, id: string): Promise<TaskSummary | undefined> {
    const cancelled = await this.store.cancel(accountId, id);
    if (cancelled === undefined) return this.store.find(accountId, id);
    const { bell, queue, slots, deliveries } = this.notify;
    slots.free({ accountId, apiKeyId: cancelled.apiKeyId, id });
    bell.ring(id);
    bell.ringCancelled(id);
    deliveries.announce(id);
    this.metrics.tasksEnded.inc({ outcome: 'cancelled', code: '' });
    this.logger.info('task.cancelled', { taskId: id, accountId });
    // A job that stays finds its task ended and does nothing, so this only saves a worker the look.
    queue.remove({ taskId: id, epoch: cancelled.epoch }).catch((error: unknown) => {
      this.logger.debug('task.not_dequeued', { taskId: id, error });
    });
    return cancelled.task;
  }
}
