import { ImageError } from './image-error.js';

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
/** Longest edge that PNG, JPEG, and WebP can all store, in pixels. */
export const MAX_IMAGE_EDGE = 16_383;
/** Shortest edge of an input image, in pixels. */
export const MIN_IMAGE_EDGE = 64;
/** Largest image accepted from a provider, in bytes (64 MB). */
export const MAX_IMAGE_BYTES = 64_000_000;
/** Longest time one decode or encode may take, in seconds. */
export const MAX_CODEC_SECONDS = 60;

/** Throws ImageError `image_too_large` or `image_too_small`; both edges in pixels. */
export function assertInputPixels(width: number, height: number): void {
  if (Math.max(width, height) > MAX_IMAGE_EDGE || width * height > MAX_IMAGE_PIXELS) throw imageTooLarge();
  if (Math.min(width, height) >= MIN_IMAGE_EDGE) return;
  throw new ImageError(
    'image_too_small',
    `The image has ${width}x${height} pixels; each edge must have at least ${MIN_IMAGE_EDGE}.`,
  );
}

/** The error for too many pixels, wherever they were counted. */
export function imageTooLarge(): ImageError {
  return new ImageError(
    'image_too_large',
    `The image is too large: at most ${MAX_IMAGE_PIXELS / 1e6} megapixels and ${MAX_IMAGE_EDGE} pixels per edge are accepted.`,
  );
}
