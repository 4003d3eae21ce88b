import { pipeline, Readable, type Transform } from 'node:stream';
import * as zlib from 'node:zlib';
import { begun } from '#bytes/bytes.js';

/** Enough to tell a gzip or zlib header from anything else. */
const HEAD_BYTES = 2;
/** Most servers apply one encoding; a longer list is no body that anybody meant to send. */
const MAX_ENCODINGS = 3;

/** A body has an encoding that can't be decoded. */
class UnknownEncoding extends Error {
  override readonly name = 'UnknownEncoding';
  readonly code = 'UNKNOWN_ENCODING';
}

/**
 * A body without its content encoding, which some servers and proxies apply although `identity` was requested. It is
 * decoded only as fast as it is read, so its reader limits its size. A body that something in between has already
 * decoded passes; with `sniff`, a gzip body is also decoded if its header does not say so. Fails with UnknownEncoding,
 * and like zlib.
 */
export function decodedBody(body: Readable, contentEncoding: ContentEncoding, sniff = false): Readable {
  const encodings = encodingsOf(contentEncoding, sniff);
  if (encodings.length === 0) return body;
  const decoded = Readable.from(decode(body, encodings), { objectMode: false });
  // The generator can't end while it waits for a server that pauses.
  return decoded.once('close', () => body.destroy());
}

/**
 * Like `decodedBody` with `sniff`, for a reader that ends the body itself when it wants no more of it: each piece passes
 * one stream less.
 */
export function decodedPieces(body: Readable, contentEncoding: ContentEncoding): AsyncIterable<Buffer> {
  return decode(body, encodingsOf(contentEncoding, true));
}

/** A `Content-Encoding` header. */
type ContentEncoding = string | string[] | undefined;

function encodingsOf(header: ContentEncoding, sniff: boolean): readonly string[] {
  const named = [header ?? []].flat().join(',').toLowerCase();
  const encodings = named.split(',').flatMap((name) => (/^\s*(identity)?\s*$/.test(name) ? [] : [name.trim()]));
  return encodings.length === 0 && sniff ? ['gzip'] : encodings;
}

async function* decode(body: Readable, encodings: readonly string[]): AsyncGenerator<Buffer> {
  if (encodings.length > MAX_ENCODINGS) throw new UnknownEncoding('the body has too many encodings');
  let decoded: AsyncIterable<Buffer> = body;
  for (const encoding of encodings.toReversed()) decoded = decodeOne(decoded, encoding);
  yield* decoded;
}

async function* decodeOne(body: AsyncIterable<Buffer>, encoding: string): AsyncGenerator<Buffer> {
  const { head, whole } = await begun(body, HEAD_BYTES);
  const decoder = decoderOf(encoding, head);
  if (decoder === undefined) yield* whole;
  else yield* pipeline(whole, decoder, () => undefined) as AsyncIterable<Buffer>;
}

/** Undefined if the body is not encoded after all. Throws UnknownEncoding. */
function decoderOf(encoding: string, head: Buffer): Transform | undefined {
  if (head.length < HEAD_BYTES) return undefined;
  if (encoding === 'gzip' || encoding === 'x-gzip') {
    return head.readUInt16BE() === 0x1f8b ? zlib.createGunzip() : undefined;
  }
  if (encoding === 'br') return zlib.createBrotliDecompress();
  if (encoding === 'deflate') return inflaterOf(head);
  const { createZstdDecompress } = zlib as { createZstdDecompress?: () => Transform };
  if (encoding === 'zstd' && createZstdDecompress !== undefined) return createZstdDecompress();
  throw new UnknownEncoding('the body has an unknown encoding');
}

/** `deflate` means zlib's format, but some servers send it without its header. */
function inflaterOf(head: Buffer): Transform | undefined {
  const isZlib = ((head[0] ?? 0) & 0x0f) === 8 && head.readUInt16BE() % 31 === 0;
  if (isZlib) return zlib.createInflate();
  return /^[{[<]/.test(head.toString('latin1')) ? undefined : zlib.createInflateRaw();
}
