import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { VERSION } from '#config/package.js';
import { AppError } from '#contract/app-error.js';
import { ImageError } from '#images/image-error.js';
import { finishImage, type FinishedImage } from '#images/steps/finish-image.js';
import { ProviderError } from '#providers/provider-error.js';
import { resultKey } from '#storage/object-key.js';
import { StorageError, type ObjectStore } from '#storage/object-store.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import type { TaskImage, TaskOptions } from '#tasks/row/task.js';
import type { ClaimedTask } from '#tasks/states/task-transitions.js';
import { inSpan } from '#telemetry/spans.js';
import { WorkerConfig } from '../worker.config.js';
import type { Attempt } from './attempt.js';
import type { CallResult } from './call-provider.js';
import { ImageNotStored, unusable } from './failure-verdict.js';
import { TaskProgress } from './task-progress.js';

/** How often an image is sent to a store that fails. */
const TRIES = 4;
/** The pause before the second time; it doubles. */
const FIRST_DELAY_MS = 500;

/** The images of an attempt, one object each. They belong to the task once its row names them. */
export interface StoredImages {
  readonly images: readonly TaskImage[];
  /** What was adapted or ignored, in plain words. */
  readonly warnings: readonly string[];
}

/**
 * Finishes and stores a call's images one after the other, so that only one at a time is decoded and in memory twice.
 */
@Injectable()
export class StoreResults {
  constructor(
    @Inject(OBJECT_STORE) private readonly store: ObjectStore,
    private readonly config: WorkerConfig,
    private readonly progress: TaskProgress,
  ) {}

  /**
   * Empties `files`. Skips an unusable image, unless no other remains. Throws ProviderError when none is usable,
   * AppError when a strict request does not allow them, ImageNotStored, and the abort reason of the attempt's signal;
   * then nothing is left in the store.
   */
  async run(attempt: Attempt, result: Omit<CallResult, 'files'>, files: Buffer[]): Promise<StoredImages> {
    const stored = new Stored(attempt, result);
    try {
      while (files.length > 0) {
        const image = await this.next(files, attempt).catch((error: unknown) => stored.unusable(error));
        if (image === undefined) continue;
        const key = stored.keyOf(image);
        const start = { name: 'image.store', parent: attempt.claimed.task.id, fields: { bytes: image.size } };
        await inSpan(start, () => this.progress.whileStoring(attempt.lease, () => this.keep(key, image, attempt)));
        stored.add(key, image);
      }
      return stored.end();
    } catch (error) {
      await this.delete(stored);
      throw error;
    }
  }

  /** Deletes images that are no longer needed. Retention finds those that can't be deleted now. */
  async delete({ images }: Pick<StoredImages, 'images'>): Promise<void> {
    for (const { key } of images) await this.store.delete(key).catch(() => undefined);
  }

  /** Drops the provider's bytes before the finished image, which may be another copy, is stored. */
  private async next(files: Buffer[], attempt: Attempt): Promise<FinishedImage | undefined> {
    const file = files.shift();
    const start = { name: 'image.finish', parent: attempt.claimed.task.id, fields: { bytes: file?.length } };
    return file && (await inSpan(start, () => this.finish(file, attempt)));
  }

  /**
   * Turns a provider's bytes into the image that the task ordered. Throws ProviderError when the bytes are not a usable
   * image, and the abort reason of the attempt's signal.
   */
  private async finish(bytes: Buffer, { claimed: { task }, lease }: Attempt): Promise<FinishedImage> {
    const { pixels, outputFormat, outputCompression, background } = task.options;
    const mark = { taskId: task.id, action: task.action, tool: `Darkroom ${VERSION}` };
    const order = {
      target: pixels ?? undefined,
      format: outputFormat,
      compression: outputCompression ?? undefined,
      background: background ?? undefined,
      mark: this.config.provenance === 'on' ? mark : undefined,
    };
    return finishImage(bytes, order, lease.signal).catch((error: unknown) => {
      throw error instanceof ImageError ? unusable(error) : error;
    });
  }

  /** Throws ImageNotStored, or the signal's abort reason. */
  private async keep(key: string, image: FinishedImage, attempt: Attempt): Promise<void> {
    const { signal } = attempt.lease;
    try {
      await this.putWithRetries(key, image, attempt);
    } catch (error) {
      // The store may have written the object before the abort reached it; retention finds what remains.
      if (signal.aborted) await this.store.delete(key).catch(() => undefined);
      throw error instanceof StorageError ? new ImageNotStored('not stored', { cause: error }) : error;
    }
  }

