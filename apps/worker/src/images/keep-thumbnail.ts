import { Readable } from 'node:stream';
import { Inject, Injectable } from '@nestjs/common';
import { timeLimit } from '#egress/time-limit.js';
import { makeThumbnail, THUMBNAIL_EDGE } from '#images/thumbnail.js';
import { thumbnailKey } from '#storage/object-key.js';
import type { ObjectStore } from '#storage/object-store.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import { TaskTransitions } from '#tasks/task-transitions.js';
import type { Lease } from '#tasks/task.js';
import { Logger } from '#telemetry/logger.js';
import { WorkerConfig } from '../worker.config.js';
import { Leases } from './leases.js';

/** How long a job may stay for its thumbnail once the store is asked. */
const TIMEOUT_MS = 10_000;

/** An image that its task has ended with. */
export interface KeptImage {
  readonly key: string;
  readonly bytes: Buffer;
  readonly width: number;
  readonly height: number;
}

/** Makes the small copies of images that the console's lists show. A list without one shows the image itself. */
@Injectable()
export class KeepThumbnail {
  constructor(
    private readonly transitions: TaskTransitions,
    @Inject(OBJECT_STORE) private readonly store: ObjectStore,
    private readonly leases: Leases,
    private readonly config: WorkerConfig,
    private readonly logger: Logger,
  ) {}

  /** Throws nothing: whatever fails here costs the thumbnail alone. An image that is small itself needs none. */
  async keep(lease: Lease, image: KeptImage): Promise<void> {
    if (!this.config.thumbnails || Math.max(image.width, image.height) <= THUMBNAIL_EDGE) return;
    try {
      await this.make(lease, image);
    } catch (error) {
      this.logger.warn('thumbnail.not_kept', { taskId: lease.id, error });
    }
  }

  private async make(lease: Lease, image: KeptImage): Promise<void> {
    const key = thumbnailKey(image.key);
    const bytes = await makeThumbnail(image.bytes);
    const signal = timeLimit(TIMEOUT_MS, this.leases.stopping);
    await this.store.put(key, Readable.from([bytes]), { contentType: 'image/webp', signal });
    // Retention may have passed meanwhile. What is written after its second look is collected as an orphan.
    if (!(await this.transitions.thumbnailKept(lease))) await this.store.delete(key);
  }
}
