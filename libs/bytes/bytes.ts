import { setImmediate as nextTurn } from 'node:timers/promises';
import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';

/** Bytes copied or hashed before yielding to the event loop: a few milliseconds on a slow machine. */
export const SLICE_BYTES = 1_048_576;

/** Yields the bytes in slices, and lets the event loop run between two slices. */
export async function* inSlices(bytes: Buffer, sliceBytes = SLICE_BYTES): AsyncGenerator<Buffer> {
  for (let start = 0; start < bytes.length; start += sliceBytes) {
    if (start > 0) await nextTurn();
    yield bytes.subarray(start, start + sliceBytes);
  }
}

/** Like `Buffer.concat`, in slices: copying 50 MB at once would block the event loop for a tenth of a second. */
export async function joined(parts: readonly Buffer[]): Promise<Buffer> {
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

/** SHA-256 in hex, in slices. */
export async function sha256Of(bytes: Buffer): Promise<string> {
  const hash = createHash('sha256');
  for await (const slice of inSlices(bytes)) hash.update(slice);
  return hash.digest('hex');
}

/** Smaller pieces are copied together; otherwise single bytes would take a hundred times their size in memory. */
const BLOCK_BYTES = 65_536;

/** Collects the pieces of a body, in at most one buffer per 32 KB however small the pieces are. */
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

  /** Number of buffers in use. */
  get buffers(): number {
    return this.parts.length + (this.block === undefined ? 0 : 1);
  }

  /** All bytes in one buffer, copied in slices. */
  async joined(): Promise<Buffer> {
    return joined(this.pieces());
  }

  /** All bytes, in the collector's own buffers. */
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

/** The stream exceeded its maximum size. */
export class TooManyBytes extends Error {
  override readonly name = 'TooManyBytes';
}

/**
 * Reads a whole stream. Beyond `maxBytes`, destroys it and throws TooManyBytes; when aborted, throws the signal's
 * reason.
 */
export async function readCapped(stream: Readable, maxBytes: number, signal: AbortSignal): Promise<Buffer> {
  const collected = new ByteCollector();
  const abort = (): void => {
    stream.destroy(signal.reason as Error);
  };
  signal.addEventListener('abort', abort, { once: true });
  try {
    signal.throwIfAborted();
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      collected.add(chunk);
      if (collected.bytes > maxBytes) throw new TooManyBytes();
    }
    return await collected.joined();
  } finally {
    signal.removeEventListener('abort', abort);
    stream.destroy();
  }
}
