import { Inject, Injectable } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import { PublicFetcher } from '#egress/fetch-public-url.js';
import { ImageError } from '#images/image-error.js';
import { readInputImage, readMask, type InputImage } from '#images/input-image.js';
import { MAX_REMOTE_IMAGE_BYTES, MAX_UPLOAD_BYTES } from '#images/limits.js';
import type { ObjectStore } from '#storage/object-store.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import type { ClaimedTask } from '#tasks/states/task-transitions.js';
import type { TaskInput } from '#tasks/row/task.js';
import { readCapped } from './read-capped.js';

/** A task's input images for the provider's adapter, all in memory. */
export interface LoadedInputs {
  readonly images: readonly InputImage[];
  readonly mask: InputImage | undefined;
}

/** Loads a task's reference images and mask, from the store or from the caller's URLs. */
@Injectable()
export class LoadInputs {
  constructor(
    @Inject(OBJECT_STORE) private readonly store: ObjectStore,
    private readonly fetcher: PublicFetcher,
  ) {}

  /**
   * Loads one at a time: sixteen images at once would be a gigabyte of pixels. Throws AppError with the request field
   * of the bad image, or StorageError.
   */
  async load(claimed: ClaimedTask, signal: AbortSignal): Promise<LoadedInputs> {
    const images: InputImage[] = [];
    for (const input of claimed.inputs) {
      const bytes = await this.read(input, signal);
      images.push(await blame(input, () => readInputImage(bytes, signal)));
    }
    const { mask } = claimed;
    const first = images[0];
    if (mask === null || first === undefined) return { images, mask: undefined };
    const bytes = await this.read(mask, signal);
    return { images, mask: await blame(mask, () => readMask(bytes, first, signal)) };
  }

  private async read(input: TaskInput, signal: AbortSignal): Promise<Buffer> {
    signal.throwIfAborted();
    if (input.kind === 'object') {
      const { stream } = await this.store.open(input.key, { signal });
      return readCapped(stream, MAX_UPLOAD_BYTES, signal);
    }
    return this.fetcher.get(input.url, { signal, maxBytes: MAX_REMOTE_IMAGE_BYTES }).catch((error: unknown) => {
      if (!(error instanceof AppError)) throw error;
      throw new AppError(error.code, error.message, { param: input.param, cause: error.cause });
    });
  }
}

/** An unusable image is the caller's error, reported with its request field. */
async function blame<T>(input: TaskInput, check: () => Promise<T>): Promise<T> {
  try {
    return await check();
  } catch (error) {
    if (!(error instanceof ImageError)) throw error;
    throw new AppError(error.code, error.message, { param: input.param, cause: error });
  }
}
