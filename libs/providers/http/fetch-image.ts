import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '#contract/app-error.js';
import type { ImageFetcher } from '../provider-descriptor.js';
import { ProviderError } from '../provider-error.js';

/** Largest image accepted from a vendor, in bytes. */
export const MAX_IMAGE_BYTES = 64_000_000;
/**
 * Additional bytes for each further image of a call: the pixel table's largest images have 25 MB if they can't be
 * compressed.
 */
const FURTHER_IMAGE_BYTES = 26_000_000;
/** However long each takes. */
const LEAST_TRIES = 3;
/**
 * How long the images of a call are looked for, in ms: stores that copy a new image to all of their servers, or sign its
 * link before it is written, take seconds.
 */
const PATIENCE_MS = 20_000;
const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 4_000;

/** Maximum bytes of all images of a call, since they are in memory at the same time. */
export function maxImageBytes(images: number): number {
  return MAX_IMAGE_BYTES + (images - 1) * FURTHER_IMAGE_BYTES;
}

/** Maximum bytes of a response with this many base64 images, if a response with one may have `bytesOfOne`. */
export function maxAnswerBytes(images: number, bytesOfOne: number): number {
  return bytesOfOne + Math.ceil((images - 1) * FURTHER_IMAGE_BYTES * (4 / 3));
}

/** How to download the images of a call. */
export interface ImageDownload {
  readonly fetcher: ImageFetcher;
  /** Base URL of the server, for links without a host. */
  readonly baseUrl: string;
  readonly signal: AbortSignal;
  /** `performance.now()` up to which failed downloads are tried again. */
  readonly until: number;
}

/** Patience for all images of a call together; `ms`: if it is not the usual one. */
export function untilPatienceEnds(ms = PATIENCE_MS): number {
  return performance.now() + ms;
}

/**
 * Downloads an image at once, because such URLs expire, and retries, because it has been paid for. Throws ProviderError
 * with the fetcher's error as its cause, or the signal's reason.
 */
export async function fetchImage(
  { fetcher, baseUrl, signal, until }: ImageDownload,
  text: string,
  maxBytes = MAX_IMAGE_BYTES,
): Promise<Buffer> {
  const url = imageUrl(text, baseUrl);
  for (let tries = 1; ; tries++) {
    try {
      return await fetcher.get(url, { signal, maxBytes, decode: true });
    } catch (cause) {
      signal.throwIfAborted();
      const delayMs = Math.min(FIRST_DELAY_MS * 2 ** (tries - 1), LONGEST_DELAY_MS);
      const isForbidden = cause instanceof AppError && cause.code === 'invalid_image_url';
      if (!isForbidden && (tries < LEAST_TRIES || performance.now() + delayMs < until)) {
        await delay(delayMs, undefined, { signal }).catch(() => signal.throwIfAborted());
        continue;
      }
      throw new ProviderError('upstream_error', 'The image could not be fetched from the provider.', {
        retryable: true,
        charged: 'maybe',
        cause,
      });
    }
  }
}

/** A link as a browser reads it: without line breaks and white space around it, with spaces encoded. */
function imageUrl(text: string, baseUrl: string): string {
  const url = text
    .replace(/[\t\r\n]+/g, '')
    .trim()
    .replace(/^[<"']+|[>"']+$/g, '')
    .trim()
    .replace(/\s/g, '%20');
  return url.startsWith('/') && URL.canParse(url, baseUrl) ? new URL(url, baseUrl).href : url;
}

/** An image in a response: its bytes, or its URL. */
export type NamedImage =
  { readonly bytes: Buffer; readonly url?: undefined } | { readonly bytes?: undefined; readonly url: string };

/**
 * Returns the images of a response; downloads those with a URL one after the other. Skips failed downloads, unless there
 * is no image at all: then throws like `fetchImage`.
 */
export async function fetchImages(download: ImageDownload, named: readonly NamedImage[]): Promise<Buffer[]> {
  const images: Buffer[] = [];
  let left = maxImageBytes(named.length);
  let failure: ProviderError | undefined;
  for (const { bytes, url } of named) {
    try {
      const image = bytes ?? (await fetchImage(download, url, Math.min(left, MAX_IMAGE_BYTES)));
      left -= image.length;
      images.push(image);
    } catch (error) {
      if (download.signal.aborted || !(error instanceof ProviderError)) throw error;
      failure ??= error;
    }
  }
  if (images.length === 0 && failure !== undefined) throw failure;
  return images;
}
