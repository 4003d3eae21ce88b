import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { FairOrder, type QueuePlace } from './fair-order.js';
import type { QueueEntry } from './image-queue.js';
import { IMAGE_QUEUE, imageJobId } from './job-catalog.js';
import { PRODUCER_REDIS } from './producer-redis.module.js';
import { QueueConfig } from './queue.config.js';

/** Jobs by what they wait for. */
export interface QueueDepths {
  readonly waiting: number;
  readonly active: number;
  /** To be tried again later. */
  readonly delayed: number;
}

/** The queue as those who wait in it see it. */
@Injectable()
export class QueueLine {
  private readonly keyPrefix: string;

  constructor(
    @Inject(PRODUCER_REDIS) private readonly redis: Redis,
    { redisPrefix }: QueueConfig,
    private readonly order: FairOrder,
  ) {
    this.keyPrefix = `${redisPrefix}:${IMAGE_QUEUE}:`;
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
