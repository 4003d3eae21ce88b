import type { Redis } from 'ioredis';
import { FairOrder, type QueuePlace } from './fair-order.js';
import type { QueueEntry } from './image-queue.js';
import { IMAGE_QUEUE, imageJobId } from './job-catalog.js';

/** Jobs by what they wait for. */
export interface QueueDepths {
  readonly waiting: number;
  readonly active: number;
  /** To be tried again later. */
  readonly delayed: number;
}

/** The queue as those who wait in it see it. */
export class QueueLine {
  private readonly keyPrefix: string;
  private readonly order: FairOrder;

  constructor(
    private readonly redis: Redis,
    prefix: string,
  ) {
    this.keyPrefix = `${prefix}:${IMAGE_QUEUE}:`;
    this.order = new FairOrder(redis, prefix);
  }

  /** The places of those that are in line, by task id, with one command for all. Throws when Redis does not answer. */
  async places(entries: readonly Pick<QueueEntry, 'taskId' | 'epoch'>[]): Promise<Map<string, QueuePlace>> {
    const places = await this.order.places(entries.map(({ taskId, epoch }) => imageJobId(taskId, epoch)));
    return new Map(entries.flatMap(({ taskId }, index) => (places[index] ? [[taskId, places[index]]] : [])));
  }

  /** Throws when Redis does not answer. */
  async depths(): Promise<QueueDepths> {
    const [prioritized, returned, active, delayed] = await Promise.all([
      this.redis.zcard(`${this.keyPrefix}prioritized`),
      this.redis.llen(`${this.keyPrefix}wait`),
      this.redis.llen(`${this.keyPrefix}active`),
      this.redis.zcard(`${this.keyPrefix}delayed`),
    ]);
    return { waiting: prioritized + returned, active, delayed };
  }
}
