import { finishPicture, type FinishedPicture } from '#images/finish-picture.js';
import { ImageError } from '#images/image-error.js';
import { ProviderError } from '#providers/provider-error.js';
import type { TaskOptions } from '#tasks/task.js';

/** The picture as it was ordered. Throws ProviderError when the bytes are no usable picture. */
export async function finishAsOrdered(
  bytes: Buffer,
  { pixels, outputFormat, outputCompression, background }: TaskOptions,
  signal: AbortSignal,
): Promise<FinishedPicture> {
  const order = {
    target: pixels ?? undefined,
    format: outputFormat,
    compression: outputCompression ?? undefined,
    background: background ?? undefined,
  };
  return finishPicture(bytes, order, signal).catch((error: unknown) => {
    throw error instanceof ImageError ? unusable(error) : error;
  });
}

/** An answer without a usable picture is the provider's failure. */
export function unusable(cause: Error): ProviderError {
  return new ProviderError('upstream_invalid_response', 'The provider did not answer with a usable picture.', {
    retryable: true,
    charged: 'no',
    cause,
  });
}
