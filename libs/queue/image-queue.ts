import { InjectQueue } from '@nestjs/bullmq';
import { Inject, Injectable } from '@nestjs/common';
import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { PRODUCER_REDIS } from '#redis/redis.module.js';
import { FairOrder, type QueueCaller, type Turn } from './fair-order.js';
import { FIRST_PRIORITY } from './fair-scripts.js';
import { imageJobId, RUN_IMAGE_TASK } from './job-catalog.js';
import { IMAGE_SENDER, whileConnected } from './queue-sender.js';

/** A task to enqueue. */
export interface QueueEntry {
  readonly taskId: string;
  readonly epoch: number;
  /** Milliseconds before a worker may take it. */
  readonly delayMs?: number;
  /** Whose turn the task takes; absent for a task that has had its turn and comes back. */
  readonly caller?: QueueCaller;
  /** The turn, if it was already taken. */
  readonly turn?: Turn;
}

/**
 * Redis keeps nothing of a finished job: the row is the record, and a task is queued exactly when its job exists.
 * The row also handles retries, so a job runs once.
 * Every job has a priority, because one without would overtake all that have one.
 */
const JOB_OPTIONS = { attempts: 1, removeOnComplete: true, removeOnFail: true } as const;

/** The producer of the image queue. */
@Injectable()
export class ImageQueue {
  constructor(
    @InjectQueue(IMAGE_SENDER) private readonly queue: Queue,
    @Inject(PRODUCER_REDIS) private readonly redis: Redis,
    private readonly order: FairOrder,
  ) {
    queue.on('error', () => undefined); // reported by the connection itself
  }

  /** Throws when Redis refuses, is down, or does not answer within the command timeout. */
  async add(entry: QueueEntry): Promise<void> {
    await this.addAll([entry]);
  }

  /** Throws like `add`. */
  async addAll(entries: readonly QueueEntry[]): Promise<void> {
    if (entries.length === 0) return;
    const queue = whileConnected(this.queue, this.redis);
    const turns = await this.order.takeTurns(entries.flatMap(({ caller, turn }) => (turn ? [] : (caller ?? []))));
    const jobs = entries.map((entry) => {
      const turn = entry.turn ?? (entry.caller && turns.shift());
      return { turn, data: { taskId: entry.taskId }, opts: jobOptions(entry, turn?.priority ?? FIRST_PRIORITY) };
    });
    // Sends both at once; `missing` finds a turn whose job does not arrive.
    const joined = this.order.join(
      jobs.flatMap(({ turn, opts: { jobId } }) => (turn ? { task: jobId, job: jobId, turn } : [])),
    );
    const [first] = jobs;
    const added =
      first !== undefined && jobs.length === 1
        ? queue.add(RUN_IMAGE_TASK, first.data, first.opts)
        : queue.addBulk(jobs.map(({ data, opts }) => ({ name: RUN_IMAGE_TASK, data, opts })));
    await Promise.all([joined, added]);
  }

  /** Removes a waiting task; a job that a worker has already taken finds nothing to do. Throws like `add`. */
  async remove(entry: QueueEntry): Promise<void> {
    const queue = whileConnected(this.queue, this.redis);
    const jobId = await this.order.leave(imageJobId(entry.taskId, entry.epoch));
    if (jobId !== undefined) await queue.remove(jobId);
  }

  /** Lets delayed jobs run at once. Never fails: what is not delayed, or can't be reached, runs when it is due. */
  async hurry(jobIds: readonly string[]): Promise<void> {
    const promote = async (id: string): Promise<void> =>
      (await whileConnected(this.queue, this.redis).getJob(id))?.promote();
    await Promise.all(jobIds.map((id) => promote(id).catch(() => undefined)));
  }

  /** The entries that no job would run, because it was never added or was lost with Redis. Throws like `add`. */
  async missing<T extends QueueEntry>(entries: readonly T[]): Promise<T[]> {
    const lost = await this.order.missing(entries.map(({ taskId, epoch }) => imageJobId(taskId, epoch)));
    return entries.filter((_entry, index) => lost[index]);
  }

  /** Keeps a task from being enqueued by a sweep for so long, because its caller was refused. Never fails. */
  refuse(taskId: string, forMs: number): void {
    this.redis.set(this.refusedKey(taskId), '', 'PX', forMs).catch(() => undefined);
  }

  /** Those of the tasks that were refused. Throws like `add`. */
  async refused(taskIds: readonly string[]): Promise<ReadonlySet<string>> {
    if (taskIds.length === 0) return new Set();
    const marks = await this.redis.mget(taskIds.map((id) => this.refusedKey(id)));
    return new Set(taskIds.filter((_id, index) => marks[index] !== null));
  }

  /** Whether this process may go through the whole backlog; one may every `everyMs`. Throws like `add`. */
  async mayScan(everyMs: number): Promise<boolean> {
    return (await this.redis.set(this.queue.toKey('looked-through'), '', 'PX', Math.ceil(everyMs), 'NX')) !== null;
  }

  private refusedKey(taskId: string): string {
    return this.queue.toKey(`refused:${taskId}`);
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
