import { undecodable } from './decode-check.js';
import type { ImagePixels } from './file-parts.js';
import { withImageSlot, openImage } from './sharp.js';

/** Longest edge in pixels: sharp in a box of 86 pixels on a double-density screen, for aspect ratios up to 16:9. */
export const THUMBNAIL_EDGE = 320;
const QUALITY = 75;
/** Decoding takes most of the time; the default of 4 would double the rest for 10 % smaller files. */
const EFFORT = 0;

/**
 * Creates a small WebP of a finished image, and keeps its transparency. Throws ImageError when not every pixel can be
 * decoded.
 */
export async function makeThumbnail(image: Buffer, { width, height }: Omit<ImagePixels, 'hasAlpha'>): Promise<Buffer> {
  return withImageSlot(
    () =>
      openImage(image)
        .resize(THUMBNAIL_EDGE, THUMBNAIL_EDGE, { fit: 'inside', withoutEnlargement: true })
        .webp({ quality: QUALITY, effort: EFFORT })
        .toBuffer(),
    width * height,
  ).catch((cause: unknown) => {
    throw undecodable(cause);
  });
}
