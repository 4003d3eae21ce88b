import { StringDecoder } from 'node:string_decoder';

/** Bytes of an escaped text that are decoded at a time. */
const STEP = 65_536;

/**
 * A long text of a JSON body, kept as the bytes it was sent as: an image as base64 would cost twice its size as a
 * string, and could not be read without holding up everybody else.
 */
export class LongText {
  /** `raw` stands between the quotes and is valid there. */
  constructor(private readonly raw: Buffer) {}

  /** At least its length in characters, exact where nothing is escaped and all is ASCII. */
  get length(): number {
    return this.raw.length;
  }

  /** Its first characters; `characters` should be few. */
  start(characters: number): string {
    for (const piece of this.pieces(characters)) return piece;
    return '';
  }

  /** The text in pieces of so many characters, the last one shorter. Throws when its bytes were given back. */
  *pieces(characters: number): Generator<string> {
    let waiting = '';
    for (const some of this.decoded()) {
      waiting += some;
      let start = 0;
      for (; waiting.length - start >= characters; start += characters) yield waiting.slice(start, start + characters);
      waiting = waiting.slice(start);
    }
    if (waiting !== '') yield waiting;
  }

  private *decoded(): Generator<string> {
    const decoder = new StringDecoder('utf8');
    const total = this.raw.length;
    let rest = '';
    for (let at = 0; at < total; at += STEP) {
      if (this.raw.length !== total) throw new Error('the body of the request was given back');
      const text = rest + decoder.write(this.raw.subarray(at, at + STEP));
      const end = endOfWhole(text);
      rest = text.slice(end);
      yield unescaped(text.slice(0, end));
    }
    yield unescaped(rest + decoder.end());
  }
}

/** A text of a request, however it is kept. */
export type Text = string | LongText;

/** A text in pieces of so many characters, the last one shorter; nothing for an empty one. */
export function* piecesOf(text: Text, characters: number): Generator<string> {
  if (text instanceof LongText) {
    yield* text.pieces(characters);
    return;
  }
  for (let start = 0; start < text.length; start += characters) yield text.slice(start, start + characters);
}

/** Its first characters. */
export function startOf(text: Text, characters: number): string {
  return text instanceof LongText ? text.start(characters) : text.slice(0, characters);
}

/** Where the last escape begins that is not whole; else the length. */
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
