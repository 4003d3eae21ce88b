import { InjectQueue } from '@nestjs/bullmq';
import { Inject, Injectable } from '@nestjs/common';
import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { PRODUCER_REDIS } from '#redis/redis.module.js';
import { FairOrder, type QueueCaller, type QueuePosition } from './fair-order.js';
import type { QueueEntry } from './image-queue.js';
import { imageJobId } from './job-catalog.js';
import { IMAGE_SENDER, whileConnected } from './queue-sender.js';

/** Numbers of jobs by state. */
export interface QueueDepths {
  readonly waiting: number;
  readonly active: number;
  /** To be tried again later. */
  readonly delayed: number;
}

/** The queue as seen by the tasks that wait in it. */
@Injectable()
export class QueueLine {
  constructor(
    @InjectQueue(IMAGE_SENDER) private readonly queue: Queue,
    @Inject(PRODUCER_REDIS) private readonly redis: Redis,
    private readonly order: FairOrder,
  ) {}

  /** Positions of the tasks that are in line, by task id, with one command for all. Throws when Redis does not answer. */
  async positions(entries: readonly Pick<QueueEntry, 'taskId' | 'epoch'>[]): Promise<Map<string, QueuePosition>> {
    const positions = await this.order.positions(entries.map(({ taskId, epoch }) => imageJobId(taskId, epoch)));
    return new Map(entries.flatMap(({ taskId }, index) => (positions[index] ? [[taskId, positions[index]]] : [])));
  }

  /** How many jobs would be ahead of the caller's next task, with running ones. Throws when Redis does not answer. */
  async before(caller: QueueCaller): Promise<number> {
    return await this.order.before(caller);
  }

  /** Throws when Redis does not answer. */
  async depths(): Promise<QueueDepths> {
    const queue = whileConnected(this.queue, this.redis);
    const {
      prioritized = 0,
      wait = 0,
      active = 0,
      delayed = 0,
    } = await queue.getJobCounts('prioritized', 'wait', 'active', 'delayed');
    return { waiting: prioritized + wait, active, delayed };
  }
}
