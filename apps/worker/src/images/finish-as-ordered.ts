import { finishImage, type FinishedImage } from '#images/steps/finish-image.js';
import { ImageError } from '#images/image-error.js';
import { ProviderError } from '#providers/provider-error.js';
import type { Attempt } from './attempt.js';

/** The image as the attempt's task orders it. Throws ProviderError when the bytes are no usable image. */
export async function finishAsOrdered(bytes: Buffer, attempt: Attempt): Promise<FinishedImage> {
  const { pixels, outputFormat, outputCompression, background } = attempt.claimed.task.options;
  const order = {
    target: pixels ?? undefined,
    format: outputFormat,
    compression: outputCompression ?? undefined,
    background: background ?? undefined,
  };
  return finishImage(bytes, order, attempt.lease.signal).catch((error: unknown) => {
    throw error instanceof ImageError ? unusable(error) : error;
  });
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
