import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { createPublicKey, randomUUID, verify, type JsonWebKey } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import sharp from 'sharp';
import { loadConfig } from '#config/load-config.js';
import { waitUntil } from '#embedded/wait-until.js';
import { createObjectStore } from '#storage/create-object-store.js';
import { ObjectNotFound, type ObjectStore } from '#storage/object-store.js';
import { StorageConfig } from '#storage/storage.config.js';
import { measured } from '../support/figures.js';
import { NarrowS3 } from '../support/narrow-s3.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { startApi, startWorker } from '../support/processes.js';
import { startS3, type TestS3 } from '../support/s3.js';
import { redisTexts, tableTexts } from '../support/traces-of.js';

const CATALOG = `providers:
  paid: { type: sandbox, free: false }
models:
  gpt-image-2:
    kind: image
    routes: [{ provider: paid }]
    prices: [{ from: 2026-01-01, per_image: { 1k: 4, 2k: 4, 4k: 4 } }]
`;
/** What the promise is; everything that follows a deletion is waited for no longer. */
const PROMISED_MS = 60_000;

interface Receipt {
  readonly id: string;
  readonly images: number;
  readonly reference_images: number;
  readonly key_id: string;
  readonly jws: string;
}

/** What a task was made of, and what it made. */
interface Canary {
  readonly id: string;
  readonly prompt: string;
  readonly input: Buffer;
}

