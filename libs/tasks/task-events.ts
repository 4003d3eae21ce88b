import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { PRODUCER_REDIS, LISTENING_REDIS } from '#redis/redis.module.js';
import { RedisConfig } from '#redis/redis.config.js';

/**
 * What is published: `settled` when a task has ended, `changed` when its phase or progress changed, `cancelled` when the
 * worker that holds it should stop.
 */
type TaskEvent = 'settled' | 'changed' | 'cancelled';

/**
 * Tells other processes that something happened to a task. A message is only the id; who hears it reads the
 * row. Messages may be lost, so nobody may depend on hearing one.
 */
@Injectable()
export class TaskEvents {
  constructor(
    @Inject(PRODUCER_REDIS) private readonly redis: Redis,
    private readonly config: RedisConfig,
  ) {}

  /** The task has ended. Never fails: a caller that misses the event finds the row at its next look. */
  publishSettled(taskId: string): void {
    this.publish('settled', taskId);
  }

  /** The task is pending still, but its phase or progress is another. Never fails. */
  publishChanged(taskId: string): void {
    this.publish('changed', taskId);
  }

  /** The task was cancelled. Never fails: a worker that misses it stops when it next renews its lease. */
  publishCancelled(taskId: string): void {
    this.publish('cancelled', taskId);
  }

  private publish(events: TaskEvent, taskId: string): void {
    this.redis.publish(channelOf(this.config, events), taskId).catch(() => undefined);
  }
}

/** Hears events on a connection of its own, because a subscribed connection can do nothing else. */
@Injectable()
export class TaskEventListener {
  private readonly listeners = new Map<string, Set<(taskId: string) => void>>();

  constructor(
    @Inject(LISTENING_REDIS) private readonly redis: Redis,
    private readonly config: RedisConfig,
  ) {
    redis.on('message', (channel: string, taskId: string) => {
      for (const listener of this.listeners.get(channel) ?? []) listener(taskId);
    });
  }

  onSettled(listener: (taskId: string) => void): void {
    this.listen('settled', listener);
  }

  onChanged(listener: (taskId: string) => void): void {
    this.listen('changed', listener);
  }

  onCancelled(listener: (taskId: string) => void): void {
    this.listen('cancelled', listener);
  }

  close(): void {
    this.listeners.clear();
    this.redis.disconnect();
  }

  /** Only events that something here listens to are subscribed to. */
  private listen(events: TaskEvent, listener: (taskId: string) => void): void {
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
