import { Injectable } from '@nestjs/common';
import { Metrics } from '#telemetry/metrics.js';
import { SendDeliveries } from '#webhooks/send-deliveries.js';
import { LostCallers } from '../intake/lost-callers.js';
import { TaskEvents } from './task-events.js';
import { TaskSlots, type SlotTaker } from '../admission/task-slots.js';
import type { Completion } from './task-transitions.js';
import type { TaskOutcome } from '../row/task.js';

type EndedTask = Pick<SlotTaker, 'id' | 'accountId' | 'originalKeyId'>;

/** After an ended task's row is committed, frees its slots and notifies waiters, webhooks and worker. Never fails. */
@Injectable()
export class TaskEnds {
  constructor(
    private readonly slots: TaskSlots,
    private readonly events: TaskEvents,
    private readonly deliveries: SendDeliveries,
    private readonly metrics: Metrics,
    private readonly lost: LostCallers,
  ) {}

  /** With `row`, waiters get the outcome without reading the row. */
  completed(task: EndedTask, asynchronous: boolean, row?: Completion): void {
    this.metrics.tasksEnded.inc({ outcome: 'completed', code: '' });
    this.tell(task, asynchronous, row?.outcome);
    if (row?.waiter) this.lost.markCompleted(task.id, row.waiter);
  }

  failed(task: EndedTask, asynchronous: boolean, code: string): void {
    this.metrics.tasksEnded.inc({ outcome: 'failed', code });
    this.tell(task, asynchronous);
  }

  /** Also tells its worker, if it has one, to stop. */
  cancelled(task: EndedTask): void {
    this.metrics.tasksEnded.inc({ outcome: 'cancelled', code: '' });
    this.tell(task, true);
    this.events.publishCancelled(task.id);
  }

  /** Only asynchronous tasks have webhooks, so for others it looks for none. */
  private tell(task: EndedTask, asynchronous: boolean, outcome?: TaskOutcome): void {
    this.slots.free(task);
    this.events.publishSettled(task.id, outcome);
    if (asynchronous) this.deliveries.announce(task.id);
  }
}
