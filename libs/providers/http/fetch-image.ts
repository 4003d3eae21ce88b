import type { ImageFetcher } from '../provider-descriptor.js';
import { ProviderError } from '../provider-error.js';

/** Largest image accepted from a vendor, in bytes. */
export const MAX_IMAGE_BYTES = 64_000_000;
/**
 * Additional bytes for each further image of a call: the pixel table's largest images have 25 MB if they can't be
 * compressed.
 */
const FURTHER_IMAGE_BYTES = 26_000_000;
const TRIES = 3;

/** Maximum bytes of all images of a call, since they are in memory at the same time. */
export function maxImageBytes(images: number): number {
  return MAX_IMAGE_BYTES + (images - 1) * FURTHER_IMAGE_BYTES;
}

/** Maximum bytes of a response with this many base64 images, if a response with one may have `bytesOfOne`. */
export function maxAnswerBytes(images: number, bytesOfOne: number): number {
  return bytesOfOne + Math.ceil((images - 1) * FURTHER_IMAGE_BYTES * (4 / 3));
}

/**
 * Downloads an image at once, because such URLs expire, and retries, because it has been paid for. Throws ProviderError
 * with the fetcher's error as its cause, or the signal's reason.
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

/** Total bytes of all pieces. */
export function lengthOf(pieces: readonly Buffer[]): number {
  return pieces.reduce((sum, piece) => sum + piece.length, 0);
}

/** An image in a response: its bytes in pieces, or its URL. */
export type NamedImage =
  | { readonly bytes: readonly Buffer[]; readonly url?: undefined }
  | { readonly bytes?: undefined; readonly url: string };

/**
 * Returns the images of a response, in pieces; downloads those with a URL one after the other. Skips failed downloads,
 * unless there is no image at all: then throws like `fetchImage`.
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
