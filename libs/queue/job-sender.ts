import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';

/** What every queue of ours has in common at its sending end: a BullMQ queue that is there when Redis is. */
export class JobSender {
  private opened: Promise<Queue> | undefined;

  constructor(
    private readonly redis: Redis,
    private readonly prefix: string,
    private readonly name: string,
  ) {}

  /**
   * BullMQ asks Redis for its version once and remembers a failure for ever, and before the first connection it
   * waits without limit. So the queue is made when Redis is there, and made anew when that failed.
   * Throws when Redis is not connected or does not answer.
   */
  async open(): Promise<Queue> {
    if (this.redis.status !== 'ready') throw new Error('Redis is not connected');
    this.opened ??= this.create().catch((error: unknown) => {
      this.opened = undefined;
      throw error;
    });
    return this.opened;
  }

  /** Those of the entries whose job Redis does not know. Throws when Redis does not answer. */
  async missing<T>(entries: readonly T[], jobIdOf: (entry: T) => string): Promise<T[]> {
    const pipeline = this.redis.pipeline();
    for (const entry of entries) pipeline.exists(`${this.prefix}:${this.name}:${jobIdOf(entry)}`);
    const replies = (await pipeline.exec()) ?? [];
    return entries.filter((_entry, index) => {
      const [error, exists] = replies[index] ?? [new Error('no reply'), 1];
      if (error) throw error;
      return exists === 0;
    });
  }

  async close(): Promise<void> {
    const queue = await this.opened?.catch(() => undefined);
    await queue?.close();
  }

  private async create(): Promise<Queue> {
    const queue = new Queue(this.name, { connection: this.redis, prefix: this.prefix });
    queue.on('error', () => undefined); // reported by the connection itself
    await queue.waitUntilReady();
    return queue;
  }
}
