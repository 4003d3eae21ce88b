import { undecodable } from './decode-check.js';
import type { ImagePixels } from './file-parts.js';
import { THUMBNAIL_EDGE } from './limits.js';
import { withImageSlot, openImage } from './sharp.js';

const QUALITY = 75;
/** Decoding takes most of the time; the default of 4 would double the rest for 10 % smaller files. */
const EFFORT = 0;

/**
 * Creates a small WebP of a finished image (of an animation, its first frame), and keeps its transparency. Throws
 * ImageError when the image can't be decoded, or the signal's reason.
 */
export async function makeThumbnail(
  image: Buffer,
  { width, height }: Omit<ImagePixels, 'hasAlpha'>,
  signal?: AbortSignal,
): Promise<Buffer> {
  return withImageSlot(
    () =>
      openImage(image)
        .resize(THUMBNAIL_EDGE, THUMBNAIL_EDGE, { fit: 'inside', withoutEnlargement: true })
        .webp({ quality: QUALITY, effort: EFFORT })
        .toBuffer(),
    width * height,
    signal,
  ).catch((cause: unknown) => {
    signal?.throwIfAborted();
    throw undecodable(cause);
  });
}
