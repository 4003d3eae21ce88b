import {
  AbortMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import { Readable } from 'node:stream';
import { ulid } from 'ulid';
import { createS3Client } from './s3-client.js';
import { isForbidden } from './s3-errors.js';
import type { StorageConfig } from './storage.config.js';

/** The rights that the access key lacks, in S3's words. */
export interface MissingRights {
  /** Without these, images can't be stored, served or deleted. */
  readonly needed: readonly string[];
  /** Without these, objects and parts that nothing refers to are not found. */
  readonly useful: readonly string[];
}

/** Tries each right once, below `checks/`. Other failures are left to the store's own check. */
export async function missingRights(config: StorageConfig): Promise<MissingRights> {
  const client = createS3Client(config);
  const limit = { abortSignal: AbortSignal.timeout(config.s3TimeoutMs) };
  const object = { Bucket: config.s3Bucket, Key: `checks/check_${ulid()}` };
  const lacks = async (right: string, attempt: () => Promise<unknown>): Promise<string[]> =>
    await attempt().then(
      () => [],
      (error: unknown) => (isForbidden(error) ? [right] : []),
    );
  try {
    const put = await lacks('s3:PutObject', () => client.send(new PutObjectCommand({ ...object, Body: 'x' }), limit));
    const get = await lacks('s3:GetObject', async () => {
      const { Body } = await client.send(new GetObjectCommand(object), limit);
      if (Body instanceof Readable) Body.destroy();
    });
    const remove = await lacks('s3:DeleteObject', () => client.send(new DeleteObjectCommand(object), limit));
    const list = await lacks('s3:ListBucket', () =>
      client.send(new ListObjectsV2Command({ Bucket: config.s3Bucket, Prefix: 'checks/', MaxKeys: 1 }), limit),
    );
    const abort = await lacks('s3:AbortMultipartUpload', async () => {
      const { UploadId } = await client.send(new CreateMultipartUploadCommand(object), limit);
      await client.send(new AbortMultipartUploadCommand({ ...object, UploadId }), limit);
    });
    // What was not written can't be read: the store would say so too.
    return { needed: [...put, ...(put.length > 0 ? [] : get), ...remove], useful: [...list, ...abort] };
  } finally {
    client.destroy();
  }
}
