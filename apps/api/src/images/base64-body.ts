import { Readable } from 'node:stream';

/** A JSON text with one long base64 string in the middle that is never in memory as a whole. */
export interface Base64Body {
  readonly stream: Readable;
  /** Exact length in bytes. */
  readonly length: number;
}

const PLACE = '@@image@@';

/** What stands where the base64 text belongs, in the object given to `base64Body`. */
export const BASE64_PLACE = PLACE;

/** Streams `body` as JSON with the bytes of `image` as base64 in place of BASE64_PLACE. */
export function base64Body(body: object, image: { stream: Readable; bytes: number }): Base64Body {
  const [head = '', tail = ''] = JSON.stringify(body).split(PLACE);
  const length = Buffer.byteLength(head) + 4 * Math.ceil(image.bytes / 3) + Buffer.byteLength(tail);
  const stream = Readable.from(pieces(head, image.stream, tail), { objectMode: false });
  // A store that fails before it is read is noticed at the first read; unheard, it would end the process.
  image.stream.on('error', () => undefined);
  // Whoever stops reading the answer stops the store too.
  stream.once('close', () => image.stream.destroy());
  return { stream, length };
}

/** Each piece but the last is encoded from a multiple of three bytes, so that no padding falls in between. */
async function* pieces(head: string, image: AsyncIterable<Buffer>, tail: string): AsyncGenerator<Buffer> {
  yield Buffer.from(head);
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of image) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const whole = bytes.length - (bytes.length % 3);
    if (whole > 0) yield Buffer.from(bytes.toString('base64', 0, whole), 'latin1');
    rest = Buffer.from(bytes.subarray(whole));
  }
  yield Buffer.from(rest.toString('base64') + tail);
}
