import { Readable } from 'node:stream';
import { Inject, Injectable } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import type { FinishedImage } from '#images/steps/finish-image.js';
import { ProviderError } from '#providers/provider-error.js';
import { resultKey } from '#storage/object-key.js';
import { StorageError, type ObjectStore } from '#storage/object-store.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import type { ClaimedTask } from '#tasks/task-transitions.js';
import type { TaskImage } from '#tasks/task.js';
import { inSpan } from '#telemetry/spans.js';
import { adaptations, sizesOf } from './adaptations.js';
import type { Attempt } from './attempt.js';
import type { MadeImages } from './call-provider.js';
import { ImageNotStored } from './failure-verdict.js';
import { FinishAsOrdered } from './finish-as-ordered.js';
import type { Thumbnail } from './keep-thumbnail.js';
import { putWithRetries } from './put-with-retries.js';
import { TaskProgress } from './task-progress.js';

/** The images of an attempt, each an object of its own; they are the task's when its row says so. */
export interface StoredImages {
  readonly images: readonly TaskImage[];
  /** Of the first of them, where there is one. */
  readonly thumbnail: Thumbnail | undefined;
  /** What had to be adapted or ignored, in plain words. */
  readonly warnings: readonly string[];
}

/** Finishes and stores the images of a call, one after the other, so that one at a time is decoded and held twice. */
@Injectable()
export class StoreImages {
  constructor(
    @Inject(OBJECT_STORE) private readonly store: ObjectStore,
    private readonly finish: FinishAsOrdered,
    private readonly progress: TaskProgress,
  ) {}

  /**
   * Takes the files out of the list. One that is no usable image is left out where there are others. Throws ProviderError when
   * none is usable, AppError when a strict caller may not be given them, ImageNotStored, and the reason of the attempt's
   * signal; then nothing is left in the store.
   */
  async run(attempt: Attempt, made: Omit<MadeImages, 'files'>, files: Buffer[]): Promise<StoredImages> {
    const stored = new Stored(attempt, made);
    try {
      while (files.length > 0) {
        const image = await this.next(files, attempt, stored).catch((error: unknown) => stored.unusable(error));
        if (image === undefined) continue;
        const key = stored.keyOf(image);
        const start = { name: 'image.store', parent: attempt.claimed.task.id, fields: { bytes: image.bytes.length } };
        await inSpan(start, () =>
          this.progress.whileStoring(attempt.lease, () => this.keep(key, image, attempt.lease.signal)),
        );
        stored.add(key, image);
      }
      return stored.end();
    } catch (error) {
      await this.delete(stored.images);
      throw error;
    }
  }

  /** Images that are not wanted any more. What can't be deleted now, retention finds later. */
  async delete(images: readonly TaskImage[]): Promise<void> {
    for (const { key } of images) await this.store.delete(key).catch(() => undefined);
  }

  /** A finished image may be another copy: the provider's bytes are not held while it is stored. */
  private async next(files: Buffer[], attempt: Attempt, { isEmpty }: Stored): Promise<FinishedImage | undefined> {
    const file = files.shift();
    const start = { name: 'image.finish', parent: attempt.claimed.task.id, fields: { bytes: file?.length } };
    return file && (await inSpan(start, () => this.finish.run(file, attempt, isEmpty)));
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

/** What of a call's images is in the store so far. */
class Stored {
  readonly images: TaskImage[] = [];
  private readonly warnings: Set<string>;
  private thumbnail: Thumbnail | undefined;
  private failure: ProviderError | undefined;

  constructor(
    private readonly attempt: Attempt,
    private readonly made: Omit<MadeImages, 'files'>,
  ) {
    this.warnings = new Set(made.warnings);
  }

  get isEmpty(): boolean {
    return this.images.length === 0;
  }

  /** Throws AppError when a strict caller may not be given the image. */
  keyOf(image: FinishedImage): string {
    const { task, attempt } = this.attempt.claimed;
    for (const warning of adaptations(image)) this.warnings.add(warning);
    refuseAdapted(this.attempt.claimed, [...this.warnings]);
    return resultKey(task.id, attempt, image.format, this.images.length);
  }

  add(key: string, image: FinishedImage): void {
    const { contentType, width, height, sha256, provenance, bytes, thumbnail } = image;
    const sizes = sizesOf(this.attempt.claimed.task.options, this.made.sentSize, image);
    this.images.push({ key, contentType, width, height, bytes: bytes.length, sha256, sizes, provenance });
    if (thumbnail !== undefined) this.thumbnail = { of: key, bytes: thumbnail };
  }

  /** Throws what is no failure of the provider. */
  unusable(error: unknown): undefined {
    if (!(error instanceof ProviderError)) throw error;
    this.failure ??= error;
  }

  /** Throws ProviderError when there is no image, AppError when a strict caller may not be given so few. */
  end(): StoredImages {
    const { images, thumbnail, failure } = this;
    if (this.isEmpty) throw failure ?? new Error('a call without an image');
    const { n = 1 } = this.attempt.claimed.task.options;
    if (images.length < n) this.warnings.add(`The provider returned only ${images.length} of ${n} images.`);
    const warnings = [...this.warnings];
    refuseAdapted(this.attempt.claimed, warnings);
    return { images, thumbnail, warnings };
  }
}

/** The images were paid for, and still not what a strict caller may be given: no others would be better. */
function refuseAdapted({ task }: ClaimedTask, warnings: readonly string[]): void {
  if (task.options.strict !== true || warnings.length === 0) return;
  throw new AppError(
    'upstream_invalid_response',
    `The request is strict, and the provider did not make exactly what it asks for: ${warnings.join(' ')}`,
  );
}
