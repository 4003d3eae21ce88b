import { Injectable } from '@nestjs/common';
import type { AppError } from '#contract/app-error.js';
import type { Slot, SlotRefusal, Turn } from '#queue/fair-order.js';
import { ImageQueue } from '#queue/image-queue.js';
import { queueFull } from './refusals.js';
import { TaskEstimates } from './task-estimates.js';
import type { TaskCommand } from '../row/task.js';

/** What a task gets before its row is written: its key's next turn, and the estimate that follows from it. */
export interface Place {
  readonly turn: Turn;
  /** Milliseconds from acceptance to the end; undefined when unknown. */
  readonly estimatedMs: number | undefined;
}

/** A place, or the refusal of one. */
export type Admitted = { readonly place: Place } | { readonly place: undefined; readonly refusal: AppError };

/** Takes callers' turns in the queue, for tasks that can end in time. Throws like ImageQueue. */
@Injectable()
export class TaskTurns {
  constructor(
    private readonly queue: ImageQueue,
    private readonly estimates: TaskEstimates,
  ) {}

  /**
   * Refuses with `queue_full`, and takes nothing, when the task would wait past its deadline. With a slot, takes both
   * or neither; returns why if there is no slot.
   */
  async take(command: TaskCommand, deadlineMs: number, slot?: Slot): Promise<Admitted | SlotRefusal> {
    const most = this.estimates.mostBefore(command, deadlineMs);
    const offer = await (slot === undefined
      ? this.queue.takeTurn(command, most)
      : this.queue.takeTurnAndSlot(command, slot, most));
    if (typeof offer === 'string') return offer;
    const { turn, before } = offer;
    if (turn !== undefined) return { place: { turn, estimatedMs: this.estimates.total(command, before) } };
    return { place: undefined, refusal: queueFull(this.estimates.passing(command, before - (most ?? before))) };
  }

  /** Returns a turn that is not needed after all. Never fails. */
  returnTurn(command: TaskCommand): void {
    void this.queue.returnTurn(command);
  }

  /** Returns a turn and its slot, of which it is not known whether they were taken. Never fails. */
  returnTurnAndSlot(command: TaskCommand, slot: Slot): void {
    void this.queue.returnTurnAndSlot(command, slot);
  }

  /** Enqueues the task, once its row is written. */
  async join({ id }: TaskCommand, { turn }: Place): Promise<void> {
    await this.queue.add({ taskId: id, epoch: 0, turn });
  }
}
