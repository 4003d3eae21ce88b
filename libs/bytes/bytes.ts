import { setImmediate as nextTurn } from 'node:timers/promises';
import { createHash } from 'node:crypto';

/** Bytes copied or hashed before yielding to the event loop: a few milliseconds on a slow machine. */
export const SLICE_BYTES = 1_048_576;

/** Yields the bytes in slices, and lets the event loop run between two slices. */
export async function* inSlices(bytes: Buffer, sliceBytes = SLICE_BYTES): AsyncGenerator<Buffer> {
  for (let start = 0; start < bytes.length; start += sliceBytes) {
    if (start > 0) await nextTurn();
    yield bytes.subarray(start, start + sliceBytes);
  }
}

/**
 * Like `Buffer.concat`, in slices: copying 50 MB at once would block the event loop for a tenth of a second. A single part
 * is returned itself.
 */
export async function joined(parts: readonly Buffer[]): Promise<Buffer> {
  const [only] = parts;
  if (parts.length === 1 && only !== undefined) return only;
  return copied(parts);
}

async function copied(parts: readonly Buffer[]): Promise<Buffer> {
  const whole = Buffer.allocUnsafe(parts.reduce((sum, part) => sum + part.length, 0));
  let end = 0;
  let sliceEnd = SLICE_BYTES;
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

/** SHA-256 in hex of one part after the other, in slices. */
export async function sha256Of(...parts: readonly Buffer[]): Promise<string> {
  const hash = createHash('sha256');
  for (const part of parts) for await (const slice of inSlices(part)) hash.update(slice);
  return hash.digest('hex');
}

/** Total bytes of all parts. */
export function lengthOf(parts: readonly Buffer[]): number {
  return parts.reduce((sum, part) => sum + part.length, 0);
}

/** What follows the first `bytes` bytes, without copying it. */
export function withoutFirst(parts: readonly Buffer[], bytes: number): Buffer[] {
  let left = bytes;
  return parts.flatMap((part) => {
    const rest = part.subarray(Math.min(left, part.length));
    left -= part.length - rest.length;
    return rest.length === 0 ? [] : [rest];
  });
}

/** Smaller pieces are copied together; otherwise single bytes would take a hundred times their size in memory. */
const BLOCK_BYTES = 65_536;
/** Blocks grow with the body up to this size, so that a large one needs few. */
const LARGEST_BLOCK_BYTES = 1_048_576;
/** A buffer is copied if more than this part of it would stay unused. */
const MAX_UNUSED = 1 / 8;

/** Collects the pieces of a body, in at most one buffer per 32 KB however small the pieces are. */
export class ByteCollector {
  bytes = 0;
  private readonly parts: Buffer[] = [];
  private block: Buffer | undefined;
  private filled = 0;

  /**
   * `expected`: how many bytes will come, if that is known. They are then collected in one buffer, which nobody has to
   * copy again; its pages take no memory before they are written.
   */
  constructor(private readonly expected = 0) {}

  add(piece: Buffer): void {
    const fits =
      piece.length <= (this.block === undefined ? this.expected - this.bytes : this.block.length - this.filled);
    if (fits || piece.length < BLOCK_BYTES / 2) {
      const block = this.room(piece.length);
      piece.copy(block, this.filled);
      this.filled += piece.length;
    } else {
      this.closeBlock();
      this.parts.push(piece);
    }
    this.bytes += piece.length;
  }

  /** Adds what this base64 decodes to; returns how many bytes those are. */
  addBase64(text: string): number {
    const bytes = this.room(Math.ceil((text.length / 4) * 3)).write(text, this.filled, 'base64');
    this.filled += bytes;
    this.bytes += bytes;
    return bytes;
  }

  /** Removes the bytes that the last `addBase64` added. */
  drop(bytes: number): void {
    this.filled -= bytes;
    this.bytes -= bytes;
  }

  /** Number of buffers in use. */
  get buffers(): number {
    return this.parts.length + (this.block === undefined ? 0 : 1);
  }

  /** All bytes in one buffer; copied in slices, unless one buffer of the right size has them already. */
  async joined(): Promise<Buffer> {
    const { parts } = this;
    this.closeBlock();
    const [only] = parts;
    const isWasteful = only !== undefined && only.length < only.buffer.byteLength * (1 - MAX_UNUSED);
    return isWasteful ? copied(parts) : joined(parts);
  }

  /** All bytes, in the collector's own buffers. */
  pieces(): readonly Buffer[] {
    this.closeBlock();
    return this.parts;
  }

  /** A block with room for this many more bytes. */
  private room(bytes: number): Buffer {
    if (this.block !== undefined && this.filled + bytes > this.block.length) this.closeBlock();
    const grown = Math.min(Math.max(BLOCK_BYTES, this.bytes), LARGEST_BLOCK_BYTES);
    this.block ??= Buffer.allocUnsafeSlow(Math.max(this.bytes === 0 ? this.expected : 0, grown, bytes));
    return this.block;
  }

  private closeBlock(): void {
    if (this.block !== undefined) this.parts.push(this.block.subarray(0, this.filled));
    this.block = undefined;
    this.filled = 0;
  }
}

/** The first bytes of a body, `length` if it has so many, and the body from its beginning. */
export async function begun(
  source: AsyncIterable<Buffer>,
  length: number,
): Promise<{ readonly head: Buffer; readonly whole: AsyncGenerator<Buffer> }> {
  const pieces = source[Symbol.asyncIterator]();
  let head: Buffer = Buffer.alloc(0);
  while (head.length < length) {
    const next = await pieces.next();
    if (next.done === true) break;
    head = head.length === 0 ? next.value : Buffer.concat([head, next.value]);
  }
  async function* whole(): AsyncGenerator<Buffer> {
    try {
      if (head.length > 0) yield head;
      for (let next = await pieces.next(); next.done !== true; next = await pieces.next()) yield next.value;
    } finally {
      await pieces.return?.();
    }
  }
  return { head, whole: whole() };
}
