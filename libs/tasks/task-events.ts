import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { PRODUCER_REDIS, LISTENING_REDIS } from '#redis/redis.module.js';
import { RedisConfig } from '#redis/redis.config.js';
import type { TaskOutcome } from './task.js';

/**
 * What is published: `settled` when a task has ended, `changed` when its phase or progress changed, `cancelled` when the
 * worker that holds it should stop.
 */
type TaskEvent = 'settled' | 'changed' | 'cancelled';

/**
 * Hears of a task. With an outcome, which its row has by then, there is no need to read that; it is read from the message when
 * it is asked for, and undefined where the message has none.
 */
type Listener = (taskId: string, outcome: () => TaskOutcome | undefined) => void;

/**
 * Tells other processes that something happened to a task. A message is the id, and of a task that a worker has ended also how; who
 * hears no more than the id reads the row. Messages may be lost, so nobody may depend on hearing one.
 */
@Injectable()
export class TaskEvents {
  constructor(
    @Inject(PRODUCER_REDIS) private readonly redis: Redis,
    private readonly config: RedisConfig,
  ) {}

  /** The task has ended. Never fails: a caller that misses the event finds the row at its next look. */
  publishSettled(taskId: string, outcome?: TaskOutcome): void {
    this.publish('settled', outcome === undefined ? taskId : `${taskId} ${JSON.stringify(outcome)}`);
  }

  /** The task is pending still, but its phase or progress is another. Never fails. */
  publishChanged(taskId: string): void {
    this.publish('changed', taskId);
  }

  /** The task was cancelled. Never fails: a worker that misses it stops when it next renews its lease. */
  publishCancelled(taskId: string): void {
    this.publish('cancelled', taskId);
  }

  private publish(events: TaskEvent, message: string): void {
    this.redis.publish(channelOf(this.config, events), message).catch(() => undefined);
  }
}

/** Hears events on a connection of its own, because a subscribed connection can do nothing else. */
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

  close(): void {
    this.listeners.clear();
    this.redis.disconnect();
  }

  /** Only events that something here listens to are subscribed to. */
  private listen(events: TaskEvent, listener: Listener): void {
    const channel = channelOf(this.config, events);
    const others = this.listeners.get(channel);
    if (others !== undefined) {
      others.add(listener);
      return;
    }
    this.listeners.set(channel, new Set([listener]));
    // ioredis subscribes again by itself after a reconnect.
    this.redis.subscribe(channel).catch(() => undefined);
  }
}

function channelOf({ redisPrefix }: RedisConfig, events: TaskEvent): string {
  return `${redisPrefix}:tasks:${events}`;
}

/** Undefined where there is none, also in what another version has written. */
function outcomeIn(text: string): TaskOutcome | undefined {
  if (text === '') return undefined;
  try {
    const outcome = JSON.parse(text) as TaskOutcome & { readonly finishedAt: string };
    return { ...outcome, finishedAt: new Date(outcome.finishedAt) };
  } catch {
    return undefined;
  }
}
