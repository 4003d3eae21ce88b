import type { Hash } from 'node:crypto';
import { AppError } from '#contract/app-error.js';
import { MAX_MASK_BYTES, MAX_UPLOAD_BYTES, ReferenceTotal } from '#images/limits.js';
import { isConverted } from '#images/sniff.js';
import { inputKey } from '#storage/object-key.js';
import type { ObjectStore } from '#storage/object-store.js';
import type { TaskInput } from '#tasks/row/task.js';
import { PixelWatch } from './pixel-watch.js';
import { blaming, storeInput, type Bytes, type StoreRequest } from './store-input.js';

/** The quota in which the images of a request count. */
interface InputQuota {
  /** Before anything is stored. Throws AppError when the quota is used up. */
  assertRoom(): Promise<void>;
  /** Once all images are stored. Throws AppError when they exceed the quota. */
  count(taskId: string, bytes: number): Promise<void>;
  forget(taskId: string): Promise<void>;
}

/** The images of one request: stored as they arrive, and deleted if the request is not accepted. */
export class InputUpload {
  private readonly keys: string[] = [];
  /** All images of the request, also those that are not stored here. */
  private readonly total = new ReferenceTotal();
  private stored = 0;
  private isCounted = false;
  private room: Promise<void> | undefined;

  constructor(
    private readonly store: ObjectStore,
    readonly taskId: string,
    private readonly signal: AbortSignal,
    private readonly quota?: InputQuota,
  ) {}

  /**
   * Stores one image under the task's id, and updates `hash` with its bytes. Throws as storeInput does, and AppError when
   * the images of the request are too large together, or the account's quota is used up.
   */
  async add(bytes: Bytes, slot: number | 'mask', param: string, hash?: Hash): Promise<TaskInput> {
    const key = inputKey(this.taskId, slot);
    const limit = slot === 'mask' ? maskLimit(param) : fileLimit(param);
    this.room ??= this.quota?.assertRoom();
    await this.room;
    this.keys.push(key);
    const watch = new PixelWatch(param, this.total, slot === 'mask');
    const stored = await storeInput(this.store, bytes, { key, param, limit, hash, signal: this.signal, watch });
    this.stored += stored.bytes;
    const { bytes: size, type } = stored;
    const known = { ...(watch.pixels && { pixels: watch.pixels }), ...(isConverted(type) && { convert: type }) };
    return { kind: 'object', key, bytes: size, param, ...known };
  }

  /** Counts an upload that the request names. Throws AppError like `add`. */
  refer({ bytes, pixels = 0, param }: TaskInput & { kind: 'object' }): void {
    blaming(param, () => {
      this.total.addBytes(bytes);
      this.total.addPixels(pixels);
    });
  }

  /** Counts all stored images in the account's quota. Throws AppError when they exceed it. */
  async countInQuota(): Promise<void> {
    if (this.stored === 0 || this.quota === undefined) return;
    await this.quota.count(this.taskId, this.stored);
    this.isCounted = true;
  }

  /** Deletes the stored images. Never fails: those that can't be deleted now are collected as orphans. */
  async discard(): Promise<void> {
    if (this.isCounted) await this.quota?.forget(this.taskId).catch(() => undefined);
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
