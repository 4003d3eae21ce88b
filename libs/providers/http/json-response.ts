import { randomUUID } from 'node:crypto';
import { ByteCollector } from '#bytes/bytes.js';
import { ResponseTooLarge, Base64Sink } from './base64-sink.js';

/** Longest string kept in the JSON, in bytes: images are longer, and their descriptions shorter. */
export const MAX_TEXT_BYTES = 65_536;
/** Maximum tokens of a response: images come with about ten, a server's long queue with thousands. */
export const MAX_TOKENS = 100_000;
const MAX_DEPTH = 64;
/** Bytes in a character of base64. */
const DECODED = 3 / 4;
/** Maximum bytes of a response without its long strings. */
const MAX_LEAN_BYTES = 4_000_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const CLOSING_QUOTE = Buffer.from('"');
const OBJECT = 0x7b;
const OBJECT_END = 0x7d;
const LIST = 0x5b;
const LIST_END = 0x5d;
const COMMA = 0x2c;
const COLON = 0x3a;

/** An unexpected response: a proxy's page, truncated JSON, or too many parts. */
export class UnusableResponse extends Error {
  override readonly name = 'UnusableResponse';
}

/**
 * A JSON response whose long strings were replaced as they arrived: they are decoded from base64 and stored separately.
 */
export class JsonResponse {
  constructor(
    /** The JSON, with placeholders for long strings. */
    readonly text: string,
    private readonly long: ReadonlyMap<string, Buffer>,
  ) {}

  /** Whether it has strings as long as images. */
  get hasLong(): boolean {
    return this.long.size > 0;
  }

  /** Whether a string is the placeholder of a long one. */
  isLong(text: string): boolean {
    return this.long.has(text);
  }

  /** The bytes of a string of the response, which is base64 or a base64 data URI. */
  bytesOf(text: string): Buffer {
    return this.long.get(text) ?? Buffer.from(text.replace(/^data:[^,]{0,200},/, ''), 'base64');
  }
}

/**
 * Reads JSON while it arrives. Strings longer than 64 KB are decoded as base64; the rest is limited to 4 MB and 100,000
 * tokens, so that parsing it does not block. `maxBytes` limits the decoded size of each long string; `announced` is the
 * length of the body, if it is known. Throws UnusableResponse, ResponseTooLarge, and the body's errors.
 */
export async function readJsonResponse(
  body: AsyncIterable<Buffer>,
  maxBytes: number,
  announced = 0,
): Promise<JsonResponse> {
  const reading = new AnswerReader(maxBytes, announced);
  for await (const piece of body) reading.take(piece);
  return reading.end();
}

class AnswerReader {
  private readonly lean = new ByteCollector();
  private readonly long = new Map<string, Base64Sink>();
  private readonly name = `text${randomUUID().replaceAll('-', '')}`;
  private tokens = 0;
  private depth = 0;
  /** The string being read, as far as it has arrived; undefined between strings. */
  private current: { readonly parts: Buffer[]; bytes: number } | undefined;
  private sink: Base64Sink | undefined;
  private isEscaped = false;

  constructor(
    private readonly maxBytes: number,
    private announced: number,
  ) {}

  take(piece: Buffer): void {
    for (let at = 0; at < piece.length;) {
      at = this.current === undefined ? this.between(piece, at) : this.inside(this.current, piece, at);
    }
  }

  async end(): Promise<JsonResponse> {
    if (this.current !== undefined) throw new UnusableResponse('the answer breaks off');
    const long = new Map<string, Buffer>();
    for (const [name, sink] of this.long) long.set(name, await sink.joined());
    // Some servers start with a byte order mark, which is not JSON.
    return new JsonResponse((await this.lean.joined()).toString().replace(/^\uFEFF/, ''), long);
  }

  /** Reads up to the next string, including its opening quote. */
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
    if (this.tokens > MAX_TOKENS || this.depth > MAX_DEPTH) throw new UnusableResponse('the answer has too many parts');
  }

  /** Reads up to the end of the string or piece; returns the offset after the closing quote if there is one. */
  private inside(current: NonNullable<AnswerReader['current']>, piece: Buffer, start: number): number {
    const end = this.textEnd(piece, start);
    const text = piece.subarray(start, end);
    if (this.sink === undefined) {
      current.parts.push(text);
      current.bytes += text.length;
    } else this.sink.write(text);
    if (current.bytes > MAX_TEXT_BYTES && this.sink === undefined) {
      this.sink = new Base64Sink(this.maxBytes, Math.ceil(this.announced * DECODED));
      for (const part of current.parts) this.sink.write(part);
      current.parts.length = 0;
    }
    if (end === piece.length) return end;
    this.close(current.parts);
    return end + 1;
  }

  /** Offset of the closing quote; the piece's length if the string continues. */
  private textEnd(piece: Buffer, start: number): number {
    const quote = piece.indexOf(QUOTE, start);
    const end = quote === -1 ? piece.length : quote;
    // Base64 has no escapes, so its megabytes are searched instead of read byte by byte.
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
      this.long.set(name, this.sink);
      // What is left for the images that follow.
      this.announced = Math.max(0, this.announced - this.sink.bytes / DECODED);
      this.sink = undefined;
      this.keep(Buffer.from(name));
    }
    this.keep(CLOSING_QUOTE);
  }

  private keep(bytes: Buffer): void {
    this.lean.add(bytes);
    if (this.lean.bytes > MAX_LEAN_BYTES) throw new ResponseTooLarge();
  }
}
