import { Injectable } from '@nestjs/common';
import { ImageQueue, type QueueEntry } from '#queue/image-queue.js';
import { TaskBell } from '#tasks/task-events.js';

/** Puts tasks that were let go back into the queue. */
@Injectable()
export class RequeueTask {
  constructor(
    private readonly queue: ImageQueue,
    private readonly bell: TaskBell,
  ) {}

  /** Never fails: without Redis the sweeper finds it. */
  async requeue(entry: QueueEntry): Promise<void> {
    this.bell.ringChanged(entry.taskId);
    await this.queue.add(entry).catch(() => undefined);
  }
}
