import { Readable } from 'node:stream';

/** A JSON text with long base64 strings that are never in memory as a whole. */
export interface Base64Body {
  readonly stream: Readable;
  /** Exact length in bytes. */
  readonly length: number;
}

const PLACE = '@@image@@';

/** Placeholder for each base64 string in the object passed to `base64Body`. */
export const BASE64_PLACE = PLACE;

/** Streams `body` as JSON, with the bytes of `images` as base64 in place of each BASE64_PLACE, in order. */
export function base64Body(body: object, ...images: readonly { stream: Readable; bytes: number }[]): Base64Body {
  const texts = JSON.stringify(body).split(PLACE);
  const ofTexts = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  const length = images.reduce((sum, { bytes }) => sum + 4 * Math.ceil(bytes / 3), ofTexts);
  const streams = images.map((image) => image.stream);
  const stream = Readable.from(allPieces(texts, streams), { objectMode: false });
  // A store error before the first read is reported by that read; without a listener it would end the process.
  for (const image of streams) image.on('error', () => undefined);
  // When the caller stops reading, stops reading from the store too.
  stream.once('close', () => {
    for (const image of streams) image.destroy();
  });
  return { stream, length };
}

async function* allPieces([head = '', ...texts]: string[], images: readonly Readable[]): AsyncGenerator<Buffer> {
  yield Buffer.from(head);
  for (const [index, image] of images.entries()) yield* pieces(image, texts[index] ?? '');
}

/** Encodes each chunk but the last in multiples of three bytes, so that no padding appears in between. */
async function* pieces(image: AsyncIterable<Buffer>, tail: string): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of image) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const whole = bytes.length - (bytes.length % 3);
    if (whole > 0) yield Buffer.from(bytes.toString('base64', 0, whole), 'latin1');
    rest = Buffer.from(bytes.subarray(whole));
  }
  yield Buffer.from(rest.toString('base64') + tail);
}
