import { Readable } from 'node:stream';
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

/** A small copy of the first image of a completed task. */
export interface Thumbnail {
  /** Object key of the full image. */
  readonly of: string;
  readonly bytes: Buffer;
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

  /** Never throws: a failure here loses only the thumbnail. */
  async keep(lease: Lease, thumbnail: Thumbnail): Promise<void> {
    try {
      await this.store(lease, thumbnail);
    } catch (error) {
      this.logger.warn('thumbnail.not_kept', { taskId: lease.id, error });
    }
  }

  private async store(lease: Lease, { of, bytes }: Thumbnail): Promise<void> {
    const key = thumbnailKey(of);
    const signal = timeLimit(TIMEOUT_MS, this.leases.stopping);
    await this.objects.put(key, Readable.from([bytes]), { contentType: 'image/webp', signal });
    // Retention may have deleted the task's objects meanwhile. A thumbnail written after that is collected as an
    // orphan.
    if (!(await this.transitions.thumbnailKept(lease))) await this.objects.delete(key);
  }
}
