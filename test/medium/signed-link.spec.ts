import { Readable } from 'node:stream';
import { loadConfig } from '#config/load-config.js';
import { inputKey, resultKey } from '#storage/object-key.js';
import { presignGet } from '#storage/presign.js';
import { ResultLinks } from '#storage/result-links.js';
import { S3Store } from '#storage/s3-store.js';
import { LinkSigner } from '#storage/signed-link.js';
import { StorageConfig } from '#storage/storage.config.js';
import { startS3, STRICT, type TestS3 } from '../support/s3.js';

// Real: an S3 server that checks presigned addresses, over HTTP.
const KEY = resultKey(`task_${Date.now()}`, 1, 'webp');
const UPLOAD = inputKey(`task_${Date.now()}`, 0);
let s3: TestS3;
let store: S3Store;

function configOf(secret: string): StorageConfig {
  const settings = {
    STORAGE: 's3',
    S3_LINKS: 'presigned',
    S3_ENDPOINT: s3.endpoint,
    S3_REGION: s3.region,
    S3_BUCKET: s3.bucket,
    S3_ACCESS_KEY_ID: s3.accessKeyId,
    S3_SECRET_ACCESS_KEY: secret,
  };
  return loadConfig([StorageConfig] as const, settings)[0];
}

function linkFor(secret: string): string {
  const links = new ResultLinks(configOf(secret), new LinkSigner({ secretKey: 'unused here' }, 'http://unused'));
  return links.linkFor({ objectKey: KEY, finishedAt: new Date() })?.url ?? '';
}

beforeAll(async () => {
  s3 = await startS3();
  store = new S3Store(configOf(s3.secretAccessKey));
  for (const key of [KEY, UPLOAD])
    await store.put(key, Readable.from([Buffer.from('bytes')]), { contentType: 'image/webp' });
});

afterAll(async () => {
  store.close();
  await s3.stop();
});

describe('a presigned link', () => {
  it('gives anyone the image, with its type', async () => {
    const response = await fetch(linkFor(s3.secretAccessKey));
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('image/webp');
    expect(await response.text()).toBe('bytes');
  });
});

// The fallback server serves whatever is asked for, signed or not.
if (STRICT)
  describe('a presigned link that was tampered with', () => {
    it('opens nothing else than its image', async () => {
      const link = linkFor(s3.secretAccessKey);
      expect((await fetch(link.replace(KEY, UPLOAD))).status).toBe(403);
      expect((await fetch(link.replace(/X-Amz-Expires=\d+/, 'X-Amz-Expires=604800'))).status).toBe(403);
      expect((await fetch(link, { method: 'DELETE' })).status).toBe(403);
    });

    it('is worth nothing when signed with a wrong secret, or once it expired', async () => {
      expect((await fetch(linkFor('wrong-secret'))).status).toBe(403);
      const url = new URL(`${s3.endpoint}/${s3.bucket}/${KEY}`);
      const expired = presignGet({ ...s3, url }, 60, new Date(Date.now() - 3_600_000));
      expect((await fetch(expired)).status).toBe(403);
    });
  });
