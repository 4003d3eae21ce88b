import { AppError } from '#contract/app-error.js';
import { declaredPixels } from '#images/declared-pixels.js';
import { ImageError } from '#images/image-error.js';
import { assertInputPixels } from '#images/limits.js';
import type { InputType } from '#images/sniff.js';
import type { ImageWatch } from '../images/store-input.js';
import { FILE_PART } from './upload-form.js';

/** An image declares its size within these bytes, unless unusual metadata comes first. */
const MAX_HEAD_BYTES = 262_144;
/** Growth factor between two checks. */
const LOOK_AGAIN = 1.2;

/** Rejects an image by its declared pixels as soon as they have arrived. Its real pixels are checked by its task. */
export class PixelWatch implements ImageWatch {
  private head: Buffer = Buffer.alloc(0);
  private size = 0;
  private nextLook = 0;
  private over = false;

  take(piece: Buffer, type: InputType): void {
    if (this.over) return;
    this.head = withPiece(this.head, this.size, piece);
    this.size += piece.length;
    if (this.size < this.nextLook) return;
    // Growing intervals keep the checks few, however small the chunks are.
    this.nextLook = this.size * LOOK_AGAIN;
    this.look(type);
  }

  /** Checks what arrived after the last check. */
  end(type: InputType): void {
    if (!this.over) this.look(type);
  }

  private look(type: InputType): void {
    const pixels = declaredPixels(this.head.subarray(0, this.size), type);
    this.over = pixels !== undefined || this.size > MAX_HEAD_BYTES;
    if (pixels === undefined) return;
    try {
      assertInputPixels(pixels.width, pixels.height);
    } catch (error) {
      if (!(error instanceof ImageError)) throw error;
      throw new AppError(error.code, error.message, { param: FILE_PART, cause: error });
    }
  }
}

/** Appends the chunk to the first `size` bytes, in a buffer that doubles when it is full. */
function withPiece(head: Buffer, size: number, piece: Buffer): Buffer {
  const needed = size + piece.length;
  const room = needed <= head.length ? head : Buffer.alloc(Math.max(needed, 2 * head.length));
  if (room !== head) head.copy(room, 0, 0, size);
  piece.copy(room, size);
  return room;
}
