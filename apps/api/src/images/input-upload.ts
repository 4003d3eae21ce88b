import { createHash } from 'node:crypto';
import { AppError } from '#contract/app-error.js';
import { MAX_MASK_BYTES, MAX_UPLOAD_BYTES } from '#images/limits.js';
import { inputKey } from '#storage/object-key.js';
import type { ObjectStore } from '#storage/object-store.js';
import type { TaskInput } from '#tasks/row/task.js';
import { storeInput, type Bytes, type StoreRequest } from './store-input.js';

/** The images of one request: stored as they arrive, and deleted if the request is not accepted. */
export class InputUpload {
  /** SHA-256 (hex) of the stored images, by object key; empty unless requested. */
  readonly digests = new Map<string, string>();
  private readonly keys: string[] = [];

  constructor(
    private readonly store: ObjectStore,
    readonly taskId: string,
    private readonly signal: AbortSignal,
    private readonly digesting = false,
  ) {}

  /** Stores one image under the task's id. Throws as storeInput does. */
  async add(bytes: Bytes, slot: number | 'mask', param: string): Promise<TaskInput> {
    const key = inputKey(this.taskId, slot);
    const hash = this.digesting ? createHash('sha256') : undefined;
    const limit = slot === 'mask' ? maskLimit(param) : fileLimit(param);
    this.keys.push(key);
    const stored = await storeInput(this.store, bytes, { key, param, limit, hash, signal: this.signal });
    if (hash !== undefined) this.digests.set(key, hash.digest('hex'));
    return { kind: 'object', key, bytes: stored.bytes, param };
  }

  /** Deletes the stored images. Never fails: those that can't be deleted now are collected as orphans. */
  async discard(): Promise<void> {
    await Promise.allSettled(this.keys.map((key) => this.store.delete(key)));
    this.keys.length = 0;
  }
}

type ByteLimit = StoreRequest['limit'];

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
