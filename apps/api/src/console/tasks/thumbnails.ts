import { Injectable } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import { ThumbnailQueue } from '#queue/thumbnail-queue.js';
import { TaskDetails } from '#tasks/reading/task-details.js';
import type { TaskSummary } from '#tasks/row/task.js';
import { TaskEventListener } from '#tasks/states/task-events.js';
import { ShownImages, type SmallImage } from './shown-images.js';

/** How long a page waits for a thumbnail, in ms. One takes a worker 60 ms; a browser asks for six at a time. */
const WAIT_MS = 3_000;
/** How long nobody waits after one came too late, in ms: without a worker, a page of 50 would wait eight times. */
const LATE_MS = 30_000;
/** Requests of all pages that wait in this process. */
const MAX_WAITING = 500;

/**
 * Has the thumbnails created that lists lack, and waits for them a little. When none comes (no worker, no Redis, no store,
 * a damaged image), the list shows the image itself.
 */
@Injectable()
export class Thumbnails {
  /** By task id. */
  private readonly waiters = new Map<string, Set<() => void>>();
  private waiting = 0;
  private lateUntil = 0;

  constructor(
    private readonly details: TaskDetails,
    private readonly images: ShownImages,
    private readonly queue: ThumbnailQueue,
    events: TaskEventListener,
  ) {
    events.onThumbnail((taskId) => {
      this.lateUntil = 0;
      for (const answer of [...(this.waiters.get(taskId) ?? [])]) answer();
    });
  }

  /** The URL of the task's thumbnail, or else of its first image. Throws AppError `file_not_found` when it has no image. */
  async urlOf(accountId: string, task: TaskSummary): Promise<string> {
    const small = await this.of(accountId, task);
    if (small === undefined) throw new AppError('file_not_found', 'The image is no longer available.');
    return small.url;
  }

  /** The task's thumbnail, or else its first image; undefined when it has no image. */
  async of(accountId: string, task: TaskSummary): Promise<SmallImage | undefined> {
    const small = await this.small(accountId, task);
    if (small?.lacksThumbnail !== true) return small;
    await this.created(task.id);
    return this.small(accountId, task);
  }

  private async small(accountId: string, task: TaskSummary): Promise<SmallImage | undefined> {
    const detail = (await this.details.of(accountId, [task.id], 0)).get(task.id);
    return detail && this.images.small(task, detail);
  }

  /** Resolves when a worker has created the thumbnail, or is not going to soon. */
  private async created(taskId: string): Promise<void> {
    if (this.waiting >= MAX_WAITING) return;
    const waits = performance.now() >= this.lateUntil;
    this.waiting += 1;
    await new Promise<void>((resolve) => {
      const answer = (): void => {
        clearTimeout(timer);
        this.remove(taskId, answer);
        resolve();
      };
      const timer = setTimeout(() => {
        this.lateUntil = performance.now() + LATE_MS;
        answer();
      }, WAIT_MS);
      // Before the job is added: its end is published once.
      this.waiters.set(taskId, (this.waiters.get(taskId) ?? new Set()).add(answer));
      this.queue.order(taskId).then((isComing) => {
        if (!isComing || !waits) answer();
      }, answer);
    });
    this.waiting -= 1;
  }

  private remove(taskId: string, answer: () => void): void {
    const others = this.waiters.get(taskId);
    others?.delete(answer);
    if (others?.size === 0) this.waiters.delete(taskId);
  }
}
