import type { Readable } from 'node:stream';

/** An object that is being read, and its size. */
export interface StoredObject {
  readonly stream: Readable;
  readonly bytes: number;
}

/** Where image bytes live. Keys come from object-key.ts, never from a caller. */
export interface ObjectStore {
  /**
   * Stores the stream whole or not at all; an aborted or failing stream leaves nothing behind.
   * Throws what the stream threw, or StorageError.
   */
  put(key: string, body: Readable, options: { contentType: string; signal?: AbortSignal }): Promise<{ bytes: number }>;
  /** Throws ObjectNotFound, or StorageError. The caller consumes or destroys the stream. */
  open(key: string, options?: { signal?: AbortSignal }): Promise<StoredObject>;
  /** Deleting what does not exist is no error. */
  delete(key: string): Promise<void>;
  /** Keys below a prefix, in pages of the store's own size. */
  list(prefix: string): AsyncIterable<string>;
  /** Whether the store can be written and read back now; throws StorageError when not. */
  check(): Promise<void>;
}

/** The store failed; trying again may help. */
export class StorageError extends Error {
  override readonly name: string = 'StorageError';
}

/** There is nothing under the key; trying again won't help. */
export class ObjectNotFound extends StorageError {
  override readonly name = 'ObjectNotFound';
}
