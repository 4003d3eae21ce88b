import type { Hash } from 'node:crypto';
import { Readable } from 'node:stream';
import { AppError } from '#contract/app-error.js';
import { FileWatch } from '#images/file-structure.js';
import { ImageError } from '#images/image-error.js';
import { contentTypeOf, SNIFF_BYTES, sniffInputType, type InputContentType, type InputType } from '#images/sniff.js';
import { StorageError, type ObjectStore } from '#storage/object-store.js';

export type Bytes = AsyncIterable<Buffer> | Iterable<Buffer>;

/** Sees an image while it arrives, and may throw AppError to refuse it. */
export interface ImageWatch {
  take(piece: Buffer, type: InputType): void;
  /** All has been taken. */
  end(type: InputType): void;
}

/** What an image is stored as, and what it is watched for meanwhile. */
export interface StoreRequest {
  readonly key: string;
  /** The request field that holds the image, for errors. */
  readonly param: string;
  readonly limit: { readonly bytes: number; readonly error: () => AppError };
  readonly signal: AbortSignal;
  /** Sees all bytes. */
  readonly hash?: Hash | undefined;
  readonly watch?: ImageWatch;
}

/**
 * Stores an image while it arrives; nothing of it is held in memory but the piece on its way. The first bytes decide
 * what it is, whatever its sender calls it, and its structure is watched on the way.
 * Throws AppError: unsupported_image_media_type, invalid_image_file, the limit's error, what the watch throws, or
 * server_is_overloaded when the store fails. Then nothing is left behind.
 */
export async function storeImage(
  store: ObjectStore,
  bytes: Bytes,
  request: StoreRequest,
): Promise<{ bytes: number; contentType: InputContentType }> {
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
    return { bytes: stored.bytes, contentType };
  } catch (error) {
    throw error instanceof StorageError ? storeFailed(error) : error;
  }
}

async function* limited(bytes: Bytes, { limit, hash }: StoreRequest): AsyncGenerator<Buffer, undefined> {
  let total = 0;
  for await (const piece of bytes) {
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
    throw new AppError('unsupported_image_media_type', `${param} must be a PNG, JPEG or WebP image`, { param });
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

/** The caller is told which of the images it was. */
function blaming(param: string, check: () => void): void {
  try {
    check();
  } catch (error) {
    if (!(error instanceof ImageError)) throw error;
    throw new AppError(error.code, error.message, { param, cause: error });
  }
}

function storeFailed(cause: StorageError): AppError {
  return new AppError('server_is_overloaded', 'Images cannot be stored right now. Please try again shortly.', {
    retryAfter: 5,
    cause,
  });
}