  /**
   * Stores paid-for bytes, with retries, so that a short outage of the store does not cost a second image. Throws
   * StorageError after the last attempt, or the signal's abort reason.
   */
  private async putWithRetries(key: string, { pieces, contentType }: FinishedImage, attempt: Attempt): Promise<void> {
    const { signal } = attempt.lease;
    for (let failures = 0; ;) {
      signal.throwIfAborted();
      try {
        await this.store.put(key, pieces, { contentType, signal });
        return;
      } catch (error) {
        attempt.mayStoreLate = true;
        signal.throwIfAborted();
        failures += 1;
        if (!(error instanceof StorageError) || failures === TRIES) throw error;
        await delay(FIRST_DELAY_MS * 2 ** (failures - 1), undefined, { signal });
      }
    }
  }
}

/** The images of a call that are already stored. */
class Stored {
  readonly images: TaskImage[] = [];
  private readonly warnings: Set<string>;
  private failure: ProviderError | undefined;

  constructor(
    private readonly attempt: Attempt,
    private readonly result: Omit<CallResult, 'files'>,
  ) {
    this.warnings = new Set(result.warnings);
  }

  /** Throws AppError when a strict request does not allow the image. */
  keyOf(image: FinishedImage): string {
    const { task, attempt } = this.attempt.claimed;
    for (const warning of unmetOptions(image)) this.warnings.add(warning);
    refuseAdapted(this.attempt.claimed, [...this.warnings]);
    return resultKey(task.id, attempt, image.format, this.images.length);
  }

  add(key: string, image: FinishedImage): void {
    const { contentType, width, height, sha256, provenance, size: bytes } = image;
    const sizes = sizesOf(this.attempt.claimed.task.options, this.result.sentSize, image);
    this.images.push({ key, contentType, width, height, bytes, sha256, sizes, provenance });
  }

  /** Rethrows errors that are not the provider's. */
  unusable(error: unknown): undefined {
    if (!(error instanceof ProviderError)) throw error;
    this.failure ??= error;
  }

  /**
   * Throws ProviderError when there is no image, AppError when a strict request does not allow fewer than it ordered.
   */
  end(): StoredImages {
    const { images, failure } = this;
    if (images.length === 0) throw failure ?? new Error('a call without an image');
    const { n = 1 } = this.attempt.claimed.task.options;
    if (images.length < n) this.warnings.add(`The provider returned only ${images.length} of ${n} images.`);
    const warnings = [...this.warnings];
    refuseAdapted(this.attempt.claimed, warnings);
    return { images, warnings };
  }
}

/** The images were paid for but are not exactly what the request asked for; another call would do no better. */
function refuseAdapted({ task }: ClaimedTask, warnings: readonly string[]): void {
  if (task.options.strict !== true || warnings.length === 0) return;
  throw new AppError(
    'upstream_invalid_response',
    `The request is strict, and the provider did not generate exactly what was requested: ${warnings.join(' ')}`,
  );
}

/** Describes, in plain words, how a provider's image was changed to match the order. */
function unmetOptions({ received, width, height, format, isAnimated, isReduced }: FinishedImage): string[] {
  const found: string[] = [];
  if (received.width !== width || received.height !== height) {
    found.push(`The provider's image of ${received.width}x${received.height} pixels was fitted to ${width}x${height}.`);
  }
  if (received.format !== format) found.push(`The provider's ${received.format} was encoded as ${format}.`);
  if (isReduced === true)
    found.push('Parts of the SVG document that could run scripts or load other files were removed.');
  if (received.isAnimated && !isAnimated) found.push("Only the first frame of the provider's animation was kept.");
  return found;
}

/** The size sent to the provider and the size received, `<w>x<h>` or `auto`. */
function sizesOf(
  options: TaskOptions,
  sentSize: string | undefined,
  { received }: FinishedImage,
): { sent: string; received: string } {
  const { pixels } = options;
  const ordered = pixels === null ? 'auto' : `${pixels.width}x${pixels.height}`;
  return { sent: sentSize ?? ordered, received: `${received.width}x${received.height}` };
}
