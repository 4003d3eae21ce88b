import { buffer } from 'node:stream/consumers';
import { ulid } from 'ulid';
import { StorageError, type ObjectStore } from './object-store.js';

/** Writes, reads, and deletes one small object. Throws StorageError when any of these fails. */
export async function probe(
  store: Pick<ObjectStore, 'put' | 'open' | 'delete'>,
  options: { signal?: AbortSignal } = {},
): Promise<void> {
  // The key contains its time, so that a probe left by a process that died is removed later.
  const key = `checks/check_${ulid()}`;
  const written = Buffer.from(key);
  try {
    await store.put(key, [written], { contentType: 'text/plain', ...options });
    const { stream } = await store.open(key, options);
    if (!written.equals(await buffer(stream))) throw new StorageError('object store: read something else than written');
    await store.delete(key);
  } catch (error) {
    if (error instanceof StorageError) throw error;
    throw new StorageError('object store: the check was given up', { cause: error });
  }
}
