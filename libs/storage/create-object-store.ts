import { join } from 'node:path';
import { DiskStore } from './disk-store.js';
import type { ObjectStore } from './object-store.js';
import { S3Store } from './s3-store.js';
import type { StorageConfig } from './storage.config.js';

/** The store that the settings choose. Nothing is opened yet; `check()` tells whether it works. */
export function createObjectStore(config: StorageConfig): ObjectStore {
  return config.storage === 's3' ? new S3Store(config) : new DiskStore(join(config.dataDir, 'objects'));
}
