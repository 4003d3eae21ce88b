import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { StorageError, type ObjectStore } from '#storage/object-store.js';

const TRIES = 4;
const FIRST_DELAY_MS = 500;

/**
 * Stores paid-for bytes, with retries, so that a short outage of the store does not cost a second image. Throws
 * StorageError after the last attempt, or the signal's abort reason.
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
