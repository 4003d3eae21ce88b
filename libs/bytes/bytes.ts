import { setImmediate as nextTurn } from 'node:timers/promises';
import { createHash } from 'node:crypto';

/** Bytes copied or hashed before the event loop serves everybody else: a few milliseconds on a slow machine. */
export const SLICE_BYTES = 1_048_576;

/** The bytes one slice after the other; between two of them everything else that waits has its turn. */
export async function* inSlices(bytes: Buffer, sliceBytes = SLICE_BYTES): AsyncGenerator<Buffer> {
  for (let start = 0; start < bytes.length; start += sliceBytes) {
    if (start > 0) await nextTurn();
    yield bytes.subarray(start, start + sliceBytes);
  }
}

/** Like `Buffer.concat`, in slices: fifty megabytes at once would hold the event loop for a tenth of a second. */
export async function joined(parts: readonly Buffer[]): Promise<Buffer> {
  const whole = Buffer.allocUnsafe(parts.reduce((sum, part) => sum + part.length, 0));
  let [end, sliceEnd] = [0, SLICE_BYTES];
  for (const part of parts) {
    for (let start = 0; start < part.length;) {
      if (end === sliceEnd) {
        await nextTurn();
        sliceEnd += SLICE_BYTES;
      }
      const copied = part.copy(whole, end, start, start + sliceEnd - end);
      start += copied;
      end += copied;
    }
  }
  return whole;
}

/** SHA-256 in hex, in slices. */
export async function sha256Of(bytes: Buffer): Promise<string> {
  const hash = createHash('sha256');
  for await (const slice of inSlices(bytes)) hash.update(slice);
  return hash.digest('hex');
}

/** Pieces below this are copied together; a sender of single bytes would else cost a hundred times what it sends. */
const BLOCK_BYTES = 65_536;

/** Keeps what arrives in pieces, in at most one buffer per 32 KB however small the pieces are. */
export class ByteCollector {
  bytes = 0;
  private readonly parts: Buffer[] = [];
  private block: Buffer | undefined;
  private filled = 0;

  add(piece: Buffer): void {
    this.bytes += piece.length;
    if (piece.length >= BLOCK_BYTES / 2) {
      this.closeBlock();
      this.parts.push(piece);
      return;
    }
    if (this.filled + piece.length > BLOCK_BYTES) this.closeBlock();
    this.block ??= Buffer.allocUnsafe(BLOCK_BYTES);
    piece.copy(this.block, this.filled);
    this.filled += piece.length;
  }

  /** How many buffers hold it. */
  get buffers(): number {
    return this.parts.length + (this.block === undefined ? 0 : 1);
  }

  /** All of it in one buffer, copied in slices. */
  async joined(): Promise<Buffer> {
    return joined(this.pieces());
  }

  /** All of it in the buffers that hold it. */
  pieces(): readonly Buffer[] {
    this.closeBlock();
    return this.parts;
  }

  private closeBlock(): void {
    if (this.block !== undefined) this.parts.push(this.block.subarray(0, this.filled));
    this.block = undefined;
    this.filled = 0;
  }
}
