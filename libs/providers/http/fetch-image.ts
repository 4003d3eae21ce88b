import type { ImageFetcher } from '../provider-descriptor.js';
import { ProviderError } from '../provider-error.js';

/** Largest image that is taken from a vendor, in bytes. */
export const MAX_IMAGE_BYTES = 64_000_000;
const TRIES = 3;

/**
 * At once, since such addresses expire; and more than once, since what is fetched was paid for.
 * Throws ProviderError, with the fetcher's error as its cause, or the signal's reason.
 */
export async function fetchImage(fetcher: ImageFetcher, url: string, signal: AbortSignal): Promise<Buffer> {
  for (let tries = 1; ; tries++) {
    try {
      return await fetcher.get(url, { signal, maxBytes: MAX_IMAGE_BYTES });
    } catch (cause) {
      signal.throwIfAborted();
      if (tries < TRIES) continue;
      throw new ProviderError('upstream_error', 'The image could not be fetched from the provider.', {
        retryable: true,
        charged: 'maybe',
        cause,
      });
    }
  }
}
