import { Inject, Injectable } from '@nestjs/common';
import { timeLimit } from '#egress/time-limit.js';
import { ImageError } from '#images/image-error.js';
import { BACKGROUND } from '#images/image-turns.js';
import { needsThumbnail, THUMBNAIL_TYPE } from '#images/limits.js';
import { withImageTurnsOf } from '#images/sharp.js';
import { makeThumbnail } from '#images/thumbnail.js';
import { thumbnailKey } from '#storage/object-key.js';
import type { ObjectStore } from '#storage/object-store.js';
import { StorageConfig } from '#storage/storage.config.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import { readWhole } from '#storage/stored-stream.js';
import { TaskEvents } from '#tasks/states/task-events.js';
import { TaskThumbnails } from '#tasks/states/task-thumbnails.js';
import { Logger } from '#telemetry/logger.js';
import { TaskMemory } from './task-memory.js';

/** Time limit of one thumbnail, from reading its image to storing it, with the wait for its turn to decode. */
const TIMEOUT_MS = 30_000;

/** Creates the thumbnails of images that somebody looks at in the console's lists. */
@Injectable()
export class CreateThumbnail {
  constructor(
    private readonly thumbnails: TaskThumbnails,
    @Inject(OBJECT_STORE) private readonly objects: ObjectStore,
    private readonly memory: TaskMemory,
    private readonly events: TaskEvents,
    private readonly config: StorageConfig,
    private readonly logger: Logger,
  ) {}

  /**
   * Creates the thumbnail of a task's first image, unless there is one. Throws ImageError when the image is damaged.
   * Other failures leave the task without a thumbnail until the next look at it.
   */
  async run(taskId: string, stopping: AbortSignal): Promise<void> {
    try {
      if (this.config.thumbnails) await this.create(taskId, timeLimit(TIMEOUT_MS, stopping));
    } catch (error) {
      this.logger.warn('thumbnail.not_created', { taskId, error });
      if (error instanceof ImageError) throw error;
    } finally {
      this.events.publishThumbnail(taskId);
    }
  }

  private async create(taskId: string, signal: AbortSignal): Promise<void> {
    const found = await this.thumbnails.imageWithout(taskId);
    if (found === undefined || !needsThumbnail(found.image)) return;
    const { image, accountId } = found;
    const hold = this.memory.spare(image.bytes, accountId);
    if (hold === undefined) return;
    try {
      const bytes = await readWhole(await this.objects.open(image.key, { signal }));
      const owner = { source: BACKGROUND, ticket: taskId };
      const thumbnail = await withImageTurnsOf(owner, () => makeThumbnail(bytes, image, signal));
      await this.store(taskId, thumbnailKey(image.key), thumbnail, signal);
    } finally {
      hold.release();
    }
  }

  private async store(taskId: string, key: string, thumbnail: Buffer, signal: AbortSignal): Promise<void> {
    await this.objects.put(key, [thumbnail], { contentType: THUMBNAIL_TYPE, signal });
    // Retention deletes a thumbnail with its image, recorded or not. One stored after that is deleted here, or collected
    // as an orphan if retention has not marked the row yet.
    if (!(await this.thumbnails.record(taskId))) await this.objects.delete(key);
  }
}
