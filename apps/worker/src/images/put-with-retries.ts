import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { StorageError, type ObjectStore } from '#storage/object-store.js';

const TRIES = 4;
const FIRST_DELAY_MS = 500;

/**
 * Stores bytes that were paid for: a store that fails for a moment must not cost a second image.
 * Throws StorageError after the last try, or the signal's reason.
 */
export async function putWithRetries(
  store: ObjectStore,
  key: string,
  body: () => Readable,
  contentType: string,
  signal: AbortSignal,
): Promise<void> {
  for (let failures = 0; ;) {
    signal.throwIfAborted();
    try {
      await store.put(key, body(), { contentType, signal });
      return;
    } catch (error) {
      signal.throwIfAborted();
      failures += 1;
      if (!(error instanceof StorageError) || failures === TRIES) throw error;
      await delay(FIRST_DELAY_MS * 2 ** (failures - 1), undefined, { signal });
    }
  }
}
