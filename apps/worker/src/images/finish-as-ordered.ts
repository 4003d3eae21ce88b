import { Injectable } from '@nestjs/common';
import { ImageError } from '#images/image-error.js';
import { finishImage, type FinishedImage } from '#images/steps/finish-image.js';
import { ProviderError } from '#providers/provider-error.js';
import { VERSION } from '#config/package.js';
import { WorkerConfig } from '../worker.config.js';
import type { Attempt } from './attempt.js';

/** Turns a provider's bytes into the image that the task ordered. */
@Injectable()
export class FinishAsOrdered {
  constructor(private readonly config: WorkerConfig) {}

  /**
   * Makes a thumbnail of a task's first image, if thumbnails are enabled. Throws ProviderError when the bytes are not a
   * usable image, and the abort reason of the attempt's signal.
   */
  async run(bytes: Buffer, { claimed: { task }, lease }: Attempt, isFirst: boolean): Promise<FinishedImage> {
    const { pixels, outputFormat, outputCompression, background } = task.options;
    const mark = { taskId: task.id, action: task.action, tool: `Darkroom ${VERSION}` };
    const order = {
      target: pixels ?? undefined,
      format: outputFormat,
      compression: outputCompression ?? undefined,
      background: background ?? undefined,
      mark: this.config.provenance === 'on' ? mark : undefined,
      thumbnail: isFirst && this.config.thumbnails,
    };
    return finishImage(bytes, order, lease.signal).catch((error: unknown) => {
      throw error instanceof ImageError ? unusable(error) : error;
    });
  }
}

/**
 * The provider returned something that is not a usable image. It charges all the same, so only free providers are
 * retried.
 */
export function unusable(cause: Error): ProviderError {
  return new ProviderError('upstream_invalid_response', 'The provider did not return a usable image.', {
    retryable: true,
    charged: 'yes',
    cause,
  });
}
