import { undecodable } from './decode-check.js';
import type { InputImage } from './input-image.js';
import { inTurn, openImage } from './sharp.js';

/**
 * A mask as diffusion servers take it: white where callers' masks are transparent, black where they are opaque, and
 * gray in between. Throws ImageError when it can't be decoded.
 */
export async function whiteMask(mask: InputImage): Promise<InputImage> {
  const bytes = await inTurn(() =>
    openImage(mask.bytes).extractChannel('alpha').negate().toColorspace('b-w').png().toBuffer(),
  ).catch((cause: unknown) => {
    throw undecodable(cause);
  });
  return { ...mask, bytes, hasAlpha: false };
}
