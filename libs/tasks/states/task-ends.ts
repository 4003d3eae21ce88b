import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { MODERATION_CATEGORIES, type ModerationDetails } from '#contract/moderation-details.js';
import { Metrics } from '#telemetry/metrics.js';
import { EnqueueDeliveries } from '#notifications/deliveries/enqueue-deliveries.js';
import { LostCallers } from '../intake/lost-callers.js';
import { TaskEvents } from './task-events.js';
import { TaskSlots, type SlotTaker } from '../admission/task-slots.js';
import type { Completion } from './task-transitions.js';
import type { TaskOutcome } from '../row/task.js';

type EndedTask = Pick<SlotTaker, 'id' | 'accountId' | 'originalKeyId'>;

const UNTOLD: ModerationDetails = { categories: [], moderation_stage: 'unknown' };

/** The connection for what is told of a task's end, which nothing waits for. */
export const ENDS_REDIS = Symbol('ends redis');

/**
 * After an ended task's row is committed, frees its slots, notifies waiters (WaitForTask of the API) and its worker, and
 * queues the webhook deliveries that the row's trigger has created. Never fails.
 */
@Injectable()
export class TaskEnds {
  constructor(
    private readonly slots: TaskSlots,
    private readonly events: TaskEvents,
    private readonly deliveries: EnqueueDeliveries,
    private readonly metrics: Metrics,
    private readonly lost: LostCallers,
    @Inject(ENDS_REDIS) private readonly redis: Redis,
  ) {}

  /** With `row`, waiters get the outcome without reading the row. */
  completed(task: EndedTask, asynchronous: boolean, row?: Completion): void {
    this.metrics.tasksEnded.inc({ outcome: 'completed', code: '' });
    this.tell(task, asynchronous, row?.outcome);
    if (row?.waiter && !asynchronous) this.lost.markCompleted(task.id, row.waiter, this.connected);
  }

  /** `moderation`: what the provider said of a blocked request. */
  failed(task: EndedTask, asynchronous: boolean, code: string, moderation?: ModerationDetails): void {
    this.metrics.tasksEnded.inc({ outcome: 'failed', code });
    if (code === 'moderation_blocked') this.countBlock(moderation);
    this.tell(task, asynchronous);
  }

  /** Also tells its worker, if it has one, to stop. */
  cancelled(task: EndedTask): void {
    this.metrics.tasksEnded.inc({ outcome: 'cancelled', code: '' });
    this.tell(task, true);
    this.events.publishCancelled(task.id);
  }

  /** Providers may name any category, so only known ones become labels. */
  private countBlock({ categories, moderation_stage: stage }: ModerationDetails = UNTOLD): void {
    const known = categories.map((name) => (MODERATION_CATEGORIES.includes(name) ? name : 'other'));
    for (const category of new Set(known.length === 0 ? ['unknown'] : known))
      this.metrics.moderationBlocks.inc({ stage, category });
  }

  /** Only asynchronous tasks have webhooks, so it looks for none of a task that is known to be another. */
  private tell(task: EndedTask, mayHaveWebhooks: boolean, outcome?: TaskOutcome): void {
    this.slots.free(task, this.connected);
    this.events.publishSettled(task.id, outcome, this.connected);
    if (mayHaveWebhooks) this.deliveries.enqueueOfTask(task.id);
  }

  /** Undefined while there is no connection: events published then would be kept for later, when no caller needs them. */
  private get connected(): Redis | undefined {
    return this.redis.status === 'ready' ? this.redis : undefined;
  }
}
