import { AppError } from '#contract/app-error.js';
import { declaredPixels } from '#images/declared-pixels.js';
import { ImageError } from '#images/image-error.js';
import { assertInputPixels } from '#images/pixel-limits.js';
import type { InputType } from '#images/sniff.js';
import { FILE_PART } from './upload-form.js';

/** Where an image says how large it is, unless there is an odd amount of metadata before it. */
const MAX_HEAD_BYTES = 262_144;
/** By how much it must have grown to be looked at again. */
const LOOK_AGAIN = 1.2;

/**
 * Refuses an image by the pixels it declares, soon after they have arrived. What they really are, its task finds out.
 * What it returns throws AppError.
 */
export function pixelWatch(): (piece: Buffer, type: InputType) => void {
  let head: Buffer = Buffer.alloc(0);
  let size = 0;
  let nextLook = 0;
  let over = false;
  return (piece, type) => {
    if (over) return;
    head = withPiece(head, size, piece);
    size += piece.length;
    if (size < nextLook) return;
    // However small the pieces are, few looks at what has come reach its end.
    nextLook = size * LOOK_AGAIN;
    const pixels = declaredPixels(head.subarray(0, size), type);
    over = pixels !== undefined || size > MAX_HEAD_BYTES;
    if (pixels === undefined) return;
    try {
      assertInputPixels(pixels.width, pixels.height);
    } catch (error) {
      if (!(error instanceof ImageError)) throw error;
      throw new AppError(error.code, error.message, { param: FILE_PART, cause: error });
    }
  };
}

/** The first `size` bytes and the piece, in a buffer that doubles when they need more. */
function withPiece(head: Buffer, size: number, piece: Buffer): Buffer {
  const needed = size + piece.length;
  const room = needed <= head.length ? head : Buffer.alloc(Math.max(needed, 2 * head.length));
  if (room !== head) head.copy(room, 0, 0, size);
  piece.copy(room, size);
  return room;
}
