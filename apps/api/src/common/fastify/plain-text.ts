const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
/** Bytes that are looked at one by one first: most texts are no longer, and a view of words costs as much. */
const SHORT = 64;
/** The same byte in each place of a word. */
const ONES = 0x01010101;
const HIGH_BITS = 0x80808080;
const QUOTES = QUOTE * ONES;
const BACKSLASHES = BACKSLASH * ONES;
const SPACES = SPACE * ONES;

/**
 * Position of the first byte of a JSON text that is not simply part of it: a quote, a backslash, or a control character;
 * `end` if there is none. Reads eight bytes at a time, because the base64 of an image has millions.
 */
export function endOfPlainText(bytes: Buffer, start: number, end: number): number {
  const misaligned = (bytes.byteOffset + start + SHORT) % 4;
  const firstEnd = start + SHORT + ((4 - misaligned) % 4);
  const at = bytewise(bytes, start, Math.min(firstEnd, end));
  if (at < firstEnd) return at;
  const words = new Int32Array(bytes.buffer, bytes.byteOffset + at, (end - at) >> 2);
  return bytewise(bytes, at + 4 * plainWords(words), end);
}

function bytewise(bytes: Buffer, start: number, end: number): number {
  let at = start;
  while (at < end) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE || byte === BACKSLASH || byte < SPACE) break;
    at++;
  }
  return at;
}

/** Number of the first words, always even, that contain none of these bytes. */
function plainWords(words: Int32Array): number {
  const pairsEnd = words.length - (words.length % 2);
  let at = 0;
  while (at < pairsEnd) {
    const one = words[at] ?? 0;
    const two = words[at + 1] ?? 0;
    if (((special(one) | special(two)) & HIGH_BITS) !== 0) break;
    at += 2;
  }
  return at;
}

/** Has the high bit of a byte set if one of the bytes is a quote, a backslash, or below a space; bytes above 0x7f never are. */
function special(word: number): number {
  const quotes = word ^ QUOTES;
  const backslashes = word ^ BACKSLASHES;
  return ((word - SPACES) & ~word) | ((quotes - ONES) & ~quotes) | ((backslashes - ONES) & ~backslashes);
}
