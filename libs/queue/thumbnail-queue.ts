import { InjectQueue } from '@nestjs/bullmq';
import { Inject, Injectable } from '@nestjs/common';
import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { PRODUCER_REDIS } from '#redis/redis.module.js';
import { CREATE_THUMBNAIL } from './job-catalog.js';
import { THUMBNAIL_SENDER, whileConnected } from './queue-sender.js';

/** More would only be created after their page was left. */
const MAX_WAITING = 500;
/**
 * The newest job runs first: its page is most likely still open. A job that failed stays for a day, so that a damaged
 * image is not decoded again with every look at it.
 */
const JOB_OPTIONS = {
  attempts: 1,
  lifo: true,
  removeOnComplete: true,
  removeOnFail: { age: 86_400, count: 1_000 },
} as const;

/** The producer of the queue of thumbnails, which no answer waits for. */
@Injectable()
export class ThumbnailQueue {
  constructor(
    @InjectQueue(THUMBNAIL_SENDER) private readonly queue: Queue,
    @Inject(PRODUCER_REDIS) private readonly redis: Redis,
  ) {
    queue.on('error', () => undefined); // reported by the connection itself
  }

  /**
   * Enqueues the thumbnail of a task's first image, once however often it is ordered. False when none will be created
   * soon: it failed within a day, or too many others wait. Throws when Redis refuses, is down, or does not answer within
   * the command timeout.
   */
  async order(taskId: string): Promise<boolean> {
    const queue = whileConnected(this.queue, this.redis);
    const [job, waiting] = await Promise.all([queue.getJob(taskId), queue.getWaitingCount()]);
    if (job !== undefined) return job.finishedOn === undefined;
    if (waiting >= MAX_WAITING) return false;
    await queue.add(CREATE_THUMBNAIL, { taskId }, { ...JOB_OPTIONS, jobId: taskId });
    return true;
  }
}
