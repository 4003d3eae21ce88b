import { ImageError } from './image-error.js';
import type { InputType } from './sniff.js';

/** Largest uploaded image file, in bytes (50 MB). */
export const MAX_UPLOAD_BYTES = 50_000_000;
/** Largest image fetched from a caller's URL, in bytes (20 MB). */
export const MAX_REMOTE_IMAGE_BYTES = 20_000_000;
/** Largest uploaded reference image, in bytes (20 MB). */
export const MAX_KEPT_IMAGE_BYTES = 20_000_000;
/** Largest mask file, in bytes (4 MB). */
export const MAX_MASK_BYTES = 4_000_000;
/** Largest decoded image, in pixels (64 megapixels): width times height of one frame. */
export const MAX_IMAGE_PIXELS = 64_000_000;
/**
 * Largest AVIF, in pixels (24 megapixels). Its decoder holds up to 24 bytes per pixel, three times as many as others:
 * what a frame is predicted from, and each pixel with 16 bits.
 */
const MAX_AVIF_PIXELS = 24_000_000;
/** Work and memory for a pixel of an AVIF, compared with other formats. */
const AVIF_COST = 3;
/** Most pixels of all references and the mask of one request together (200 megapixels), each counted as often as named. */
export const MAX_REFERENCE_PIXELS = 200_000_000;
/** Most bytes of all references and the mask of one request together (100 MB), each counted as often as named. */
export const MAX_REFERENCE_BYTES = 100_000_000;
/** An image of up to so many pixels may be one color in a few bytes. */
const PLAIN_PIXELS = 16_777_216;
/** A larger one has at most so many pixels per byte: a PNG of one color has 344, a WebP may have a million. */
const MAX_PIXELS_PER_BYTE = 2_000;
/** Longest edge that PNG, JPEG, and WebP can all store, in pixels. */
export const MAX_IMAGE_EDGE = 16_383;
/** Shortest edge of an input image, in pixels. */
export const MIN_IMAGE_EDGE = 64;
/** Largest image accepted from a provider, in bytes (64 MB). */
export const MAX_IMAGE_BYTES = 64_000_000;
/** Longest time one decode or encode may take, in seconds. */
export const MAX_CODEC_SECONDS = 60;
/**
 * Longest edge of a thumbnail, in pixels: sharp in a box of 86 pixels on a double-density screen, for aspect ratios up
 * to 16:9.
 */
export const THUMBNAIL_EDGE = 320;
/** Content type of a thumbnail. */
export const THUMBNAIL_TYPE = 'image/webp';

/** Throws ImageError `image_too_large` or `image_too_small`; both edges in pixels. */
export function assertInputPixels(width: number, height: number, type: InputType): void {
  const most = type === 'avif' ? MAX_AVIF_PIXELS : MAX_IMAGE_PIXELS;
  if (Math.max(width, height) > MAX_IMAGE_EDGE || width * height > most) throw imageTooLarge(most, type);
  if (Math.min(width, height) >= MIN_IMAGE_EDGE) return;
  throw new ImageError(
    'image_too_small',
    `The image has ${width}x${height} pixels; each edge must have at least ${MIN_IMAGE_EDGE}.`,
  );
}

/** Throws ImageError `image_too_large` for a large image in implausibly few bytes. */
export function assertPixelsPerByte(pixels: number, bytes: number): void {
  if (pixels <= PLAIN_PIXELS || pixels <= bytes * MAX_PIXELS_PER_BYTE) return;
  throw new ImageError(
    'image_too_large',
    `The image declares ${(pixels / 1e6).toFixed(1)} megapixels in ${bytes} bytes; above ${(PLAIN_PIXELS / 1e6).toFixed(1)} megapixels, at most ${MAX_PIXELS_PER_BYTE} pixels per byte are accepted.`,
  );
}

/** What decides whether a list shows the image itself. */
interface ShownImage {
  readonly width: number;
  readonly height: number;
  readonly contentType: string;
}

/** False for an image that is as small as a thumbnail itself, and for a drawing, which is shown at any size. */
export function needsThumbnail({ width, height, contentType }: ShownImage): boolean {
  return contentType !== 'image/svg+xml' && Math.max(width, height) > THUMBNAIL_EDGE;
}

/** What decoding an image costs, in pixels of the other formats. */
export function decodingCost(pixels: number, type: InputType): number {
  return type === 'avif' ? AVIF_COST * pixels : pixels;
}

/** The files of a request so far, as large as they are named: its references and its mask. */
export class ReferenceTotal {
  private bytes = 0;
  private pixels = 0;

  /** Throws ImageError `image_file_too_large` when the files of the request are too large together. */
  addBytes(bytes: number): void {
    this.count(bytes, '');
  }

  /** Counts how much larger a file became when it was converted. Throws ImageError like `addBytes`. */
  addGrowth(bytes: number): void {
    this.count(Math.max(0, bytes), ' Those that are converted count as large as they are as PNG.');
  }

  /** Throws ImageError `image_too_large` when the images of the request have too many pixels together. */
  addPixels(pixels: number): void {
    this.pixels += pixels;
    if (this.pixels <= MAX_REFERENCE_PIXELS) return;
    throw new ImageError(
      'image_too_large',
      `The images of a request may have at most ${MAX_REFERENCE_PIXELS / 1e6} megapixels together.`,
    );
  }

  private count(bytes: number, why: string): void {
    this.bytes += bytes;
    if (this.bytes <= MAX_REFERENCE_BYTES) return;
    throw new ImageError(
      'image_file_too_large',
      `The images of a request may have at most ${MAX_REFERENCE_BYTES / 1e6} MB together.${why}`,
    );
  }
}

/** The error for too many pixels, wherever they were counted. */
export function imageTooLarge(most = MAX_IMAGE_PIXELS, type?: InputType): ImageError {
  const what = type === 'avif' ? 'AVIF image' : 'image';
  return new ImageError(
    'image_too_large',
    `The ${what} is too large: at most ${most / 1e6} megapixels and ${MAX_IMAGE_EDGE} pixels per edge are accepted.`,
  );
}
