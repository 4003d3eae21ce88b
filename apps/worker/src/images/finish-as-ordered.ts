import { Injectable } from '@nestjs/common';
import { ImageError } from '#images/image-error.js';
import { finishImage, type FinishedImage } from '#images/steps/finish-image.js';
import { ProviderError } from '#providers/provider-error.js';
import { VERSION } from '#config/package.js';
import { WorkerConfig } from '../worker.config.js';
import type { Attempt } from './attempt.js';

/** Makes a provider's bytes the image that a task orders. */
@Injectable()
export class FinishAsOrdered {
  constructor(private readonly config: WorkerConfig) {}

  /**
   * The first image of a task has a thumbnail, if thumbnails are kept. Throws ProviderError when the bytes are no usable image, and the
   * reason of the attempt's signal.
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
 * What was delivered is no usable image: the provider's failure. It is charged all the same, so only one that charges
 * nothing is asked again.
 */
export function unusable(cause: Error): ProviderError {
  return new ProviderError('upstream_invalid_response', 'The provider did not return a usable image.', {
    retryable: true,
    charged: 'yes',
    cause,
  });
}
