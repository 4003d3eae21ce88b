import { Injectable } from '@nestjs/common';
import type { Attempt } from './attempt.js';
import { CompleteTask } from './complete-task.js';
import type { OrderedImages } from './order-image.js';
import { StoreResults } from './store-results.js';

/** Completes the task with its stored images. */
@Injectable()
export class DeliverImage {
  constructor(
    private readonly images: StoreResults,
    private readonly tasks: CompleteTask,
  ) {}

  /** False when the task had already ended; then the stored objects are deleted. Throws ImageNotStored. */
  async deliver(attempt: Attempt, { made, stored }: OrderedImages): Promise<boolean> {
    const { images, warnings } = stored;
    if (await this.tasks.complete(attempt, made.provider, { images, usage: made.usage, warnings })) return true;
    await this.images.delete(images);
    return false;
  }
}
