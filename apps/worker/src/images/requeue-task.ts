import { Injectable } from '@nestjs/common';
import { ImageQueue, type QueueEntry } from '#queue/image-queue.js';
import { TaskEvents } from '#tasks/states/task-events.js';

/** Returns released tasks to the queue. */
@Injectable()
export class RequeueTask {
  constructor(
    private readonly queue: ImageQueue,
    private readonly events: TaskEvents,
  ) {}

  /** Never fails: without Redis, the sweep finds the task. */
  async requeue(entry: QueueEntry): Promise<void> {
    this.events.publishChanged(entry.taskId);
    await this.queue.add(entry).catch(() => undefined);
  }
}
