import { randomUUID } from 'node:crypto';
import { ByteCollector } from '#bytes/bytes.js';
import { AnswerTooLarge, Base64Sink } from './base64-sink.js';

/** Longest text that is left in its place, in bytes: an image is longer, what is said of one is shorter. */
export const MAX_TEXT_BYTES = 65_536;
/** Values, names and lists of an answer at most; images come with some ten, a server's long queue with thousands. */
export const MAX_TOKENS = 100_000;
const MAX_DEPTH = 64;
/** Bytes of an answer without its long texts. */
const MAX_LEAN_BYTES = 4_000_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const CLOSING_QUOTE = Buffer.from('"');
const [OBJECT, OBJECT_END, LIST, LIST_END, COMMA, COLON] = [0x7b, 0x7d, 0x5b, 0x5d, 0x2c, 0x3a];

/** An answer that is not what was promised: a proxy's page, text that breaks off, or more of it than can be meant. */
export class UnusableAnswer extends Error {
  override readonly name = 'UnusableAnswer';
}

/** A JSON answer whose long texts were taken out as they arrived: decoded from base64, and kept apart. */
export class JsonAnswer {
  constructor(
    /** The JSON with a name of ours in the place of each long text. */
    readonly text: string,
    private readonly long: ReadonlyMap<string, readonly Buffer[]>,
  ) {}

  /** Whether the text stands for one that was taken out. */
  isLong(text: string): boolean {
    return this.long.has(text);
  }

  /** What a text of the answer is base64 of, as such or in a data URI. */
  bytesOf(text: string): readonly Buffer[] {
    return this.long.get(text) ?? [Buffer.from(text.replace(/^data:[^,]{0,200},/, ''), 'base64')];
  }
}

/**
 * Reads JSON while it arrives. Its texts of more than 64 KB are taken for base64; all else is at most 4 MB and 100,000
 * tokens, so that to parse it takes no time to speak of. `maxBytes` is the most that long texts may be, decoded.
 * Throws UnusableAnswer, AnswerTooLarge, and what the body throws.
 */
export async function readAnswer(body: AsyncIterable<Buffer>, maxBytes: number): Promise<JsonAnswer> {
  const reading = new AnswerReader(maxBytes);
  for await (const piece of body) reading.take(piece);
  return reading.end();
}

class AnswerReader {
  private readonly lean = new ByteCollector();
  private readonly long = new Map<string, readonly Buffer[]>();
  private readonly name = `text${randomUUID().replaceAll('-', '')}`;
  private tokens = 0;
  private depth = 0;
  /** The text that is being read, as far as it is here; undefined between texts. */
  private current: { readonly parts: Buffer[]; bytes: number } | undefined;
  private sink: Base64Sink | undefined;
  private isEscaped = false;

  constructor(private readonly maxBytes: number) {}

  take(piece: Buffer): void {
    for (let at = 0; at < piece.length;) {
      at = this.current === undefined ? this.between(piece, at) : this.inside(this.current, piece, at);
    }
  }

  async end(): Promise<JsonAnswer> {
    if (this.current !== undefined) throw new UnusableAnswer('the answer breaks off');
    return new JsonAnswer((await this.lean.joined()).toString(), this.long);
  }

  /** Up to the next text, its quote included. */
  private between(piece: Buffer, start: number): number {
    let at = start;
    while (at < piece.length && piece[at] !== QUOTE) this.count(piece[at++] ?? 0);
    if (at < piece.length) {
      at += 1;
      this.token();
      this.current = { parts: [], bytes: 0 };
    }
    this.keep(piece.subarray(start, at));
    return at;
  }

  private count(byte: number): void {
    if (byte === OBJECT || byte === LIST) this.depth += 1;
    else if (byte === OBJECT_END || byte === LIST_END) this.depth -= 1;
    else if (byte !== COMMA && byte !== COLON) return;
    this.token();
  }

  private token(): void {
    this.tokens += 1;
    if (this.tokens > MAX_TOKENS || this.depth > MAX_DEPTH) throw new UnusableAnswer('the answer has too many parts');
  }

  /** Up to the end of the text, without its quote; behind that when it ends here. */
  private inside(current: NonNullable<AnswerReader['current']>, piece: Buffer, start: number): number {
    const end = this.textEnd(piece, start);
    const text = piece.subarray(start, end);
    if (this.sink === undefined) {
      current.parts.push(text);
      current.bytes += text.length;
    } else this.sink.write(text.toString('latin1'));
    if (current.bytes > MAX_TEXT_BYTES && this.sink === undefined) {
      this.sink = new Base64Sink(this.maxBytes);
      for (const part of current.parts) this.sink.write(part.toString('latin1'));
      current.parts.length = 0;
    }
    if (end === piece.length) return end;
    this.close(current.parts);
    return end + 1;
  }

  /** Where the quote is that ends the text; the piece's length when it goes on. */
  private textEnd(piece: Buffer, start: number): number {
    const quote = piece.indexOf(QUOTE, start);
    const end = quote === -1 ? piece.length : quote;
    // Base64 has no escapes: its megabytes are searched, not walked through.
    if (!this.isEscaped && !piece.subarray(start, end).includes(BACKSLASH)) return end;
    for (let at = start; at < piece.length; at++) {
      if (this.isEscaped) this.isEscaped = false;
      else if (piece[at] === BACKSLASH) this.isEscaped = true;
      else if (piece[at] === QUOTE) return at;
    }
    return piece.length;
  }

  private close(parts: readonly Buffer[]): void {
    this.current = undefined;
    if (this.sink === undefined) {
      for (const part of parts) this.keep(part);
    } else {
      this.sink.end();
      const name = `${this.name}n${this.long.size}`;
      this.long.set(name, this.sink.pieces);
      this.sink = undefined;
      this.keep(Buffer.from(name));
    }
    this.keep(CLOSING_QUOTE);
  }

  private keep(bytes: Buffer): void {
    this.lean.add(bytes);
    if (this.lean.bytes > MAX_LEAN_BYTES) throw new AnswerTooLarge();
  }
}
