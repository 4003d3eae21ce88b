import { CreateBucketCommand, ListMultipartUploadsCommand, S3Client } from '@aws-sdk/client-s3';
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { loadConfig } from '#config/load-config.js';
import { createObjectStore } from '#storage/create-object-store.js';
import { ObjectNotFound, StorageError, type ObjectStore } from '#storage/object-store.js';
import { S3Store } from '#storage/s3-store.js';
import { StorageConfig } from '#storage/storage.config.js';
import { FaultProxy, httpAnswer, type Fault } from '../support/fault-proxy.js';
import { describeObjectStore, freshKey, keysBelow } from '../support/object-store-suite.js';
import { startS3, STRICT, type TestS3 } from '../support/s3.js';

// Real: an S3 server that verifies signatures (Swift), where the machine can run it; faults come from a proxy before it.
const PNG = { contentType: 'image/png' };
const MEGABYTE = 1_048_576;
const bucket = `darkroom-${randomUUID()}`;
const stores: S3Store[] = [];
let s3: TestS3;
let store: ObjectStore;
let admin: S3Client;

function configOf(env: Record<string, string> = {}): StorageConfig {
  const settings = {
    STORAGE: 's3',
    S3_ENDPOINT: s3.endpoint,
    S3_REGION: s3.region,
    S3_BUCKET: bucket,
    S3_ACCESS_KEY_ID: s3.accessKeyId,
    S3_SECRET_ACCESS_KEY: s3.secretAccessKey,
    ...env,
  };
  return loadConfig([StorageConfig] as const, settings)[0];
}

function storeWith(env: Record<string, string>, s3IdleTimeoutMs = 15_000): S3Store {
  const created = new S3Store({ ...configOf(env), s3IdleTimeoutMs });
  stores.push(created);
  return created;
}

beforeAll(async () => {
  s3 = await startS3();
  const credentials = { accessKeyId: s3.accessKeyId, secretAccessKey: s3.secretAccessKey };
  admin = new S3Client({ endpoint: s3.endpoint, region: s3.region, credentials, forcePathStyle: true });
  await admin.send(new CreateBucketCommand({ Bucket: bucket }));
  store = await createObjectStore(configOf());
  stores.push(store as S3Store);
});

afterAll(async () => {
  for (const created of stores) created.close();
  admin.destroy();
  await s3.stop();
});

/** Unfinished multipart uploads of a key; the fallback server cannot tell. */
async function leftovers(key: string): Promise<string[]> {
  if (!STRICT) return [];
  const page = await admin.send(new ListMultipartUploadsCommand({ Bucket: bucket, Prefix: key }));
  return (page.Uploads ?? []).map((upload) => upload.UploadId ?? '');
}

describe('S3Store', () => {
  describeObjectStore({ store: () => store, leftovers, atomic: STRICT });

  it('is refused with a wrong secret, and says nothing of it', async () => {
    const outcome = await storeWith({ S3_SECRET_ACCESS_KEY: 'wrong-secret' })
      .check()
      .catch((error: unknown) => (error as Error).message);
    const refused = 'object store: writing failed (SignatureDoesNotMatch, HTTP 403)';
    // The fallback server looks at no signature in a header; there the presigned links alone show a wrong secret.
    expect(outcome).toBe(STRICT ? refused : undefined);
  });

  it('fails its check on a bucket that is not there', async () => {
    const missing = storeWith({ S3_BUCKET: `missing-${randomUUID()}` });
    await expect(missing.check()).rejects.toThrow('object store: writing failed (NoSuchBucket, HTTP 404)');
    await expect(missing.open(freshKey())).rejects.not.toBeInstanceOf(ObjectNotFound);
  });

  it('lists more keys than one page holds', async () => {
    const folder = `inputs/${randomUUID()}`;
    const keys = Array.from({ length: 7 }, (_, index) => `${folder}/${index}`);
    for (const key of keys) await store.put(key, Readable.from([Buffer.from('x')]), PNG);
    const paged = new S3Store(configOf(), 3);
    stores.push(paged);
    const found = await keysBelow(paged, `${folder}/`).catch((error: unknown) => error);
    // The fallback server breaks down over a second page; that must not look like the end of the list.
    expect(found).toEqual(STRICT ? keys : expect.any(StorageError));
  });
});

