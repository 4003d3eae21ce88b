import type { Redis } from 'ioredis';
import type { QueueEntry } from './image-queue.js';
import { IMAGE_QUEUE, imageJobId } from './job-catalog.js';
import { RedisScript } from './redis-script.js';

/** Where a waiting job stands. */
export interface QueuePlace {
  /** 1 = the next to be served. */
  readonly position: number;
  /** Jobs that are before it, those that run now included. */
  readonly before: number;
}

/** Jobs by what they wait for. */
export interface QueueDepths {
  readonly waiting: number;
  readonly active: number;
  /** To be tried again later. */
  readonly delayed: number;
}

/** KEYS: BullMQ's sets of prioritized, returned and active jobs; ARGV: job ids. Ranks of jobs not in line are -1. */
const PLACES = new RedisScript(`
  local places = { redis.call('LLEN', KEYS[2]), redis.call('LLEN', KEYS[3]) }
  for i = 1, #ARGV do places[i + 2] = redis.call('ZRANK', KEYS[1], ARGV[i]) or -1 end
  return places`);

/** The queue as those who wait in it see it. */
export class QueueLine {
  private readonly keyPrefix: string;

  constructor(
    private readonly redis: Redis,
    prefix: string,
  ) {
    this.keyPrefix = `${prefix}:${IMAGE_QUEUE}:`;
  }

  /** The places of those that are in line, by task id, with one command for all. Throws when Redis does not answer. */
  async places(entries: readonly Pick<QueueEntry, 'taskId' | 'epoch'>[]): Promise<Map<string, QueuePlace>> {
    const places = new Map<string, QueuePlace>();
    if (entries.length === 0) return places;
    const ids = entries.map(({ taskId, epoch }) => imageJobId(taskId, epoch));
    const keys = ['prioritized', 'wait', 'active'].map((name) => this.keyPrefix + name);
    const [returned = 0, active = 0, ...ranks] = (await PLACES.run(this.redis, keys, ids)) as number[];
    for (const [index, { taskId }] of entries.entries()) {
      const rank = ranks[index] ?? -1;
      // What BullMQ puts back from a dead worker goes before all.
      if (rank >= 0) places.set(taskId, { position: returned + rank + 1, before: returned + rank + active });
    }
    return places;
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
