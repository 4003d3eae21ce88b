import { undecodable } from './decode-check.js';
import type { ImagePixels } from './file-parts.js';
import { inTurn, openImage } from './sharp.js';

/** Longest edge in pixels: sharp in a box of 86 on a screen of double density, for shapes up to 16:9. */
export const THUMBNAIL_EDGE = 320;
const QUALITY = 75;
/** Decoding the image is what costs; 4, the default, would double the rest for files 10 % smaller. */
const EFFORT = 0;

/** A small WebP of a finished image, as transparent as that is. Throws ImageError when not every pixel can be decoded. */
export async function makeThumbnail(image: Buffer, { width, height }: Omit<ImagePixels, 'hasAlpha'>): Promise<Buffer> {
  return inTurn(
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
