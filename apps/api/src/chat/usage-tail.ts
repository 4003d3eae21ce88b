import { tokenUsage, type TokenUsage } from './token-usage.js';

/** Bytes at the end of a long JSON text that are searched for its usage. */
const TAIL = 16_384;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const SPACES: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);
const NAME = Buffer.from('"usage"');

/** The last bytes of a text, copied a constant number of times however small its pieces are. */
export class Tail {
  private readonly buffer = Buffer.allocUnsafe(2 * TAIL);
  private bytes = 0;

  add(chunk: Buffer): void {
    const piece = chunk.subarray(-TAIL);
    if (this.bytes + piece.length > this.buffer.length) {
      this.buffer.copyWithin(0, this.bytes - TAIL, this.bytes);
      this.bytes = TAIL;
    }
    piece.copy(this.buffer, this.bytes);
    this.bytes += piece.length;
  }

  get last(): Buffer {
    return this.buffer.subarray(Math.max(0, this.bytes - TAIL), this.bytes);
  }
}

/**
 * The usage in the last bytes of a JSON object: the value of its member `usage`, or of the one of an object that is
 * `depth` - 1 levels inside. Read backwards from the end, where nothing is inside a text, so that no text and no schema
 * that the caller sent, which Responses repeat, can pass for it.
 */
export function usageInTail(tail: Buffer, depth = 1): TokenUsage | undefined {
  /** Ends of the objects and arrays that are open, seen from the end. */
  const ends: number[] = [];
  for (let at = tail.length - 1; at >= 0; at--) {
    const byte = tail[at];
    if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) ends.push(at);
    else if (byte === QUOTE) {
      at = startOfText(tail, at);
      if (at === -1) return undefined;
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      const end = ends.pop();
      if (end === undefined) return undefined;
      if (byte === OPEN_OBJECT && ends.length === depth && isUsage(tail, at)) return parsed(tail.subarray(at, end + 1));
    }
  }
  return undefined;
}

/** The index of the quote that begins the text that ends at `end`; -1 when it begins before the tail. */
function startOfText(tail: Buffer, end: number): number {
  for (
    let at = tail.lastIndexOf(QUOTE, end - 1);
    at !== -1 && end > 0;
    at = at === 0 ? -1 : tail.lastIndexOf(QUOTE, at - 1)
  ) {
    let slashes = 0;
    while (tail[at - 1 - slashes] === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return at;
  }
  return -1;
}

/** Whether the value at an index is that of a member `usage`. */
function isUsage(tail: Buffer, value: number): boolean {
  const colon = skipBack(tail, value - 1);
  if (tail[colon] !== COLON) return false;
  const end = skipBack(tail, colon - 1) + 1;
  return tail.subarray(Math.max(0, end - NAME.length), end).equals(NAME);
}

function skipBack(tail: Buffer, from: number): number {
  let at = from;
  while (SPACES.has(tail[at] ?? 0)) at--;
  return at;
}

function parsed(json: Buffer): TokenUsage | undefined {
  try {
    return tokenUsage(JSON.parse(json.toString()));
  } catch {
    return undefined;
  }
}
