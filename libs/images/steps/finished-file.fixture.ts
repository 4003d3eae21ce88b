import { finishImage, type FinishedImage } from './finish-image.js';
import type { FinishOrder } from './step.js';

/** A finished image with its file in one buffer. */
export async function finishedFile(
  bytes: Buffer,
  order: FinishOrder,
  signal: AbortSignal,
): Promise<FinishedImage & { readonly bytes: Buffer }> {
  const image = await finishImage(bytes, order, signal);
  return { ...image, bytes: Buffer.concat(image.pieces) };
}
