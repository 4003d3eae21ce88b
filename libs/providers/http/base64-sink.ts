import { ByteCollector } from '#bytes/bytes.js';

/** Characters decoded at a time. */
const BLOCK = 65_536;
/** Line breaks, and the spaces that replace escaped ones. */
const BREAKS = ['\n', '\r', ' ', '\t'];
/** An escape that may continue in the next piece. */
const OPEN_ESCAPE = /\\(?:u[0-9a-fA-F]{0,3})?$/;

/** A response contains more than any image. */
export class ResponseTooLarge extends Error {
  override readonly name = 'ResponseTooLarge';
}

/**
 * Decodes base64 from a JSON string, in pieces of any length, so that the whole string is never in memory. Invalid
 * base64 decodes to bytes that are not an image.
 */
export class Base64Sink {
  private readonly decoded: ByteCollector;
  /** What has arrived but is not decoded yet: fewer than four characters, unless there is something else than base64. */
  private text = '';
  private written = 0;
  private begun = false;

  /** `expected`: about how many bytes the image has, if that is known. */
  constructor(
    private readonly maxBytes: number,
    expected = 0,
  ) {
    this.decoded = new ByteCollector(Math.min(expected, maxBytes));
  }

  /** Decoded bytes. */
  get bytes(): number {
    return this.decoded.bytes;
  }

  /** Throws ResponseTooLarge. */
  write(text: Buffer): void {
    this.written += text.length;
    // Base64 takes four characters for three bytes. Line breaks and escapes add some, but never this many.
    if (this.written > 2 * this.maxBytes + BLOCK) throw new ResponseTooLarge();
    const rest = this.afterPlain(text);
    this.text += rest.toString('latin1');
    if (this.text.length >= BLOCK) this.decode(false);
  }

  /** Throws ResponseTooLarge. */
  end(): void {
    this.decode(true);
  }

  /** All decoded bytes, after `end`. */
  async joined(): Promise<Buffer> {
    return this.decoded.joined();
  }

  /** Decodes as much of a piece as is nothing but base64, without searching it for anything else; returns the rest. */
  private afterPlain(piece: Buffer): Buffer {
    if (!this.begun || this.text.length > 3 || piece.length < 4) return piece;
    const start = (4 - this.text.length) % 4;
    if (!this.takeExactly(this.text + piece.toString('latin1', 0, start))) return piece;
    this.text = '';
    const end = piece.length - ((piece.length - start) % 4);
    return piece.subarray(this.takeExactly(piece.toString('latin1', start, end)) ? end : start);
  }

  private takeExactly(text: string): boolean {
    const bytes = this.decoded.addBase64(text);
    if (this.bytes > this.maxBytes) throw new ResponseTooLarge();
    if (bytes === (text.length / 4) * 3) return true;
    this.decoded.drop(bytes);
    return false;
  }

  private decode(all: boolean): void {
    const open = all ? '' : (OPEN_ESCAPE.exec(this.text.slice(-6))?.[0] ?? '');
    const text = this.clean(open === '' ? this.text : this.text.slice(0, -open.length));
    // Four characters are three bytes; the rest waits for the next piece.
    const length = all ? text.length : text.length - (text.length % 4);
    this.text = text.slice(length) + open;
    this.decoded.addBase64(text.slice(0, length));
    if (this.bytes > this.maxBytes) throw new ResponseTooLarge();
  }

  /** Some servers escape needlessly, send a data URI, or break lines. */
  private clean(raw: string): string {
    const plain = raw.includes('\\') ? raw.replace(/\\(?:u([0-9a-fA-F]{4})|(.))/g, unescaped) : raw;
    const text = this.begun ? plain : plain.replace(/^data:[^,]{0,200},/, '');
    this.begun = true;
    // Searching for characters takes a tenth of the time of a pattern, and base64 usually contains none of them.
    return BREAKS.some((character) => text.includes(character)) ? text.replace(/\s+/g, '') : text;
  }
}

function unescaped(_escape: string, code: string | undefined, letter: string | undefined): string {
  if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
  return letter === undefined || /[bfnrt]/.test(letter) ? ' ' : letter;
}
