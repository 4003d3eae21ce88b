import { AppError } from '#contract/app-error.js';
import type { Turn } from '#queue/fair-order.js';
import type { ImageQueue } from '#queue/image-queue.js';
import type { QueueHealth } from '#queue/queue-health.js';
import type { Logger } from '#telemetry/logger.js';
import { overloaded, queueFull, tooManyTasks } from './refusals.js';
import type { TaskEstimates } from './task-estimates.js';
import type { TaskSlots } from './task-slots.js';
import { deadlineOf, type TasksConfig } from './tasks.config.js';
import type { TaskCommand } from './task.js';

/** What a task needs before its row is written: a place among those of its key, and its key's next turn. */
export interface Place {
  readonly turn: Turn;
  /** Milliseconds from acceptance to the end; undefined when nobody can say. */
  readonly estimatedMs: number | undefined;
}

/** A place, or why there is none. */
export type Admitted = { readonly place: Place } | { readonly place: undefined; readonly refusal: AppError };

/** Lets tasks in: in Redis before their rows are written, and into the queue afterwards. */
export class Admission {
  constructor(
    private readonly parts: {
      readonly queue: ImageQueue;
      readonly slots: TaskSlots;
      readonly estimates: TaskEstimates;
    },
    private readonly health: QueueHealth,
    private readonly config: TasksConfig,
    private readonly logger: Logger,
  ) {}

  /**
   * Never throws. Refusals: `server_is_overloaded` when Redis is down, `concurrency_limit_exceeded` when the key
   * or its account has as many tasks in flight as it may, `queue_full` when the task would wait past its deadline. They leave nothing.
   */
  async take(command: TaskCommand): Promise<Admitted> {
    if (!this.health.accepting) return refuse(overloaded());
    const { queue, slots, estimates } = this.parts;
    const deadlineMs = deadlineOf(command, this.config);
    try {
      const full = await slots.take(command);
      if (full !== undefined) return refuse(tooManyTasks(full));
      const most = estimates.mostBefore(command, deadlineMs);
      const { turn, before } = await queue.takeTurn(command, most);
      if (turn !== undefined) return { place: { turn, estimatedMs: estimates.total(command, before) } };
      slots.free(command);
      return refuse(queueFull(estimates.passing(command, before - (most ?? before))));
    } catch (error) {
      if (!(error instanceof AppError)) this.health.reportFailure();
      this.logger.warn('task.not_counted', { taskId: command.id, error });
      // A frozen Redis carries out what it was told when it thaws; then this comes behind it.
      slots.free(command);
      return refuse(error instanceof AppError ? error : overloaded(error));
    }
  }

  /** The task is not a new one after all. Never fails. */
  giveBack(command: TaskCommand): void {
    this.parts.slots.free(command);
    void this.parts.queue.giveBackTurn(command);
  }

  /** Never fails: the row stands, so its caller keeps waiting, and when this is false it is found by the sweeper. */
  async enqueue(command: TaskCommand, { turn }: Place): Promise<boolean> {
    try {
      await this.parts.queue.add({ taskId: command.id, epoch: 0, turn });
      return true;
    } catch (error) {
      this.health.reportFailure();
      this.logger.warn('task.not_enqueued', { taskId: command.id, error });
      return false;
    }
  }
}

function refuse(refusal: AppError): Admitted {
  return { place: undefined, refusal };
}
