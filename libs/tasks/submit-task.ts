import { AppError } from '#contract/app-error.js';
import type { ImageQueue } from '#queue/image-queue.js';
import type { QueueHealth } from '#queue/queue-health.js';
import type { Logger } from '#telemetry/logger.js';
import type { TaskStore } from './task-store.js';
import type { TasksConfig } from './tasks.config.js';
import type { Task, TaskCommand } from './task.js';

/** Seconds after which a caller that was turned away may try again. */
const RETRY_AFTER = 2;

/** Accepts a task: row first, queue second. */
export class SubmitTask {
  constructor(
    private readonly store: TaskStore,
    private readonly queue: ImageQueue,
    private readonly health: QueueHealth,
    private readonly config: TasksConfig,
    private readonly logger: Logger,
  ) {}

  /**
   * Returns once the row is committed, from when on the task will end whatever happens.
   * Throws AppError `server_is_overloaded` when Redis is down or Postgres does not answer; then there is no task.
   */
  async submit(command: TaskCommand): Promise<Task> {
    if (!this.health.accepting) throw overloaded();
    const task = await this.store.insert(command, this.config.deadlineMs).catch((cause: unknown) => {
      throw overloaded(cause);
    });
    try {
      await this.queue.add({ taskId: task.id, epoch: 0 });
    } catch (error) {
      // The row stands, so the caller keeps waiting and the sweeper enqueues it.
      this.health.reportFailure();
      this.logger.warn('task.not_enqueued', { taskId: task.id, error });
    }
    return task;
  }
}

function overloaded(cause?: unknown): AppError {
  return new AppError('server_is_overloaded', 'The service cannot take requests right now. Please try again shortly.', {
    retryAfter: RETRY_AFTER,
    cause,
  });
}
