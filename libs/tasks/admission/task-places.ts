import { Injectable } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import { overloaded } from '#contract/unavailable.js';
import { FairOrder, type Turn } from '#queue/fair-order.js';
import { ImageQueue } from '#queue/image-queue.js';
import { QueueHealth } from '#queue/queue-health.js';
import { Logger } from '#telemetry/logger.js';
import { queueFull, tooManyTasks } from './refusals.js';
import { TaskEstimates } from './task-estimates.js';
import { TaskSlots } from './task-slots.js';
import { deadlineOf, TasksConfig } from '../row/tasks.config.js';
import { turnTakerOf } from '../row/batch-turns.js';
import type { TaskCommand } from '../row/task.js';

/** What a task gets before its row is written: its next turn in the queue, and the estimate that follows from it. */
export interface Place {
  readonly turn: Turn;
  /** Milliseconds from acceptance to the end; undefined when unknown. */
  readonly estimatedMs: number | undefined;
}

/** A place, or the refusal of one. */
export type PlaceAnswer = { readonly place: Place } | { readonly place: undefined; readonly refusal: AppError };

/**
 * Places for tasks: a slot among those that their key and account may have in flight, and a turn in the queue. Both are
 * taken before the row is written, and the task takes its place in the queue afterwards.
 */
@Injectable()
export class TaskPlaces {
  constructor(
    private readonly slots: TaskSlots,
    private readonly order: FairOrder,
    private readonly queue: ImageQueue,
    private readonly estimates: TaskEstimates,
    private readonly health: QueueHealth,
    private readonly config: TasksConfig,
    private readonly logger: Logger,
  ) {}

  /**
   * Never throws. Refusals: `server_is_overloaded` when Redis is down, `concurrency_limit_exceeded` when the key or its
   * account has as many tasks in flight as it may, `queue_full` when the task would wait past its deadline. They leave
   * nothing.
   */
  async take(command: TaskCommand): Promise<PlaceAnswer> {
    if (!this.health.accepting) return refuse(overloaded());
    try {
      const most = this.estimates.mostBefore(command, deadlineOf(command, this.config));
      const taker = turnTakerOf(command);
      const offer = await this.slots.with(command, (slot) =>
        slot === undefined ? this.order.takeTurn(taker, most) : this.order.takeTurnAndSlot(taker, slot, most),
      );
      if ('limit' in offer) return refuse(tooManyTasks(offer));
      const { turn, before } = offer;
      if (turn === undefined) return refuse(queueFull(this.estimates.passing(command, before - (most ?? before))));
      return { place: { turn, estimatedMs: this.estimates.total(command, before) } };
    } catch (error) {
      if (!(error instanceof AppError)) this.health.reportFailure();
      this.logger.warn('task.not_counted', { taskId: command.id, error });
      // A frozen Redis executes the commands sent to it when it resumes; this one comes after them.
      const slot = this.slots.of(command);
      if (slot !== undefined) this.order.returnTurnAndSlot(turnTakerOf(command), slot).catch(() => undefined);
      return refuse(error instanceof AppError ? error : overloaded(error));
    }
  }

  /** The task is not a new one after all. Never fails: at worst, the key's next turn comes a round later. */
  returnPlace(command: TaskCommand): void {
    this.slots.free(command);
    this.order.returnTurn(turnTakerOf(command)).catch(() => undefined);
  }

  /** Never fails: the row stands, so its caller keeps waiting, and when this is false it is found by the sweeper. */
  async enqueue({ id }: TaskCommand, { turn }: Place): Promise<boolean> {
    try {
      await this.queue.add({ taskId: id, epoch: 0, turn });
      return true;
    } catch (error) {
      this.health.reportFailure();
      this.logger.warn('task.not_enqueued', { taskId: id, error });
      return false;
    }
  }
}

function refuse(refusal: AppError): PlaceAnswer {
  return { place: undefined, refusal };
}
