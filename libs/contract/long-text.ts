import { isAscii } from 'node:buffer';
import { StringDecoder } from 'node:string_decoder';

/** Bytes of an escaped text that are decoded at a time. */
const STEP = 65_536;
/** Most bytes of a character: \u0041. */
const CHARACTER_BYTES = 6;
const BACKSLASH = 0x5c;

/**
 * A long text of a JSON body, kept as its original bytes: as a string, a base64 image would take twice its size, and
 * reading it would block the event loop.
 */
export class LongText {
  private plain: boolean | undefined;

  /** `raw` contains the bytes between the quotes, which must be valid there; `before` is put in front of them. */
  constructor(
    private readonly raw: Buffer,
    private readonly before = '',
  ) {}

  /** Length in bytes: at least the length in characters, and equal to it for ASCII without escapes. */
  get length(): number {
    return this.before.length + this.raw.length;
  }

  /** The same text behind this one, without copying it. */
  behind(text: string): LongText {
    return new LongText(this.raw, text + this.before);
  }

  /** Position of an ASCII text without quotes, slashes, and backslashes among the bytes; -1 if there is none. */
  indexOf(text: string, from = 0): number {
    return this.raw.indexOf(text, from, 'latin1');
  }

  /** Like `indexOf`, but the last position. */
  lastIndexOf(text: string): number {
    return this.raw.lastIndexOf(text, undefined, 'latin1');
  }

  /** The part between two positions of `indexOf`, which must not be inside an escape. */
  part(start: number, end?: number): LongText {
    return new LongText(this.raw.subarray(start, end));
  }

  /** The first characters; decodes only these. */
  start(characters: number): string {
    for (const piece of this.decodedPieces(characters, Math.min(STEP, characters * CHARACTER_BYTES))) return piece;
    return '';
  }

  /** Whether every byte is a character that stands for itself, as in base64. */
  get isPlain(): boolean {
    this.plain ??= this.before === '' && isAscii(this.raw) && !this.raw.includes(BACKSLASH);
    return this.plain;
  }

  /** The bytes of a plain text in pieces of so many; the last may be shorter. Throws when they have been released. */
  *plainPieces(bytes: number): Generator<Buffer> {
    const total = this.raw.length;
    for (let at = 0; at < total; at += bytes) {
      this.assertHeld(total);
      yield this.raw.subarray(at, at + bytes);
    }
  }

  /**
   * The text in pieces of `characters` characters; the last may be shorter. Throws when the bytes have been released.
   */
  *pieces(characters: number): Generator<string> {
    if (!this.isPlain) yield* this.decodedPieces(characters, STEP);
    else for (const piece of this.plainPieces(characters)) yield piece.toString('latin1');
  }

  private *decodedPieces(characters: number, step: number): Generator<string> {
    let waiting = '';
    for (const some of this.decoded(step)) {
      waiting += some;
      let start = 0;
      for (; waiting.length - start >= characters; start += characters) yield waiting.slice(start, start + characters);
      waiting = waiting.slice(start);
    }
    if (waiting !== '') yield waiting;
  }

  private *decoded(step: number): Generator<string> {
    const decoder = new StringDecoder('utf8');
    const total = this.raw.length;
    let rest = '';
    if (this.before !== '') yield this.before;
    for (let at = 0; at < total; at += step) {
      this.assertHeld(total);
      const text = rest + decoder.write(this.raw.subarray(at, at + step));
      const end = endOfWhole(text);
      rest = text.slice(end);
      yield unescaped(text.slice(0, end));
    }
    yield unescaped(rest + decoder.end());
  }

  private assertHeld(total: number): void {
    if (this.raw.length !== total) throw new Error('the body of the request was given back');
  }
}

/** A text of a request, as a string or a LongText. */
export type Text = string | LongText;

/** The text in pieces of `characters` characters; the last may be shorter. Yields nothing for an empty text. */
export function* piecesOf(text: Text, characters: number): Generator<string> {
  if (text instanceof LongText) {
    yield* text.pieces(characters);
    return;
  }
  for (let start = 0; start < text.length; start += characters) yield text.slice(start, start + characters);
}

/** The first characters of a text. */
export function startOf(text: Text, characters: number): string {
  return text instanceof LongText ? text.start(characters) : text.slice(0, characters);
}

/** Start of an incomplete escape at the end of the text; the text's length if there is none. */
function endOfWhole(text: string): number {
  let at = text.indexOf('\\');
  while (at !== -1) {
    const next = at + (text[at + 1] === 'u' ? 6 : 2);
    if (next > text.length) return at;
    at = text.indexOf('\\', next);
  }
  return text.length;
}

function unescaped(text: string): string {
  return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
}
