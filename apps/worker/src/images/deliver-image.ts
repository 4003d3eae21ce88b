import { Injectable } from '@nestjs/common';
import type { Attempt } from './attempt.js';
import { CompleteTask } from './complete-task.js';
import { KeepThumbnail, type Thumbnail } from './keep-thumbnail.js';
import type { OrderedImages } from './order-image.js';
import { StoreResults } from './store-results.js';

/** Completes the task with its stored images. */
@Injectable()
export class DeliverImage {
  constructor(
    private readonly images: StoreResults,
    private readonly tasks: CompleteTask,
    private readonly thumbnails: KeepThumbnail,
  ) {}

  /**
   * Returns the thumbnail that is still to be recorded, if the task was completed before that was stored. When the task
   * had already ended, the stored objects are deleted. Throws ImageNotStored.
   */
  async deliver(attempt: Attempt, { result, stored }: OrderedImages): Promise<Thumbnail | undefined> {
    const { images, thumbnail, warnings } = stored;
    const hasThumbnail = thumbnail !== undefined && (await this.thumbnails.isStored(thumbnail));
    const contents = { images, usage: result.usage, warnings, hasThumbnail };
    if (await this.tasks.complete(attempt, result.provider, contents)) return hasThumbnail ? undefined : thumbnail;
    await this.images.delete(stored);
    return undefined;
  }
}
