import type { Redis } from 'ioredis';

/**
 * The bell: tells every process that a task has ended. A message is only the id; who hears it reads the row.
 * Messages may be lost, so nobody may depend on hearing one.
 */
export class TaskBell {
  private readonly channel: string;

  constructor(
    private readonly redis: Redis,
    prefix: string,
  ) {
    this.channel = settledChannel(prefix);
  }

  /** Never fails: a caller that misses the bell finds the row at its next look. */
  ring(taskId: string): void {
    this.redis.publish(this.channel, taskId).catch(() => undefined);
  }
}

/** Hears the bell on a connection of its own, because a subscribed connection can do nothing else. */
export class TaskBellListener {
  private readonly listeners = new Set<(taskId: string) => void>();

  constructor(
    private readonly redis: Redis,
    prefix: string,
  ) {
    const settled = settledChannel(prefix);
    redis.on('message', (channel: string, taskId: string) => {
      // The connection hears other channels too.
      if (channel !== settled) return;
      for (const listener of this.listeners) listener(taskId);
    });
    // ioredis subscribes again by itself after a reconnect.
    redis.subscribe(settled).catch(() => undefined);
  }

  onSettled(listener: (taskId: string) => void): void {
    this.listeners.add(listener);
  }

  close(): void {
    this.listeners.clear();
    this.redis.disconnect();
  }
}

function settledChannel(prefix: string): string {
  return `${prefix}:tasks:settled`;
}
