import { ConfigError, loadConfig } from '#config/load-config.js';
import { ensureBucket } from '#storage/create-object-store.js';
import { StorageConfig } from '#storage/storage.config.js';

/** `bucket`: creates the bucket of the storage settings unless it exists. Throws StorageError or ConfigError. */
export async function createBucket(
  env: Readonly<Record<string, string | undefined>>,
  say: (line: string) => void,
): Promise<void> {
  if (env['STORAGE'] !== 's3' && env['S3_BUCKET'] === undefined)
    throw new ConfigError(['STORAGE must be s3, with S3_BUCKET and its keys: images on a disk need no bucket']);
  const [config] = loadConfig([StorageConfig], { ...env, STORAGE: 's3' });
  const created = await ensureBucket(config);
  say(`The bucket ${config.s3Bucket} ${created ? 'was created' : 'already exists'}.`);
}
