import { Injectable } from '@nestjs/common';
import { ImageQueue, type QueueEntry } from '#queue/image-queue.js';
import { TaskEvents } from '#tasks/task-events.js';

/** Puts tasks that were let go back into the queue. */
@Injectable()
export class RequeueTask {
  constructor(
    private readonly queue: ImageQueue,
    private readonly events: TaskEvents,
  ) {}

  /** Never fails: without Redis the sweeper finds it. */
  async requeue(entry: QueueEntry): Promise<void> {
    this.events.publishChanged(entry.taskId);
    await this.queue.add(entry).catch(() => undefined);
  }
}
