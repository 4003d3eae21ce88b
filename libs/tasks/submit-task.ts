import { AppError } from '#contract/app-error.js';
import type { QueueCaller } from '#queue/fair-order.js';
import type { ImageQueue } from '#queue/image-queue.js';
import type { QueueHealth } from '#queue/queue-health.js';
import type { Logger } from '#telemetry/logger.js';
import type { RequestIdentity } from './request-identity.js';
import type { Intake, TaskIntake } from './task-intake.js';
import type { TasksConfig } from './tasks.config.js';
import type { TaskCommand } from './task.js';

/** Seconds after which a caller that was turned away may try again. */
const RETRY_AFTER = 2;

/** Accepts a task, or finds the one that the request repeats: row first, queue second. */
export class SubmitTask {
  constructor(
    private readonly intake: TaskIntake,
    private readonly queue: ImageQueue,
    private readonly health: QueueHealth,
    private readonly config: TasksConfig,
    private readonly logger: Logger,
  ) {}

  /**
   * Returns once the row is committed, from when on the task will end whatever happens.
   * Throws AppError: `server_is_overloaded` when Redis is down or Postgres does not answer, then there is no new task;
   * `idempotency_key_reused` and `idempotency_in_progress` as TaskIntake says.
   */
  async submit(command: TaskCommand, identity?: RequestIdentity): Promise<Intake> {
    const { accepting } = this.health;
    const intake = await (
      accepting
        ? this.intake.take(command, this.config.deadlineMs, identity)
        : // What was accepted before needs no queue to be answered again.
          this.intake.find(command, identity)
    ).catch((cause: unknown) => {
      throw cause instanceof AppError ? cause : overloaded(cause);
    });
    if (intake === undefined) throw overloaded();
    if (!intake.attached) await this.enqueue(intake.task.id, command);
    return intake;
  }

  private async enqueue(taskId: string, caller: QueueCaller): Promise<void> {
    try {
      await this.queue.add({ taskId, epoch: 0, caller });
    } catch (error) {
      // The row stands, so the caller keeps waiting and the sweeper enqueues it.
      this.health.reportFailure();
      this.logger.warn('task.not_enqueued', { taskId, error });
    }
  }
}

function overloaded(cause?: unknown): AppError {
  return new AppError('server_is_overloaded', 'The service cannot take requests right now. Please try again shortly.', {
    retryAfter: RETRY_AFTER,
    cause,
  });
}
