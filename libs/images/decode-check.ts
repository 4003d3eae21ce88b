import type { ImageHeader } from './header.js';
import { ImageError } from './image-error.js';
import { withImageSlot, openImage } from './sharp.js';

/**
 * Decodes every pixel and discards the result. Throws ImageError when the image is damaged or truncated, or the
 * signal's reason.
 */
export async function checkDecodes(bytes: Buffer, { width, height }: ImageHeader, signal?: AbortSignal): Promise<void> {
  try {
    // Extracting one channel is the cheapest operation that makes the decoder read to the last row.
    await withImageSlot(() => openImage(bytes).extractChannel(0).raw().toBuffer(), width * height, signal);
  } catch (cause) {
    signal?.throwIfAborted();
    throw undecodable(cause);
  }
}

/** The error that callers see when a decoder fails. */
export function undecodable(cause: unknown): ImageError {
  if (cause instanceof ImageError) return cause;
  return new ImageError('invalid_image_file', 'The image cannot be decoded: it is damaged or incomplete.', cause);
}
