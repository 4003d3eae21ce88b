import { createHash, type Hash } from 'node:crypto';
import { Readable } from 'node:stream';
import { AppError } from '#contract/app-error.js';
import { MAX_MASK_BYTES, MAX_UPLOAD_BYTES } from '#images/limits.js';
import { contentTypeOf, SNIFF_BYTES, sniffImageType, type ImageContentType } from '#images/sniff.js';
import { inputKey } from '#storage/object-key.js';
import { StorageError, type ObjectStore } from '#storage/object-store.js';
import type { TaskInput } from '#tasks/task.js';

type Bytes = AsyncIterable<Buffer> | Iterable<Buffer>;

/** The images one request brings along: stored while they arrive, and all gone again if it is not accepted. */
export class InputUpload {
  /** SHA-256 (hex) of what was stored, by object key; empty unless asked for. */
  readonly digests = new Map<string, string>();
  private readonly keys: string[] = [];

  constructor(
    private readonly store: ObjectStore,
    private readonly taskId: string,
    private readonly signal: AbortSignal,
    private readonly digesting = false,
  ) {}

  /**
   * Stores one image under the task's id. Nothing of it is held in memory but the piece on its way.
   * Throws AppError: unsupported_image_media_type, invalid_image_file, request_too_large, image_file_too_large,
   * or server_is_overloaded when the store fails.
   */
  async add(bytes: Bytes, slot: number | 'mask', param: string): Promise<TaskInput> {
    const key = inputKey(this.taskId, slot);
    const hash = this.digesting ? createHash('sha256') : undefined;
    const pieces = limited(bytes, slot === 'mask' ? maskLimit(param) : fileLimit(param), hash);
    const { head, contentType } = await readHead(pieces, param);
    this.keys.push(key);
    const body = Readable.from(restOf(head, pieces), { objectMode: false });
    try {
      const stored = await this.store.put(key, body, { contentType, signal: this.signal });
      if (hash !== undefined) this.digests.set(key, hash.digest('hex'));
      return { kind: 'object', key, bytes: stored.bytes, param };
    } catch (error) {
      throw error instanceof StorageError ? storeFailed(error) : error;
    }
  }

  /** Deletes what was stored. Never fails: what can't be deleted now is collected as an orphan later. */
  async discard(): Promise<void> {
    await Promise.allSettled(this.keys.map((key) => this.store.delete(key)));
    this.keys.length = 0;
  }
}

interface ByteLimit {
  readonly bytes: number;
  readonly error: () => AppError;
}

function fileLimit(param: string): ByteLimit {
  const error = (): AppError =>
    new AppError('request_too_large', `${param} is larger than ${MAX_UPLOAD_BYTES / 1e6} MB`, { param });
  return { bytes: MAX_UPLOAD_BYTES, error };
}

function maskLimit(param: string): ByteLimit {
  const error = (): AppError =>
    new AppError('image_file_too_large', `${param} is larger than ${MAX_MASK_BYTES / 1e6} MB`, { param });
  return { bytes: MAX_MASK_BYTES, error };
}

async function* limited(bytes: Bytes, limit: ByteLimit, hash: Hash | undefined): AsyncGenerator<Buffer, undefined> {
  let total = 0;
  for await (const piece of bytes) {
    total += piece.length;
    if (total > limit.bytes) throw limit.error();
    hash?.update(piece);
    yield piece;
  }
  return undefined;
}

/** The first bytes decide what a file is; what its sender calls it does not count. */
async function readHead(
  pieces: AsyncGenerator<Buffer, undefined>,
  param: string,
): Promise<{ head: Buffer; contentType: ImageContentType }> {
  let head = Buffer.alloc(0);
  while (head.length < SNIFF_BYTES) {
    const next = await pieces.next();
    if (next.done === true) break;
    head = Buffer.concat([head, next.value]);
  }
  if (head.length === 0) throw new AppError('invalid_image_file', `${param} is empty`, { param });
  const type = sniffImageType(head);
  if (type === undefined) {
    throw new AppError('unsupported_image_media_type', `${param} must be a PNG, JPEG or WebP image`, { param });
  }
  return { head, contentType: contentTypeOf(type) };
}

async function* restOf(head: Buffer, pieces: AsyncGenerator<Buffer, undefined>): AsyncGenerator<Buffer> {
  yield head;
  yield* pieces;
}

function storeFailed(cause: StorageError): AppError {
  return new AppError('server_is_overloaded', 'Images cannot be stored right now. Please try again shortly.', {
    retryAfter: 5,
    cause,
  });
}
