import type { Readable } from 'node:stream';

/** A part of an object: from `first` to `last` (both included; the end if absent), or its last `suffix` bytes. */
export type ByteRange = { readonly first: number; readonly last?: number } | { readonly suffix: number };

/** What is stored: a stream, or pieces that are in memory anyway. */
export type ObjectBody = Readable | readonly Buffer[];

/** An object, or a part of it, opened for reading: as a stream, or by `read`. */
export interface StoredObject {
  /** The caller consumes or destroys it, even after it has read the bytes by `read`. */
  readonly stream: Readable;
  /**
   * Instead of the stream, for callers with a buffer of their own: fills the room with the next bytes, and returns how
   * many; fewer only at the end, and then none. Throws StorageError, also when the object ends early. One at a time.
   */
  readonly read: (room: Buffer) => Promise<number>;
  /** Bytes of the stream. */
  readonly bytes: number;
  /** Where the requested part begins, and the bytes of the whole object. */
  readonly part?: { readonly first: number; readonly size: number };
}

/** Where image bytes live. Keys come from object-key.ts, never from a caller. */
export interface ObjectStore {
  /**
   * Stores the whole body or nothing; an aborted or failed stream leaves nothing behind. Throws the stream's error, or
   * StorageError.
   */
  put(
    key: string,
    body: ObjectBody,
    options: { contentType: string; signal?: AbortSignal },
  ): Promise<{ bytes: number }>;
  /** Throws ObjectNotFound, RangeNotSatisfiable, or StorageError. */
  open(key: string, options?: { signal?: AbortSignal; range?: ByteRange }): Promise<StoredObject>;
  /** Deleting an object that does not exist is not an error. */
  delete(key: string): Promise<void>;
  /** Lists the keys below a prefix, in pages of the store's own size. */
  list(prefix: string): AsyncIterable<string>;
  /** Checks that an object can be written and read back; throws StorageError if not. */
  check(): Promise<void>;
}

/** The store failed; a retry may help. */
export class StorageError extends Error {
  override readonly name: string = 'StorageError';
}

/** The key of the store doesn't have the right to do this; `right` is S3's name of it. */
export class StorageForbidden extends StorageError {
  override readonly name = 'StorageForbidden';

  constructor(
    message: string,
    readonly right: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** No byte of the object is in the requested range. */
export class RangeNotSatisfiable extends StorageError {
  override readonly name = 'RangeNotSatisfiable';

  /** `size`: bytes of the object. */
  constructor(readonly size: number) {
    super('object store: no byte of the object is in the range');
  }
}

/** The key has no object; a retry won't help. */
export class ObjectNotFound extends StorageError {
  override readonly name = 'ObjectNotFound';
}
