import { Readable } from 'node:stream';
import { Inject, Injectable } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import type { FinishedImage } from '#images/steps/finish-image.js';
import { resultKey } from '#storage/object-key.js';
import { StorageError, type ObjectStore } from '#storage/object-store.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import type { ClaimedTask } from '#tasks/task-transitions.js';
import { adaptations, sizesOf } from './adaptations.js';
import type { Attempt } from './attempt.js';
import { CompleteTask } from './complete-task.js';
import { ImageNotStored } from './failure-verdict.js';
import type { KeptImage } from './keep-thumbnail.js';
import type { OrderedImage } from './order-image.js';
import { putWithRetries } from './put-with-retries.js';
import { TaskProgress } from './task-progress.js';

/** Stores an image and makes it the task's. */
@Injectable()
export class DeliverImage {
  constructor(
    @Inject(OBJECT_STORE) private readonly store: ObjectStore,
    private readonly progress: TaskProgress,
    private readonly tasks: CompleteTask,
  ) {}

  /**
   * The image, if it is the task's now; its object is deleted if it is not. Throws AppError when a strict caller may
   * not be given it, ImageNotStored, and the reason of the attempt's signal.
   */
  async deliver(attempt: Attempt, { made, picture }: OrderedImage): Promise<KeptImage | undefined> {
    const { claimed, lease } = attempt;
    const warnings = [...made.warnings, ...adaptations(picture)];
    refuseAdapted(claimed, warnings);
    const key = resultKey(claimed.task.id, claimed.attempt, picture.format);
    await this.progress.whileStoring(lease, () => this.keep(key, picture, lease.signal));
    const { contentType, width, height, sha256, provenance } = picture;
    const sizes = sizesOf(claimed.task.options, made.sentSize, picture);
    const image = { key, contentType, width, height, bytes: picture.bytes.length, sha256, sizes, provenance };
    const won = await this.tasks.complete(attempt, made.provider, {
      images: [image],
      usage: made.usage,
      warnings,
    });
    if (won) return { ...picture, key };
    await this.store.delete(key);
    return undefined;
  }

  private async keep(key: string, image: FinishedImage, signal: AbortSignal): Promise<void> {
    try {
      await putWithRetries(this.store, key, () => Readable.from([image.bytes]), image.contentType, signal);
    } catch (error) {
      // The store may have taken it before it heard of the end; retention finds what stays after this.
      if (signal.aborted) await this.store.delete(key).catch(() => undefined);
      throw error instanceof StorageError ? new ImageNotStored('not stored', { cause: error }) : error;
    }
  }
}

/** The image was paid for, and still not what a strict caller may be given: no second one would be another. */
function refuseAdapted({ task }: ClaimedTask, warnings: readonly string[]): void {
  if (task.options.strict !== true || warnings.length === 0) return;
  throw new AppError(
    'upstream_invalid_response',
    `The request is strict, and the provider did not make exactly what it asks for: ${warnings.join(' ')}`,
  );
}
