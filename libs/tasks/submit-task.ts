import { AppError } from '#contract/app-error.js';
import type { QueueCaller } from '#queue/fair-order.js';
import type { ImageQueue } from '#queue/image-queue.js';
import type { QueueHealth } from '#queue/queue-health.js';
import type { Logger } from '#telemetry/logger.js';
import type { RequestIdentity } from './request-identity.js';
import type { Intake, TaskIntake } from './task-intake.js';
import type { TaskSlots } from './task-slots.js';
import type { TasksConfig } from './tasks.config.js';
import type { TaskCommand } from './task.js';

/** Seconds after which a caller that was turned away may try again. */
const RETRY_AFTER = 2;

/** Accepts a task, or finds the one that the request repeats: row first, queue second. */
export class SubmitTask {
  constructor(
    private readonly intake: TaskIntake,
    private readonly places: { readonly queue: ImageQueue; readonly slots: TaskSlots },
    private readonly health: QueueHealth,
    private readonly config: TasksConfig,
    private readonly logger: Logger,
  ) {}

  /**
   * Returns once the row is committed, from when on the task will end whatever happens.
   * Throws AppError: `server_is_overloaded` when Redis is down or Postgres does not answer, then there is no new task;
   * `concurrency_limit_exceeded` when the key has as many tasks in flight as it may;
   * `idempotency_key_reused` and `idempotency_in_progress` as TaskIntake says.
   */
  async submit(command: TaskCommand, identity?: RequestIdentity): Promise<Intake> {
    const place = await this.takePlace(command);
    const intake = await (
      place === 'taken'
        ? this.intake.take(command, this.config.deadlineMs, identity)
        : // What was accepted before needs no queue and no place to be answered again.
          this.intake.find(command, identity)
    ).catch((cause: unknown) => {
      this.places.slots.free(command.apiKeyId, command.id);
      throw cause instanceof AppError ? cause : overloaded(cause);
    });
    if (intake === undefined) throw place === 'none-left' ? tooManyTasks(this.config.maxTasksInFlight) : overloaded();
    if (intake.attached) this.places.slots.free(command.apiKeyId, command.id);
    else await this.enqueue(intake.task.id, command);
    return intake;
  }

  private async takePlace(command: TaskCommand): Promise<'taken' | 'none-left' | 'unknown'> {
    if (!this.health.accepting) return 'unknown';
    try {
      const taken = await this.places.slots.take(command.apiKeyId, command.id, this.config.deadlineMs);
      return taken ? 'taken' : 'none-left';
    } catch (error) {
      this.health.reportFailure();
      this.logger.warn('task.not_counted', { taskId: command.id, error });
      return 'unknown';
    }
  }

  private async enqueue(taskId: string, caller: QueueCaller): Promise<void> {
    try {
      await this.places.queue.add({ taskId, epoch: 0, caller });
    } catch (error) {
      // The row stands, so the caller keeps waiting and the sweeper enqueues it.
      this.health.reportFailure();
      this.logger.warn('task.not_enqueued', { taskId, error });
    }
  }
}

function tooManyTasks(limit: number): AppError {
  return new AppError('concurrency_limit_exceeded', `This API key may have ${limit} tasks in flight at a time.`, {
    retryAfter: RETRY_AFTER,
  });
}

function overloaded(cause?: unknown): AppError {
  return new AppError('server_is_overloaded', 'The service cannot take requests right now. Please try again shortly.', {
    retryAfter: RETRY_AFTER,
    cause,
  });
}
