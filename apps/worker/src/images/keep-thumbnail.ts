import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { timeLimit } from '#egress/time-limit.js';
import { thumbnailKey } from '#storage/object-key.js';
import type { ObjectStore } from '#storage/object-store.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import { TaskTransitions } from '#tasks/states/task-transitions.js';
import type { Lease } from '#tasks/row/task.js';
import { Logger } from '#telemetry/logger.js';
import { Leases } from './leases.js';

/** Timeout for storing a thumbnail. */
const TIMEOUT_MS = 10_000;
/** How long a finished task waits for its thumbnail, which was begun before the image, in ms. */
const AWAITED_MS = 20;

/** A small copy of a task's first image, on its way into the store while the image itself is. */
export interface Thumbnail {
  readonly key: string;
  /** Whether it is in the store by now. */
  isStored: boolean;
  /** Resolves when it is in the store, or is not going to be. */
  readonly finished: Promise<void>;
  /** Gives up. */
  readonly abort: () => void;
}

/** Stores the thumbnails that the console's lists show. Without one, a list shows the image itself. */
@Injectable()
export class KeepThumbnail {
  constructor(
    private readonly transitions: TaskTransitions,
    @Inject(OBJECT_STORE) private readonly objects: ObjectStore,
    private readonly leases: Leases,
    private readonly logger: Logger,
  ) {}

  /** Starts to store the thumbnail of an image, by the image's key. A failure loses only the thumbnail. */
  store(taskId: string, imageKey: string, bytes: Buffer): Thumbnail {
    const given = new AbortController();
    const signal = AbortSignal.any([given.signal, timeLimit(TIMEOUT_MS, this.leases.stopping)]);
    const key = thumbnailKey(imageKey);
    const stored = this.objects.put(key, Readable.from([bytes]), { contentType: 'image/webp', signal });
    const thumbnail: Thumbnail = {
      key,
      isStored: false,
      finished: stored.then(
        () => void (thumbnail.isStored = true),
        (error: unknown) => this.notKept(taskId, error),
      ),
      abort: () => given.abort(new Error('the image is not needed')),
    };
    return thumbnail;
  }

  /** Whether the thumbnail is in the store, or will be in a moment: then one statement completes the task and records it. */
  async isStored(thumbnail: Thumbnail): Promise<boolean> {
    await Promise.race([thumbnail.finished, delay(AWAITED_MS)]);
    return thumbnail.isStored;
  }

  /** Records a thumbnail that was not yet stored when its task was completed. Never throws. */
  async recordLate(lease: Lease, thumbnail: Thumbnail): Promise<void> {
    await thumbnail.finished;
    if (!thumbnail.isStored) return;
    try {
      // Retention may have deleted the task's objects meanwhile. A thumbnail written after that is collected as an
      // orphan.
      if (!(await this.transitions.thumbnailKept(lease))) await this.objects.delete(thumbnail.key);
    } catch (error) {
      this.notKept(lease.id, error);
    }
  }

  /** Deletes a thumbnail whose image is deleted. Never throws; retention finds one that can't be deleted now. */
  async discard(thumbnail: Thumbnail): Promise<void> {
    thumbnail.abort();
    await thumbnail.finished;
    await this.objects.delete(thumbnail.key).catch(() => undefined);
  }

  private notKept(taskId: string, error: unknown): void {
    this.logger.warn('thumbnail.not_kept', { taskId, error });
  }
}