// Real: S3 that verifies signatures, with a bucket of its own, and the product's own lease, which a deletion may have to wait for.
describe('deleting tasks whose images are in S3', () => {
  const bucket = `darkroom-${randomUUID()}`;
  let s3: TestS3;
  let policy: NarrowS3;
  let folder: string;
  let platform: Platform;
  let store: ObjectStore;

  beforeAll(async () => {
    s3 = await startS3();
    const credentials = { accessKeyId: s3.accessKeyId, secretAccessKey: s3.secretAccessKey };
    const admin = new S3Client({ endpoint: s3.endpoint, region: s3.region, credentials, forcePathStyle: true });
    await admin.send(new CreateBucketCommand({ Bucket: bucket }));
    admin.destroy();
    policy = await NarrowS3.start(s3.endpoint, bucket);
    policy.lists = true;
    folder = await mkdtemp(join(tmpdir(), 'darkroom-erasure-s3-'));
    await writeFile(join(folder, 'models.yaml'), CATALOG);
    platform = await startPlatform({
      MODELS_FILE: join(folder, 'models.yaml'),
      STORAGE: 's3',
      S3_ENDPOINT: policy.endpoint,
      S3_REGION: s3.region,
      S3_BUCKET: bucket,
      S3_ACCESS_KEY_ID: s3.accessKeyId,
      S3_SECRET_ACCESS_KEY: s3.secretAccessKey,
    });
    store = await createObjectStore(loadConfig([StorageConfig], platform.settings)[0]);
  });
  afterAll(async () => {
    await platform.close();
    await policy.close();
    await s3.stop();
    await rm(folder, { recursive: true, force: true });
  });

  /** A request with a prompt and a reference image that nothing else has. */
  async function canary(more = ''): Promise<{ prompt: string; input: Buffer; body: object }> {
    const prompt = `canary-${randomUUID()} ${more}`;
    const raw = { width: 96, height: 64, channels: 3 } as const;
    const pixels = Buffer.from(Array.from({ length: 96 * 64 * 3 }, () => Math.floor(Math.random() * 256)));
    const input = await sharp(pixels, { raw }).png().toBuffer();
    const image_urls = [`data:image/png;base64,${input.toString('base64')}`];
    return { prompt, input, body: { model: 'gpt-image-2', prompt, image_urls, resolution: '1k' } };
  }

  async function statusOf(path: string): Promise<number> {
    const response = await platform.call(path);
    await response.text();
    return response.status;
  }

  async function deletes(id: string, at = platform.api): Promise<{ status: number; receipt: Receipt | null }> {
    const response = await platform.call(`/v1/tasks/${id}`, { method: 'DELETE', at });
    return { status: response.status, ...((await response.json()) as { receipt: Receipt | null }) };
  }

  async function receiptOf(id: string): Promise<Receipt | undefined> {
    const response = await platform.call(`/v1/tasks/${id}/receipt`);
    const text = await response.text();
    return response.status === 200 ? (JSON.parse(text) as Receipt) : undefined;
  }

  /** All objects of the bucket with their keys. */
  async function objects(): Promise<{ key: string; bytes: Buffer }[]> {
    const found: { key: string; bytes: Buffer }[] = [];
    for (const prefix of ['inputs/', 'results/', 'uploads/']) {
      for await (const key of store.list(prefix)) {
        // One that is deleted meanwhile is none.
        const object = await store.open(key).catch((error: unknown) => {
          if (error instanceof ObjectNotFound) return undefined;
          throw error;
        });
        if (object !== undefined) found.push({ key, bytes: await buffer(object.stream) });
      }
    }
    return found;
  }

  /** Where the prompt, the reference image or an image still is. */
  async function hits({ id, prompt, input }: Canary, result?: Buffer): Promise<string[]> {
    const images = [input, ...(result === undefined ? [] : [result])];
    // Long enough to be in nothing else, and at a multiple of three, so that base64 has it too.
    const parts = images.map((bytes) => bytes.subarray(60, 120));
    const texts = [prompt, ...parts.flatMap((part) => [part.toString('base64'), part.toString('hex')])];
    const dumps = {
      postgres: await tableTexts(platform),
      redis: await redisTexts(platform),
      logs: platform.api.output() + platform.worker.output(),
    };
    const found = Object.entries(dumps).flatMap(([name, dump]) =>
      texts.some((text) => dump.includes(text)) ? [name] : [],
    );
    for (const { key, bytes } of await objects()) {
      if (key.includes(id) || bytes.includes(prompt) || parts.some((part) => bytes.includes(part))) found.push(key);
    }
    return found;
  }

  async function charges(id: string): Promise<unknown[]> {
    return (await platform.pool.query<object>('SELECT * FROM charges WHERE task_id = $1 ORDER BY kind', [id])).rows;
  }

  async function gone(one: Canary, result?: Buffer): Promise<void> {
    let left: string[] = [];
    await waitUntil(async () => (left = await hits(one, result)).length === 0, { timeoutMs: PROMISED_MS });
    expect(left).toEqual([]);
  }

  async function verified(receipt: Receipt | null | undefined): Promise<boolean> {
    const listed = await platform.call('/v1/receipts/keys', { key: null });
    const { keys } = (await listed.json()) as { keys: (JsonWebKey & { kid: string })[] };
    const jwk = keys.find(({ kid }) => kid === receipt?.key_id) ?? {};
    const [head = '', payload = '', signature = ''] = (receipt?.jws ?? '').split('.');
    const key = createPublicKey({ key: jwk, format: 'jwk' });
    return verify(null, Buffer.from(`${head}.${payload}`), key, Buffer.from(signature, 'base64url'));
  }

  it('leaves nothing of an ended task but what it cost', async () => {
    const { body, ...sent } = await canary();
    const response = await platform.call('/v1/images/generations', { body: { ...body, response_format: 'url' } });
    const { data } = (await response.json()) as { data: { url: string }[] };
    const one = { ...sent, id: response.headers.get('x-task-id') ?? '' };
    const result = Buffer.from(await (await fetch(data[0]?.url ?? '')).arrayBuffer());
    const before = await hits(one, result);
    expect(before).toContain('postgres');
    expect(before.filter((place) => place.includes('/'))).toHaveLength(2);
    const charged = await charges(one.id);
    expect(charged).not.toEqual([]);

    const since = performance.now();
    // The second if it takes the API longer than five seconds.
    expect([200, 202]).toContain((await deletes(one.id)).status);
    let receipt: Receipt | undefined;
    const isErased = async (): Promise<boolean> => (receipt = await receiptOf(one.id)) !== undefined;
    expect(await waitUntil(isErased, { timeoutMs: PROMISED_MS })).toBe(true);
    await gone(one, result);
    measured('Deletion', 'an ended task, until nothing is left in S3', performance.now() - since);
    expect(receipt).toMatchObject({ id: one.id, images: 1, reference_images: 1 });
    expect(await verified(receipt)).toBe(true);
    expect(await charges(one.id)).toEqual(charged);
    expect(await statusOf(`/v1/tasks/${one.id}`)).toBe(410);
  });

  it('does not wait for the lease of a running task whose worker says that it has stopped', async () => {
    const { body, ...sent } = await canary('[[latency=120s]]');
    const response = await platform.call('/v1/images/generations/async', { body });
    const one = { ...sent, id: ((await response.json()) as { task_id: string }).task_id };
    const isCalled = async (): Promise<boolean> =>
      (await platform.pool.query('SELECT 1 FROM tasks WHERE id = $1 AND provider_call_open', [one.id])).rowCount === 1;
    expect(await waitUntil(isCalled, { timeoutMs: 60_000 })).toBe(true);
    expect(await hits(one)).not.toEqual([]);

    const since = performance.now();
    expect([200, 202]).toContain((await deletes(one.id)).status);
    let receipt: Receipt | undefined;
    const isErased = async (): Promise<boolean> => (receipt = await receiptOf(one.id)) !== undefined;
    expect(await waitUntil(isErased, { timeoutMs: PROMISED_MS })).toBe(true);
    await gone(one);
    measured('Deletion', 'a running task, until nothing is left in S3', performance.now() - since);
    expect(await verified(receipt)).toBe(true);
    // What a canceled task costs is settled, and the deletion changes none of it.
    expect((await charges(one.id)).length).toBeGreaterThan(1);
    expect(await statusOf(`/v1/tasks/${one.id}`)).toBe(410);
    const { rows } = await platform.pool.query('SELECT worker_stopped AS stopped FROM tasks WHERE id = $1', [one.id]);
    expect(rows).toEqual([{ stopped: true }]);
  });

  it('is finished by another worker when API and worker are killed after the first object', async () => {
    const { body, ...sent } = await canary();
    const response = await platform.call('/v1/images/generations', { body });
    await response.text();
    const one = { ...sent, id: response.headers.get('x-task-id') ?? '' };
    const charged = await charges(one.id);
    const api = await startApi(platform.settings);
    policy.undeletable = /^inputs\//;
    const since = performance.now();
    expect(await deletes(one.id, api)).toMatchObject({ status: 202, receipt: null });
    const isHalfDone = async (): Promise<boolean> => {
      const left = (await objects()).map(({ key }) => key).filter((key) => key.includes(one.id));
      return left.length === 1 && left[0]?.startsWith('inputs/') === true;
    };
    expect(await waitUntil(isHalfDone, { timeoutMs: 60_000 })).toBe(true);
    for (const process of [api, platform.worker]) {
      process.kill('SIGKILL');
      await process.exited;
    }
    policy.undeletable = undefined;
    const successor = await startWorker(platform.settings);
    await gone(one);
    measured('Deletion', 'with API and worker killed, until a new worker has finished', performance.now() - since);
    let receipt: Receipt | undefined;
    const isErased = async (): Promise<boolean> => (receipt = await receiptOf(one.id)) !== undefined;
    expect(await waitUntil(isErased, { timeoutMs: PROMISED_MS })).toBe(true);
    expect(await verified(receipt)).toBe(true);
    expect(await charges(one.id)).toEqual(charged);
    expect(api.output() + successor.output()).not.toContain(one.prompt);
    await successor.stop();
  });
});
