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
  /** Whether to refuse a file that was cut off, because no task will. */
  readonly mustBeWhole?: boolean;
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
  const pieces = Symbol.asyncIterator in bytes ? bytes[Symbol.asyncIterator]() : bytes[Symbol.iterator]();
  const head = await readHead(pieces, request.param);
  const body = Readable.from(checked(head, pieces, request), { objectMode: false });
  try {
    const options = { contentType: contentTypeOf(head.type), signal: request.signal };
    const stored = await store.put(request.key, body, options);
    return { bytes: stored.bytes, type: head.type };
  } catch (error) {
    throw error instanceof StorageError ? storeFailed(error) : error;
  }
}

type Pieces = AsyncIterator<Buffer> | Iterator<Buffer>;

interface Head {
  readonly bytes: Buffer;
  readonly type: InputType;
}

async function readHead(pieces: Pieces, param: string): Promise<Head> {
  let bytes: Buffer = Buffer.alloc(0);
  while (bytes.length < SNIFF_BYTES) {
    const piece = await nextOf(pieces);
    if (piece === undefined) break;
    bytes = bytes.length === 0 ? piece : Buffer.concat([bytes, piece]);
  }
  if (bytes.length === 0) throw new AppError('invalid_image_file', `${param} is empty`, { param });
  const type = sniffInputType(bytes);
  if (type === undefined) {
    throw new AppError('unsupported_image_media_type', unsupportedText(bytes, param), { param });
  }
  return { bytes, type };
}

/** One generator for all that is done with a piece: each one around another would cost every piece two more promises. */
async function* checked(head: Head, pieces: Pieces, request: StoreRequest): AsyncGenerator<Buffer> {
  const { param, limit, hash, watch } = request;
  const { type } = head;
  const structure = new FileWatch(type);
  let total = 0;
  try {
    for (let piece: Buffer | undefined = head.bytes; piece !== undefined; piece = await nextOf(pieces)) {
      total += piece.length;
      if (total > limit.bytes) throw limit.error();
      hash?.update(piece);
      takeBy(structure, piece, param);
      watch?.take(piece, type);
      yield piece;
    }
    watch?.end(type);
    if (request.mustBeWhole === true) blaming(param, () => structure.end());
  } finally {
    await pieces.return?.();
  }
}

async function nextOf(pieces: Pieces): Promise<Buffer | undefined> {
  for (;;) {
    const next = await pieces.next();
    if (next.done === true) return undefined;
    if (next.value.length > 0) return next.value;
    // Nothing is stored, so nothing else would give other requests a turn.
    await setImmediate();
  }
}

function takeBy(structure: FileWatch, piece: Buffer, param: string): void {
  blaming(param, () => structure.take(piece));
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
