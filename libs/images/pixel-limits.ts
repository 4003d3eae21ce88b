import { ImageError } from './image-error.js';
import { MAX_IMAGE_EDGE, MAX_IMAGE_PIXELS, MIN_IMAGE_EDGE } from './limits.js';

/** Throws ImageError `image_too_large` or `image_too_small`; both edges in pixels. */
export function assertInputPixels(width: number, height: number): void {
  if (Math.max(width, height) > MAX_IMAGE_EDGE || width * height > MAX_IMAGE_PIXELS) throw imageTooLarge();
  if (Math.min(width, height) >= MIN_IMAGE_EDGE) return;
  throw new ImageError(
    'image_too_small',
    `The image has ${width}x${height} pixels; each edge needs at least ${MIN_IMAGE_EDGE}.`,
  );
}

/** What a caller is told of too many pixels, whoever counted them. */
export function imageTooLarge(): ImageError {
  return new ImageError(
    'image_too_large',
    `The image is too large: at most ${MAX_IMAGE_PIXELS / 1e6} megapixels and ${MAX_IMAGE_EDGE} pixels per edge are accepted.`,
  );
}
