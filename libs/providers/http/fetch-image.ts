import type { ImageFetcher } from '../provider-descriptor.js';
import { ProviderError } from '../provider-error.js';

/** Largest image that is taken from a vendor, in bytes. */
export const MAX_IMAGE_BYTES = 64_000_000;
/** What each further image of a call may add, in bytes: one of the pixel table's largest that can't be compressed has 25 MB. */
const FURTHER_IMAGE_BYTES = 26_000_000;
const TRIES = 3;

/** Most bytes of all images of a call together, since they are in memory at once. */
export function maxImageBytes(images: number): number {
  return MAX_IMAGE_BYTES + (images - 1) * FURTHER_IMAGE_BYTES;
}

/** Bytes of an answer at most that holds so many images as base64, where one may make it `bytesOfOne` long. */
export function maxAnswerBytes(images: number, bytesOfOne: number): number {
  return bytesOfOne + Math.ceil((images - 1) * FURTHER_IMAGE_BYTES * (4 / 3));
}

/**
 * At once, since such addresses expire; and more than once, since what is fetched was paid for.
 * Throws ProviderError, with the fetcher's error as its cause, or the signal's reason.
 */
export async function fetchImage(
  fetcher: ImageFetcher,
  url: string,
  signal: AbortSignal,
  maxBytes = MAX_IMAGE_BYTES,
): Promise<Buffer> {
  for (let tries = 1; ; tries++) {
    try {
      return await fetcher.get(url, { signal, maxBytes });
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

/** Bytes of all pieces. */
export function lengthOf(pieces: readonly Buffer[]): number {
  return pieces.reduce((sum, piece) => sum + piece.length, 0);
}

/** An image of an answer: its bytes in pieces, or where it can be fetched. */
export type NamedImage =
  | { readonly bytes: readonly Buffer[]; readonly url?: undefined }
  | { readonly bytes?: undefined; readonly url: string };

/**
 * The images of an answer, in pieces; those with an address are fetched one after the other. One that can't be fetched is left
 * out where there are others. Throws like `fetchImage` when there are none.
 */
export async function fetchImages(
  fetcher: ImageFetcher,
  named: readonly NamedImage[],
  signal: AbortSignal,
): Promise<(readonly Buffer[])[]> {
  const images: (readonly Buffer[])[] = [];
  let left = maxImageBytes(named.length);
  let failure: ProviderError | undefined;
  for (const { bytes, url } of named) {
    try {
      const image = bytes ?? [await fetchImage(fetcher, url, signal, Math.min(left, MAX_IMAGE_BYTES))];
      left -= lengthOf(image);
      images.push(image);
    } catch (error) {
      if (signal.aborted || !(error instanceof ProviderError)) throw error;
      failure ??= error;
    }
  }
  if (images.length === 0 && failure !== undefined) throw failure;
  return images;
}
