import type { Readable } from 'node:stream';

/** An object opened for reading, and its size. */
export interface StoredObject {
  readonly stream: Readable;
  readonly bytes: number;
}

/** Where image bytes live. Keys come from object-key.ts, never from a caller. */
export interface ObjectStore {
  /**
   * Stores the whole stream or nothing; an aborted or failed stream leaves nothing behind. Throws the stream's error,
   * or StorageError.
   */
  put(key: string, body: Readable, options: { contentType: string; signal?: AbortSignal }): Promise<{ bytes: number }>;
  /** Throws ObjectNotFound, or StorageError. The caller consumes or destroys the stream. */
  open(key: string, options?: { signal?: AbortSignal }): Promise<StoredObject>;
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

/** The key of the store has not the right to do this; `right` is S3's name of it. */
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

/** The key has no object; a retry won't help. */
export class ObjectNotFound extends StorageError {
  override readonly name = 'ObjectNotFound';
}
