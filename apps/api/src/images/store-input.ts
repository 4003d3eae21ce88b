import type { Hash } from 'node:crypto';
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { AppError } from '#contract/app-error.js';
import { unavailable } from '#contract/unavailable.js';
import { FileWatch } from '#images/file-structure.js';
import { ImageError } from '#images/image-error.js';
import { contentTypeOf, SNIFF_BYTES, sniffInputType, unsupportedText, type InputType } from '#images/sniff.js';
import { StorageError, type ObjectStore } from '#storage/object-store.js';

export type Bytes = AsyncIterable<Buffer> | Iterable<Buffer>;

/** Inspects an image as it arrives, and may throw AppError to reject it. */
export interface ImageWatch {
  take(piece: Buffer, type: InputType): void;
  /** Called after the last chunk. */
  end(type: InputType): void;
}

/** Where to store an image, and how to check it. */
export interface StoreRequest {
  readonly key: string;
  /** The request field that holds the image, for errors. */
  readonly param: string;
  readonly limit: { readonly bytes: number; readonly error: () => AppError };
  readonly signal: AbortSignal;
  /** Updated with all bytes. */
  readonly hash?: Hash | undefined;
  readonly watch?: ImageWatch;
}

/**
 * Stores an image as it arrives, with only the current chunk in memory. The first bytes determine its type, whatever
 * the sender says, and its structure is checked on the way. Throws AppError: unsupported_image_media_type,
 * invalid_image_file, the limit's error, the watch's errors, or server_is_overloaded when the store fails. Then it
 * leaves nothing behind.
 */
export async function storeInput(
  store: ObjectStore,
  bytes: Bytes,
  request: StoreRequest,
): Promise<{ bytes: number; type: InputType }> {
  const pieces = limited(bytes, request);
  const { head, type } = await readHead(pieces, request.param);
  const contentType = contentTypeOf(type);
  const structure = new FileWatch(type);
  const watch = {
    take: (piece: Buffer): void => {
      blaming(request.param, () => structure.take(piece));
      request.watch?.take(piece, type);
    },
    end: () => request.watch?.end(type),
  };
  const body = Readable.from(watched(head, pieces, watch), { objectMode: false });
  try {
    const stored = await store.put(request.key, body, { contentType, signal: request.signal });
    return { bytes: stored.bytes, type };
  } catch (error) {
    throw error instanceof StorageError ? storeFailed(error) : error;
  }
}

async function* limited(bytes: Bytes, { limit, hash }: StoreRequest): AsyncGenerator<Buffer, undefined> {
  let total = 0;
  for await (const piece of bytes) {
    // Nothing is stored, so nothing else would give other requests a turn.
    if (piece.length === 0) await setImmediate();
    total += piece.length;
    if (total > limit.bytes) throw limit.error();
    hash?.update(piece);
    yield piece;
  }
  return undefined;
}

async function readHead(
  pieces: AsyncGenerator<Buffer, undefined>,
  param: string,
): Promise<{ head: Buffer; type: InputType }> {
  let head = Buffer.alloc(0);
  while (head.length < SNIFF_BYTES) {
    const next = await pieces.next();
    if (next.done === true) break;
    head = Buffer.concat([head, next.value]);
  }
  if (head.length === 0) throw new AppError('invalid_image_file', `${param} is empty`, { param });
  const type = sniffInputType(head);
  if (type === undefined) {
    throw new AppError('unsupported_image_media_type', unsupportedText(head, param), { param });
  }
  return { head, type };
}

async function* watched(
  head: Buffer,
  pieces: AsyncGenerator<Buffer, undefined>,
  watch: { take(piece: Buffer): void; end(): void },
): AsyncGenerator<Buffer> {
  watch.take(head);
  yield head;
  for await (const piece of pieces) {
    watch.take(piece);
    yield piece;
  }
  watch.end();
}

/** Adds the request field of the image to an error. */
export function blaming(param: string, check: () => void): void {
  try {
    check();
  } catch (error) {
    if (!(error instanceof ImageError)) throw error;
    throw new AppError(error.code, error.message, { param, cause: error });
  }
}

function storeFailed(cause: StorageError): AppError {
  return unavailable('Images cannot be stored right now. Please try again shortly.', {
    retryAfter: 5,
    cause,
  });
}
