import { Readable } from 'node:stream';

/** A JSON text with long base64 strings in it that are never in memory as a whole. */
export interface Base64Body {
  readonly stream: Readable;
  /** Exact length in bytes. */
  readonly length: number;
}

const PLACE = '@@image@@';

/** What stands where each base64 text belongs, in the object given to `base64Body`. */
export const BASE64_PLACE = PLACE;

/** Streams `body` as JSON with the bytes of `images`, in their order, as base64 in the places of BASE64_PLACE. */
export function base64Body(body: object, ...images: readonly { stream: Readable; bytes: number }[]): Base64Body {
  const texts = JSON.stringify(body).split(PLACE);
  const ofTexts = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  const length = images.reduce((sum, { bytes }) => sum + 4 * Math.ceil(bytes / 3), ofTexts);
  const streams = images.map((image) => image.stream);
  const stream = Readable.from(allPieces(texts, streams), { objectMode: false });
  // A store that fails before it is read is noticed at the first read; unheard, it would end the process.
  for (const image of streams) image.on('error', () => undefined);
  // Whoever stops reading the answer stops the store too.
  stream.once('close', () => {
    for (const image of streams) image.destroy();
  });
  return { stream, length };
}

async function* allPieces([head = '', ...texts]: string[], images: readonly Readable[]): AsyncGenerator<Buffer> {
  yield Buffer.from(head);
  for (const [index, image] of images.entries()) yield* pieces(image, texts[index] ?? '');
}

/** Each piece but the last is encoded from a multiple of three bytes, so that no padding falls in between. */
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
