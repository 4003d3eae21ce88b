import { declaredPixels } from '#images/declared-pixels.js';
import { assertInputPixels, assertPixelsPerByte, MAX_IMAGE_PIXELS, type ReferenceTotal } from '#images/limits.js';
import type { InputType } from '#images/sniff.js';
import { blaming, type ImageWatch } from './store-input.js';

/** An image declares its size within these bytes, unless unusual metadata comes first. */
const MAX_HEAD_BYTES = 262_144;
/** Growth factor between two checks. */
const LOOK_AGAIN = 1.2;

/**
 * Rejects an image by its declared pixels as soon as they have arrived, and all images of a request together
 * (`total`). Its real pixels are checked by its task.
 */
export class PixelWatch implements ImageWatch {
  /** Width times height; undefined when they were not found. */
  pixels: number | undefined;
  private head: Buffer = Buffer.alloc(0);
  private size = 0;
  private nextLook = 0;
  private over = false;

  /** `param`: the request field that holds the image; a mask is only counted, because it must fit the first image. */
  constructor(
    private readonly param: string,
    private readonly total?: ReferenceTotal,
    private readonly isMask = false,
  ) {}

  take(piece: Buffer, type: InputType): void {
    blaming(this.param, () => this.total?.addBytes(piece.length));
    if (!this.over) this.head = withPiece(this.head, this.size, piece);
    this.size += piece.length;
    if (this.over || this.size < this.nextLook) return;
    // Growing intervals keep the checks few, however small the chunks are.
    this.nextLook = this.size * LOOK_AGAIN;
    this.look(type);
  }

  /** Checks what arrived after the last check, and the whole file. */
  end(type: InputType): void {
    if (!this.over) this.look(type);
    if (!this.isMask) blaming(this.param, () => assertPixelsPerByte(this.pixels ?? 0, this.size));
  }

  private look(type: InputType): void {
    const declared = declaredPixels(this.head.subarray(0, this.size), type);
    this.over = declared !== undefined || this.size > MAX_HEAD_BYTES;
    if (this.over) this.head = Buffer.alloc(0);
    if (declared === undefined) return;
    const { width, height } = declared;
    // Fits no image that is accepted, which its task says before it decodes anything.
    if (this.isMask && width * height > MAX_IMAGE_PIXELS) return;
    this.pixels = width * height;
    blaming(this.param, () => {
      if (!this.isMask) assertInputPixels(width, height, type);
      this.total?.addPixels(width * height);
    });
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
