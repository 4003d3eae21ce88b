import { CreateBucketCommand, HeadBucketCommand, S3ServiceException } from '@aws-sdk/client-s3';
import { createS3Client } from './s3-client.js';
import { StorageError } from './object-store.js';
import type { StorageConfig } from './storage.config.js';

/** Creates the configured bucket; returns false when it already exists. Throws StorageError. */
export async function createMissingBucket(config: StorageConfig): Promise<boolean> {
  const client = createS3Client(config);
  const bucket = { Bucket: config.s3Bucket };
  try {
    if (await isThere(() => client.send(new HeadBucketCommand(bucket)))) return false;
    await client.send(new CreateBucketCommand(bucket));
    return true;
  } catch (error) {
    const reason = error instanceof Error ? `${error.name} ${error.message}` : String(error);
    throw new StorageError(`The bucket ${config.s3Bucket} can't be reached: ${reason}`, { cause: error });
  } finally {
    client.destroy();
  }
}

async function isThere(look: () => Promise<unknown>): Promise<boolean> {
  try {
    await look();
    return true;
  } catch (error) {
    if (error instanceof S3ServiceException && error.$metadata.httpStatusCode === 404) return false;
    throw error;
  }
}
