/** Characters decoded at a time. */
const BLOCK = 65_536;

/** The decoded bytes grew beyond what they may. */
export class TooMuchBase64 extends Error {
  override readonly name = 'TooMuchBase64';
}

/** Decodes base64 that comes in pieces of any length, so that the whole of it never exists as a text. */
export class Base64Sink {
  readonly pieces: Buffer[] = [];
  bytes = 0;
  private text = '';
  private begun = false;

  constructor(private readonly maxBytes: number) {}

  /** Throws TooMuchBase64. */
  write(text: string): void {
    this.text += text;
    if (this.text.length >= BLOCK) this.decode(false);
  }

  /** Throws TooMuchBase64. */
  end(): void {
    this.decode(true);
  }

  private decode(all: boolean): void {
    const text = this.clean();
    // Four characters are three bytes; what is left over waits for the next piece.
    const length = all ? text.length : text.length - (text.length % 4);
    this.text = text.slice(length);
    const piece = Buffer.from(text.slice(0, length), 'base64');
    this.bytes += piece.length;
    if (this.bytes > this.maxBytes) throw new TooMuchBase64();
    if (piece.length > 0) this.pieces.push(piece);
  }

  /** Some servers send a data URI, and some break lines. */
  private clean(): string {
    const text = this.begun ? this.text : this.text.replace(/^data:[^,]{0,200},/, '');
    this.begun = true;
    return /\s/.test(text) ? text.replace(/\s+/g, '') : text;
  }
}
