import { undecodable } from './decode-check.js';
import type { InputImage } from './input-image.js';
import { withImageSlot, openImage } from './sharp.js';

/**
 * Converts a mask to the form of diffusion servers: white where the caller's mask is transparent, black where it is
 * opaque, and gray in between. Throws ImageError when it can't be decoded.
 */
export async function whiteMask(mask: InputImage): Promise<InputImage> {
  const bytes = await withImageSlot(() =>
    openImage(mask.bytes).extractChannel('alpha').negate().toColorspace('b-w').png().toBuffer(),
  ).catch((cause: unknown) => {
    throw undecodable(cause);
  });
  return { ...mask, bytes, hasAlpha: false };
}
