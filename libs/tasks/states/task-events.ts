import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { PRODUCER_REDIS, LISTENING_REDIS } from '#redis/redis.module.js';
import { RedisConfig } from '#redis/redis.config.js';
import type { TaskOutcome } from '../row/task.js';

/**
 * What is published: `settled` when a task has ended, `changed` when its phase or progress changed, `cancelled` when
 * the worker that holds it should stop, `thumbnail` when a worker has created the thumbnail of its image, or will not.
 */
type TaskEvent = 'settled' | 'changed' | 'cancelled' | 'thumbnail';

/**
 * Receives an event of a task. `outcome()` parses the outcome, which the row has by then, from the message, so that the
 * row need not be read; undefined when the message has none.
 */
type Listener = (taskId: string, outcome: () => TaskOutcome | undefined) => void;

/**
 * Publishes events of tasks to other processes. A message is the task's id, followed by the outcome if a worker
 * completed it; without an outcome, listeners read the row. Messages may be lost, so nothing may depend on them.
 */
@Injectable()
export class TaskEvents {
  constructor(
    @Inject(PRODUCER_REDIS) private readonly redis: Redis,
    private readonly config: RedisConfig,
  ) {}

  /**
   * The task has ended. Never fails: a waiter that misses the event finds the ended row at its next check. `over`:
   * another connection than that of this class.
   */
  publishSettled(taskId: string, outcome?: TaskOutcome, over?: Redis): void {
    this.publish('settled', outcome === undefined ? taskId : `${taskId} ${JSON.stringify(outcome)}`, over);
  }

  /** The phase or progress of a pending task has changed. Never fails. */
  publishChanged(taskId: string): void {
    this.publish('changed', taskId);
  }

  /** The task was cancelled. Never fails: a worker that misses it stops when it next renews its lease. */
  publishCancelled(taskId: string): void {
    this.publish('cancelled', taskId);
  }

  /** The thumbnail was created and recorded, or will not be created. Never fails. */
  publishThumbnail(taskId: string): void {
    this.publish('thumbnail', taskId);
  }

  private publish(events: TaskEvent, message: string, over = this.redis): void {
    over.publish(channelOf(this.config, events), message).catch(() => undefined);
  }
}

/** Receives events on a dedicated connection, because a subscribed connection can do nothing else. */
@Injectable()
export class TaskEventListener {
  private readonly listeners = new Map<string, Set<Listener>>();

  constructor(
    @Inject(LISTENING_REDIS) private readonly redis: Redis,
    private readonly config: RedisConfig,
  ) {
    redis.on('message', (channel: string, message: string) => {
      const [taskId = ''] = message.split(' ', 1);
      const outcome = () => outcomeIn(message.slice(taskId.length));
      for (const listener of this.listeners.get(channel) ?? []) listener(taskId, outcome);
    });
  }

  onSettled(listener: Listener): void {
    this.listen('settled', listener);
  }

  onChanged(listener: Listener): void {
    this.listen('changed', listener);
  }

  onCancelled(listener: Listener): void {
    this.listen('cancelled', listener);
  }

  onThumbnail(listener: Listener): void {
    this.listen('thumbnail', listener);
  }

  close(): void {
    this.listeners.clear();
    this.redis.disconnect();
  }

  /** Subscribes only to events that have a listener in this process. */
  private listen(events: TaskEvent, listener: Listener): void {
    const channel = channelOf(this.config, events);
    const others = this.listeners.get(channel);
    if (others !== undefined) {
      others.add(listener);
      return;
    }
    this.listeners.set(channel, new Set([listener]));
    // ioredis resubscribes by itself after a reconnect.
    this.redis.subscribe(channel).catch(() => undefined);
  }
}

function channelOf({ redisPrefix }: RedisConfig, events: TaskEvent): string {
  return `${redisPrefix}:tasks:${events}`;
}

/** Undefined when there is no outcome, or another version wrote something that does not parse. */
function outcomeIn(text: string): TaskOutcome | undefined {
  if (text === '') return undefined;
  try {
    const outcome = JSON.parse(text) as TaskOutcome & { readonly finishedAt: string };
    return { ...outcome, finishedAt: new Date(outcome.finishedAt) };
  } catch {
    return undefined;
  }
}
