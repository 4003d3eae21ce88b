import { join } from 'node:path';
import { DiskStore } from './disk-store.js';
import type { ObjectStore } from './object-store.js';
import type { StorageConfig } from './storage.config.js';

/**
 * The store that the settings choose. Nothing is opened yet; `check()` tells whether it works.
 * The S3 client is loaded only where it is used: it costs every process about 0.25 s of processor time at its start.
 */
export async function createObjectStore(config: StorageConfig): Promise<ObjectStore> {
  if (config.storage === 'disk') return new DiskStore(join(config.dataDir, 'objects'));
  const { S3Store } = await import('./s3-store.js');
  return new S3Store(config);
}

/** Creates the bucket that the settings name; answers false when it was there before. Throws StorageError. */
export async function ensureBucket(config: StorageConfig): Promise<boolean> {
  const { createMissingBucket } = await import('./create-bucket.js');
  return await createMissingBucket(config);
}
