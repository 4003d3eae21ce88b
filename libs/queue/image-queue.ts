import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { FairOrder, FIRST_PRIORITY, type QueueCaller } from './fair-order.js';
import { IMAGE_QUEUE, imageJobId, RUN_IMAGE_TASK } from './job-catalog.js';

/** A task that wants a place in the queue. */
export interface QueueEntry {
  readonly taskId: string;
  readonly epoch: number;
  /** Milliseconds before a worker may take it. */
  readonly delayMs?: number;
  /** Who waits for a turn; absent for a task that has had its turn and comes back. */
  readonly caller?: QueueCaller;
}

/**
 * Redis keeps nothing of a finished job: the row is the record, and "is it queued?" has to be answered by the
 * existence of the job alone. The row also owns retries, so a job runs once.
 * Every job has a priority, because one without would overtake all that have.
 */
const JOB_OPTIONS = { attempts: 1, removeOnComplete: true, removeOnFail: true } as const;

/** The sending end of the queue. */
export class ImageQueue {
  private readonly keyPrefix: string;
  private readonly order: FairOrder;
  private opened: Promise<Queue> | undefined;

  constructor(
    private readonly redis: Redis,
    private readonly prefix: string,
  ) {
    this.keyPrefix = `${prefix}:${IMAGE_QUEUE}:`;
    this.order = new FairOrder(redis, prefix);
  }

  /** Throws when Redis refuses, is down, or does not answer within the command timeout. */
  async add(entry: QueueEntry): Promise<void> {
    const queue = await this.open();
    const [priority = FIRST_PRIORITY] = await this.order.takeTurns(entry.caller === undefined ? [] : [entry.caller]);
    await queue.add(RUN_IMAGE_TASK, { taskId: entry.taskId }, jobOptions(entry, priority));
  }

  async addAll(entries: readonly QueueEntry[]): Promise<void> {
    if (entries.length === 0) return;
    const queue = await this.open();
    const turns = await this.order.takeTurns(entries.flatMap(({ caller }) => caller ?? []));
    await queue.addBulk(
      entries.map((entry) => ({
        name: RUN_IMAGE_TASK,
        data: { taskId: entry.taskId },
        opts: jobOptions(entry, (entry.caller && turns.shift()) ?? FIRST_PRIORITY),
      })),
    );
  }

  /** Takes the job of an entry out, if no worker has it. Throws like `add`. */
  async remove(entry: QueueEntry): Promise<void> {
    const queue = await this.open();
    await queue.remove(imageJobId(entry.taskId, entry.epoch));
  }

  /** Says that a job has left the queue for a worker, for the fair order of those behind it. Throws like `add`. */
  async started(priority: number): Promise<void> {
    await this.order.started(priority);
  }

  /** Those of the entries that have no job: never added, or lost with Redis. */
  async missing<T extends QueueEntry>(entries: readonly T[]): Promise<T[]> {
    const pipeline = this.redis.pipeline();
    for (const entry of entries) pipeline.exists(this.keyPrefix + imageJobId(entry.taskId, entry.epoch));
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

  /**
   * BullMQ asks Redis for its version once and remembers a failure for ever, and before the first connection it
   * waits without limit. So it is made when Redis is there, and made anew when that failed.
   */
  private async open(): Promise<Queue> {
    if (this.redis.status !== 'ready') throw new Error('Redis is not connected');
    this.opened ??= this.create().catch((error: unknown) => {
      this.opened = undefined;
      throw error;
    });
    return this.opened;
  }

  private async create(): Promise<Queue> {
    const queue = new Queue(IMAGE_QUEUE, { connection: this.redis, prefix: this.prefix });
    queue.on('error', () => undefined); // reported by the connection itself
    await queue.waitUntilReady();
    return queue;
  }
}

function jobOptions(entry: QueueEntry, priority: number) {
  return {
    ...JOB_OPTIONS,
    priority,
    jobId: imageJobId(entry.taskId, entry.epoch),
    ...(entry.delayMs === undefined ? {} : { delay: entry.delayMs }),
  };
}
