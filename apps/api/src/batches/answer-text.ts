import { AppError } from '#contract/app-error.js';

/** Of what is kept, and of what is read: images are longer. */
const MAX_BYTES = 1_048_576;
const MAX_READ = 67_108_864;
/** Bytes that are searched together, however small the pieces are in which they arrive. */
const SEARCHED = 65_536;
/** A character of base64 in a JSON text: some encoders escape the slash. */
const DIGIT = String.raw`(?:[\w+/-]|\\/)`;
/** An image in base64: how those of PNG, JPEG, GIF, WebP, and AVIF begin, and too much after that to be anything else. */
const BEGINNING = String.raw`(?:iVBORw0KGgo|(?:\\/(?<=(?:^|[^\\])(?:\\\\)*\\/)|[/_])9j(?:\\/|[/_])|R0lGOD|UklGR|AAAA${DIGIT}GZ0eX)`;
const IMAGE = new RegExp(`${BEGINNING}${DIGIT}{1000}`);
const REST = new RegExp(`(?:${DIGIT}|=)*`, 'y');
/** How much of the beginning of an image may be at the end of what has arrived, in characters. */
const OPEN_END = 2_048;

/**
 * The response to a chat as its line keeps it: JSON, on one line, without the base64 of images, for which rows have no
 * room. Throws AppError for one that is no JSON or too long.
 */
export async function answerText(stream: AsyncIterable<Buffer>): Promise<string> {
  const kept = new WithoutImages();
  let read = 0;
  for await (const piece of stream) {
    kept.push(piece);
    read += piece.length;
    if (kept.bytes > MAX_BYTES || read > MAX_READ) throw unusable('is larger than 1 MB');
  }
  const text = kept.end();
  if (kept.bytes > MAX_BYTES) throw unusable('is larger than 1 MB');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw unusable('is not JSON');
  }
  if (hasImage(value)) throw unusable('has an image');
  // Only between values: strings have no line breaks.
  return text.replace(/[\r\n]+/g, ' ').trim();
}

/** A JSON text whose images are left out as it arrives: with them, it may be of any length. */
class WithoutImages {
  /** That are kept, as far as is known. */
  bytes = 0;
  private readonly kept: string[] = [];
  private open = '';
  private inImage = false;

  push(piece: Buffer): void {
    for (let at = 0; at < piece.length; at += SEARCHED) {
      // A character per byte, so that no piece ends within one.
      this.open += piece.toString('latin1', at, at + SEARCHED);
      if (this.open.length >= SEARCHED) this.search(OPEN_END);
    }
  }

  end(): string {
    this.search(0);
    return Buffer.from(this.kept.join(''), 'latin1').toString();
  }

  /** Takes what is certain to be within an image, or in none. */
  private search(openEnd: number): void {
    for (;;) {
      if (this.inImage) {
        REST.lastIndex = 0;
        const [rest = ''] = REST.exec(this.open) ?? [];
        this.open = this.open.slice(rest.length);
        // A slash may follow.
        if (this.open === '' || (this.open === '\\' && openEnd > 0)) return;
        this.inImage = false;
      }
      const found = IMAGE.exec(this.open);
      this.keep(found?.index ?? Math.max(0, this.open.length - openEnd));
      if (found === null) return;
      this.open = this.open.slice(found[0].length);
      this.inImage = true;
    }
  }

  private keep(length: number): void {
    this.kept.push(this.open.slice(0, length));
    this.bytes += length;
    this.open = this.open.slice(length);
  }
}

/** With escapes that `WithoutImages` does not read. */
function hasImage(value: unknown): boolean {
  const left = [value];
  while (left.length > 0) {
    const one = left.pop();
    if (typeof one === 'string' && IMAGE.test(one)) return true;
    if (typeof one === 'object' && one !== null) for (const item of Object.values(one)) left.push(item);
  }
  return false;
}

function unusable(why: string): AppError {
  return new AppError('chat_upstream_error', `The response ${why}, so a batch cannot keep it.`);
}