describe('S3Store before a failing server', () => {
  let proxy: FaultProxy;
  /** Waits 300 ms for an answer, and the patient one as long as a busy machine may need. */
  let faulty: S3Store;
  let patient: S3Store;
  const key = freshKey();

  beforeAll(async () => {
    proxy = await FaultProxy.start(s3.endpoint);
    const settings = { S3_ENDPOINT: proxy.url, S3_TIMEOUT_MS: '300', S3_ATTEMPTS: '2' };
    faulty = storeWith(settings, 300);
    patient = storeWith({ ...settings, S3_TIMEOUT_MS: '20000' }, 300);
    await store.put(key, Readable.from([Buffer.alloc(3 * MEGABYTE)]), PNG);
  });

  afterEach(() => (proxy.fault = 'pass'));
  afterAll(async () => await proxy.close());

  it.each<[string, Fault]>([
    ['an error', httpAnswer(500)],
    ['a refusal', httpAnswer(403)],
    ['no answer', 'black-hole'],
    ['a reset', 'reset'],
  ])('turns every call into a StorageError in time: %s', async (_name, fault) => {
    proxy.fault = fault;
    await expect(faulty.put(freshKey(), Readable.from([Buffer.from('x')]), PNG)).rejects.toThrow(StorageError);
    await expect(faulty.put(freshKey(), Readable.from([Buffer.alloc(12 * MEGABYTE)]), PNG)).rejects.toThrow(
      StorageError,
    );
    await expect(faulty.open(key)).rejects.toThrow(StorageError);
    // Another key: what was sent before a black hole is done once it ends.
    await expect(faulty.delete(freshKey())).rejects.toThrow(StorageError);
    await expect(faulty.check()).rejects.toThrow(StorageError);
    await expect(faulty.list('inputs/').next()).rejects.toThrow(StorageError);
  });

  it.each([{ cutAfter: MEGABYTE }, { stallAfter: MEGABYTE }])('never gives a part for the whole: %j', async (fault) => {
    proxy.fault = fault;
    const { stream, bytes } = await patient.open(key);
    expect(bytes).toBe(3 * MEGABYTE);
    await expect(buffer(stream)).rejects.toThrow(StorageError);
  });

  it('gives back the connection of an answer without a length', async () => {
    const few = storeWith({ S3_ENDPOINT: proxy.url, S3_CONNECTIONS: '4', S3_TIMEOUT_MS: '20000' });
    const body = 'x'.repeat(MEGABYTE);
    proxy.fault = { answer: ['HTTP/1.1 200 OK', 'content-type: image/png', '', body].join('\r\n') };
    for (let answers = 0; answers < 8; answers++) await expect(few.open(key)).rejects.toThrow('no length or body');
    proxy.fault = 'pass';
    expect((await buffer((await few.open(key)).stream)).length).toBe(3 * MEGABYTE);
  });

  it('stops reading the body once the server is lost', async () => {
    const lost = freshKey();
    let sent = 0;
    const body = new Readable({
      read() {
        if (++sent === 14) proxy.fault = httpAnswer(500);
        this.push(sent > 200 ? null : Buffer.alloc(MEGABYTE));
      },
    });
    await expect(patient.put(lost, body, PNG)).rejects.toThrow(StorageError);
    expect(body.destroyed).toBe(true);
    expect(sent).toBeGreaterThanOrEqual(14);
    expect(sent).toBeLessThan(60);
    proxy.fault = 'pass';
    await expect(store.open(lost)).rejects.toBeInstanceOf(ObjectNotFound);
  });

  it('works again when the server does', async () => {
    const back = freshKey();
    const unhurried = storeWith({ S3_ENDPOINT: proxy.url, S3_TIMEOUT_MS: '20000' }, 20_000);
    await unhurried.put(back, Readable.from([Buffer.from('back')]), PNG);
    expect(String(await buffer((await unhurried.open(back)).stream))).toBe('back');
  });
});
