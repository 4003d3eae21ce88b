import { join } from 'node:path';
import { DiskStore } from './disk-store.js';
import type { ObjectStore } from './object-store.js';
import type { MissingRights } from './s3-rights.js';
import type { StorageConfig } from './storage.config.js';

/**
 * Creates the configured store. It opens no connection; `check()` tells whether the store works. The S3 client is
 * imported only when it is used, because loading it costs about 0.25 s of CPU time.
 */
export async function createObjectStore(config: StorageConfig): Promise<ObjectStore> {
  if (config.storage === 'disk') return new DiskStore(join(config.dataDir, 'objects'));
  const { S3Store } = await import('./s3-store.js');
  return new S3Store(config);
}

/** The rights that the access key lacks at S3. Never throws. */
export async function missingS3Rights(config: StorageConfig): Promise<MissingRights> {
  const { missingRights } = await import('./s3-rights.js');
  return await missingRights(config);
}

/** Creates the configured bucket; returns false when it already exists. Throws StorageError. */
export async function ensureBucket(config: StorageConfig): Promise<boolean> {
  const { createMissingBucket } = await import('./create-bucket.js');
  return await createMissingBucket(config);
}
