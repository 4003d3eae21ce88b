import type { Redis } from 'ioredis';
import { FairOrder, FIRST_PRIORITY, type QueueCaller, type Turn } from './fair-order.js';
import { IMAGE_QUEUE, imageJobId, RUN_IMAGE_TASK } from './job-catalog.js';
import { JobSender } from './job-sender.js';

/** A task that wants a place in the queue. */
export interface QueueEntry {
  readonly taskId: string;
  readonly epoch: number;
  /** Milliseconds before a worker may take it. */
  readonly delayMs?: number;
  /** Who waits for a turn; absent for a task that has had its turn and comes back. */
  readonly caller?: QueueCaller;
  /** The turn's priority, when its caller has taken it already. */
  readonly priority?: number;
}

/**
 * Redis keeps nothing of a finished job: the row is the record, and "is it queued?" has to be answered by the
 * existence of the job alone. The row also owns retries, so a job runs once.
 * Every job has a priority, because one without would overtake all that have.
 */
const JOB_OPTIONS = { attempts: 1, removeOnComplete: true, removeOnFail: true } as const;

/** The sending end of the queue. */
export class ImageQueue {
  private readonly sender: JobSender;
  private readonly order: FairOrder;

  constructor(redis: Redis, prefix: string) {
    this.sender = new JobSender(redis, prefix, IMAGE_QUEUE);
    this.order = new FairOrder(redis, prefix);
  }

  /** Throws when Redis refuses, is down, or does not answer within the command timeout. */
  async add(entry: QueueEntry): Promise<void> {
    const queue = await this.sender.open();
    const turn = entry.caller === undefined || entry.priority !== undefined ? [] : [entry.caller];
    const [priority = entry.priority ?? FIRST_PRIORITY] = await this.order.takeTurns(turn);
    await queue.add(RUN_IMAGE_TASK, { taskId: entry.taskId }, jobOptions(entry, priority));
  }

  /**
   * Takes the caller's next turn for a job that is added afterwards, unless more than `mostBefore` jobs would be before
   * it. Throws like `add`.
   */
  async takeTurn(caller: QueueCaller, mostBefore?: number): Promise<Turn> {
    return this.order.takeTurn(caller, mostBefore);
  }

  /** Says that the caller's last turn was not needed; never fails, since at worst its next one comes a round later. */
  async giveBackTurn(caller: QueueCaller): Promise<void> {
    await this.order.giveBack(caller).catch(() => undefined);
  }

  async addAll(entries: readonly QueueEntry[]): Promise<void> {
    if (entries.length === 0) return;
    const queue = await this.sender.open();
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
    const queue = await this.sender.open();
    await queue.remove(imageJobId(entry.taskId, entry.epoch));
  }

  /** Says that a job has left the queue for a worker, for the fair order of those behind it. Throws like `add`. */
  async started(priority: number): Promise<void> {
    await this.order.started(priority);
  }

  /** Those of the entries that have no job: never added, or lost with Redis. */
  async missing<T extends QueueEntry>(entries: readonly T[]): Promise<T[]> {
    return this.sender.missing(entries, ({ taskId, epoch }) => imageJobId(taskId, epoch));
  }

  async close(): Promise<void> {
    await this.sender.close();
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
