import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { loadConfig } from '#config/load-config.js';
import { ObjectNotFound, StorageError } from '#storage/object-store.js';
import { S3Store } from '#storage/s3-store.js';
import { StorageConfig } from '#storage/storage.config.js';
import { doctor } from '../../apps/standalone/src/commands/doctor.js';
import { NarrowS3 } from '../support/narrow-s3.js';
import { freshKey } from '../support/object-store-suite.js';
import { startS3, type TestS3 } from '../support/s3.js';

const PNG = { contentType: 'image/png' };

// Real: an S3 server, and a policy before it that leaves rights out, as AWS, MinIO and Ceph enforce it.
describe('an access key that may not list its bucket', () => {
  const bucket = `darkroom-${randomUUID()}`;
  let s3: TestS3;
  let policy: NarrowS3;
  let store: S3Store;
  const stores: S3Store[] = [];

  function settings(): Record<string, string> {
    return {
      STORAGE: 's3',
      S3_ENDPOINT: policy.endpoint,
      S3_REGION: s3.region,
      S3_BUCKET: bucket,
      S3_ACCESS_KEY_ID: s3.accessKeyId,
      S3_SECRET_ACCESS_KEY: s3.secretAccessKey,
      S3_ATTEMPTS: '1',
    };
  }
  async function told(): Promise<string> {
    const lines: string[] = [];
    const nobody = { DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none', REDIS_URL: 'redis://127.0.0.1:1' };
    await doctor({ ...nobody, SECRET_KEY: 's'.padEnd(40, 'x'), ...settings() }, (line) => lines.push(line));
    return lines.find((line) => line.slice(6).startsWith('storage'.padEnd(18))) ?? '';
  }
  const errorOf = async (key: string): Promise<unknown> => await store.open(key).catch((error: unknown) => error);

  beforeAll(async () => {
    s3 = await startS3();
    const credentials = { accessKeyId: s3.accessKeyId, secretAccessKey: s3.secretAccessKey };
    const admin = new S3Client({ endpoint: s3.endpoint, region: s3.region, credentials, forcePathStyle: true });
    await admin.send(new CreateBucketCommand({ Bucket: bucket }));
    admin.destroy();
    policy = await NarrowS3.start(s3.endpoint, bucket);
  });
  beforeEach(() => {
    policy.lists = false;
    policy.aborts = true;
    policy.denied = undefined;
    policy.message = 'Access Denied.';
    store = new S3Store(loadConfig([StorageConfig], settings())[0]);
    stores.push(store);
  });
  afterAll(async () => {
    for (const one of stores) one.close();
    await policy.close();
    await s3.stop();
  });

  it('stores and reads images, and knows a missing one, which the store hides, without asking anew each time', async () => {
    const key = freshKey();
    await store.put(key, Readable.from([Buffer.from('an image')]), PNG);
    expect(String(await buffer((await store.open(key)).stream))).toBe('an image');
    expect(await errorOf(freshKey())).toBeInstanceOf(ObjectNotFound);
    const before = policy.asked.length;
    expect(await errorOf(freshKey())).toBeInstanceOf(ObjectNotFound);
    expect(policy.asked.length - before).toBe(1);
    await store.delete(key);
    expect(await errorOf(key)).toBeInstanceOf(ObjectNotFound);
    await store.check();
  });

  it('never takes an object for missing that is there and may not be read', async () => {
    const key = freshKey();
    await store.put(key, Readable.from([Buffer.from('x')]), PNG);
    policy.denied = /./;
    const error = await errorOf(key);
    expect(error).toBeInstanceOf(StorageError);
    expect(error).not.toBeInstanceOf(ObjectNotFound);
    expect(String(error)).toMatch(/reading failed \(AccessDenied, HTTP 403\); the access key needs s3:GetObject/);
    // As for objects encrypted with a key of AWS that the access key may not use.
    policy.denied = new RegExp(`^${key}$`);
    policy.message = 'User: x is not authorized to perform: kms:Decrypt on resource: y';
    expect(await errorOf(key)).not.toBeInstanceOf(ObjectNotFound);
    // While missing objects are told, a refusal is one.
    policy.lists = true;
    policy.message = 'Access Denied.';
    expect(await errorOf(key)).not.toBeInstanceOf(ObjectNotFound);
    expect(await errorOf(freshKey())).toBeInstanceOf(ObjectNotFound);
  });

  it('believes a store that names the right', async () => {
    policy.message = 'User: x is not authorized to perform: s3:ListBucket on resource: y';
    const before = policy.asked.length;
    expect(await errorOf(freshKey())).toBeInstanceOf(ObjectNotFound);
    expect(policy.asked.length - before).toBe(1);
  });

  it('is told by doctor which rights it lacks', async () => {
    expect(await told()).toMatch(/^warn .*lacks s3:ListBucket; images work, but/);
    policy.aborts = false;
    expect(await told()).toMatch(/^warn .*lacks s3:ListBucket, s3:AbortMultipartUpload;/);
    policy.denied = /^checks\//;
    expect(await told()).toMatch(/^fail .*lacks s3:GetObject, s3:ListBucket/);
    policy.denied = undefined;
    policy.lists = policy.aborts = true;
    expect(await told()).toMatch(/^ok .*bucket /);
    policy.lists = false;
    await expect(store.list('inputs/').next()).rejects.toThrow(/listing failed .*; the access key needs s3:ListBucket/);
  });
});
