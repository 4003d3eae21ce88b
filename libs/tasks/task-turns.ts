import { Injectable } from '@nestjs/common';
import type { AppError } from '#contract/app-error.js';
import type { Slot, SlotRefusal, Turn } from '#queue/fair-order.js';
import { ImageQueue } from '#queue/image-queue.js';
import { queueFull } from './refusals.js';
import { TaskEstimates } from './task-estimates.js';
import type { TaskCommand } from './task.js';

/** What a task needs before its row is written: a place among those of its key, and its key's next turn. */
export interface Place {
  readonly turn: Turn;
  /** Milliseconds from acceptance to the end; undefined when nobody can say. */
  readonly estimatedMs: number | undefined;
}

/** A place, or why there is none. */
export type Admitted = { readonly place: Place } | { readonly place: undefined; readonly refusal: AppError };

/** The turns of the callers, for tasks that end in time. Throws like ImageQueue. */
@Injectable()
export class TaskTurns {
  constructor(
    private readonly queue: ImageQueue,
    private readonly estimates: TaskEstimates,
  ) {}

  /**
   * Refuses with `queue_full`, and takes nothing, when the task would wait past its deadline. With a slot it takes that as well, or
   * neither and answers why.
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

  /** The turn is not needed after all. Never fails. */
  giveBack(command: TaskCommand): void {
    void this.queue.giveBackTurn(command);
  }

  /** The task's row is written: it waits in line from now on. */
  async join({ id }: TaskCommand, { turn }: Place): Promise<void> {
    await this.queue.add({ taskId: id, epoch: 0, turn });
  }
}
