import { Readable } from 'node:stream';
import { Inject, Injectable } from '@nestjs/common';
import { makeThumbnail, THUMBNAIL_EDGE } from '#images/thumbnail.js';
import { thumbnailKey } from '#storage/object-key.js';
import type { ObjectStore } from '#storage/object-store.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import { TaskMoves } from '#tasks/task-moves.js';
import type { Hold } from '#tasks/task.js';
import { Logger } from '#telemetry/logger.js';
import { WorkerConfig } from '../worker.config.js';
import { Holds } from './hold.js';

/** How long a job may stay for its thumbnail once the store is asked. */
const TIMEOUT_MS = 10_000;

/** A picture that its task has ended with. */
export interface KeptPicture {
  readonly key: string;
  readonly bytes: Buffer;
  readonly width: number;
  readonly height: number;
}

/** Makes the small copies of pictures that the console's lists show. A list without one shows the picture itself. */
@Injectable()
export class KeepThumbnail {
  constructor(
    private readonly moves: TaskMoves,
    @Inject(OBJECT_STORE) private readonly store: ObjectStore,
    private readonly holds: Holds,
    private readonly config: WorkerConfig,
    private readonly logger: Logger,
  ) {}

  /** Throws nothing: whatever fails here costs the thumbnail alone. A picture that is small itself needs none. */
  async keep(hold: Hold, picture: KeptPicture): Promise<void> {
    if (!this.config.thumbnails || Math.max(picture.width, picture.height) <= THUMBNAIL_EDGE) return;
    try {
      await this.make(hold, picture);
    } catch (error) {
      this.logger.warn('thumbnail.not_kept', { taskId: hold.id, error });
    }
  }

  private async make(hold: Hold, picture: KeptPicture): Promise<void> {
    const key = thumbnailKey(picture.key);
    const bytes = await makeThumbnail(picture.bytes);
    const signal = AbortSignal.any([this.holds.stopping, AbortSignal.timeout(TIMEOUT_MS)]);
    await this.store.put(key, Readable.from([bytes]), { contentType: 'image/webp', signal });
    // Retention may have passed meanwhile. What is written after its second look is collected as an orphan.
    if (!(await this.moves.thumbnailKept(hold))) await this.store.delete(key);
  }
}
