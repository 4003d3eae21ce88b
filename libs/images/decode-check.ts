import type { ImageHeader } from './header.js';
import { ImageError } from './image-error.js';
import { inTurn, openImage } from './sharp.js';

/** Decodes every pixel once and keeps none. Throws ImageError when the image is damaged or cut short. */
export async function checkDecodes(bytes: Buffer, { width, height }: ImageHeader): Promise<void> {
  try {
    // One channel of all pixels: the cheapest result for which the decoder must read to the last row.
    await inTurn(() => openImage(bytes).extractChannel(0).raw().toBuffer(), width * height);
  } catch (cause) {
    throw undecodable(cause);
  }
}

/** The one thing a caller is told when a decoder gave up. */
export function undecodable(cause: unknown): ImageError {
  if (cause instanceof ImageError) return cause;
  return new ImageError('invalid_image_file', 'The image cannot be decoded: it is damaged or incomplete.', cause);
}
