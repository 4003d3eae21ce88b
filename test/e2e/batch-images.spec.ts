import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from '#embedded/wait-until.js';
import { endedBatch, lineOf, resultsIn, startBatch, type BatchAnswer } from '../support/batches.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { startS3 } from '../support/s3.js';

interface Shown {
  readonly url?: string;
  readonly b64_json?: string | null;
}

const MODELS = `providers:
  drawn: { type: sandbox }
models:
  gpt-image-2: { kind: image, routes: [{ provider: drawn }] }
  several: { kind: image, accepts: { max_n: 2 }, routes: [{ provider: drawn }] }
`;
const BODY = { model: 'gpt-image-2', resolution: '1k', prompt: 'one of many' };

async function imagesOf(platform: Platform, batch: BatchAnswer): Promise<Map<string, Shown[]>> {
  const output = await resultsIn(platform, batch.output_file_id);
  return new Map(output.map(({ custom_id: id, response }) => [id, response?.body['data'] as Shown[]]));
}

async function bytesAt(url: string | undefined): Promise<Buffer> {
  const link = await fetch(url ?? '');
  expect(link.status).toBe(200);
  return Buffer.from(await link.arrayBuffer());
}

describe('the images of a batch', () => {
  let platform: Platform;
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-batch-images-'));
    await writeFile(join(folder, 'models.yaml'), MODELS);
    platform = await startPlatform({ MODELS_FILE: join(folder, 'models.yaml') });
  });
  afterAll(async () => {
    await platform.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('come as links, base64 or both, as each line says', async () => {
    const lines = [
      lineOf('unsaid', BODY),
      lineOf('base64', { ...BODY, response_format: 'b64_json' }),
      lineOf('refused', { ...BODY, size: 'huge' }),
      lineOf('links', { ...BODY, response_format: 'url' }),
      lineOf('several', { ...BODY, model: 'several', n: 2 }),
    ];
    const batch = await endedBatch(platform, (await startBatch(platform, lines)).id);
    expect(batch.request_counts).toEqual({ total: 5, completed: 4, failed: 1 });
    const images = await imagesOf(platform, batch);
    expect([...images].map(([id, data]) => [id, data.map((item) => Object.keys(item))])).toEqual([
      ['unsaid', [['url', 'b64_json']]],
      ['base64', [['b64_json']]],
      ['links', [['url']]],
      [
        'several',
        [
          ['url', 'b64_json'],
          ['url', 'b64_json'],
        ],
      ],
    ]);
    const several = images.get('several') ?? [];
    expect(several[0]?.url).not.toBe(several[1]?.url);
    for (const { url, b64_json: base64 } of [...(images.get('unsaid') ?? []), ...several]) {
      expect((await bytesAt(url)).equals(Buffer.from(base64 ?? '', 'base64'))).toBe(true);
    }
    const [encoded] = images.get('base64') ?? [];
    expect(
      Buffer.from(encoded?.b64_json ?? '', 'base64')
        .subarray(1, 4)
        .toString(),
    ).toBe('PNG');
    // What is stored names objects, which no caller sees.
    const text = JSON.stringify(await resultsIn(platform, batch.output_file_id));
    expect(text).not.toContain('"key"');
    const head = await platform.call(`/v1/files/${batch.output_file_id}/content`, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, null]);
  });

  it('come as the key has it, where a line says nothing', async () => {
    const key = await platform.newKey({ default_response_format: 'url' });
    const { id } = await startBatch(platform, [lineOf('usual', BODY)], { key });
    const images = await imagesOf(platform, await endedBatch(platform, id, { key }));
    expect(images.get('usual')?.map((item) => Object.keys(item))).toEqual([['url']]);
  });

  it('are gone from the results, too, once their task is deleted', async () => {
    const lines = [lineOf('kept', BODY), lineOf('deleted', BODY)];
    const batch = await endedBatch(platform, (await startBatch(platform, lines)).id);
    const [, deleted] = await resultsIn(platform, batch.output_file_id);
    const text = 'SELECT id FROM tasks WHERE request_id = $1';
    const { rows } = await platform.pool.query<{ id: string }>(text, [deleted?.response?.request_id]);
    const removed = await platform.call(`/v1/tasks/${rows[0]?.id}`, { method: 'DELETE' });
    expect(removed.ok).toBe(true);
    let images = new Map<string, Shown[]>();
    const gone = async (): Promise<boolean> => {
      images = await imagesOf(platform, batch);
      return images.get('deleted')?.[0]?.b64_json === null;
    };
    expect(await waitUntil(gone, { timeoutMs: 60_000 })).toBe(true);
    expect(images.get('kept')?.[0]?.b64_json?.length).toBeGreaterThan(100);
  });
});

describe('the images of a batch in S3', () => {
  it('are read one after the other, whatever the number of lines', async () => {
    const s3 = await startS3();
    const platform = await startPlatform({
      STORAGE: 's3',
      S3_ENDPOINT: s3.endpoint,
      S3_REGION: s3.region,
      S3_BUCKET: s3.bucket,
      S3_ACCESS_KEY_ID: s3.accessKeyId,
      S3_SECRET_ACCESS_KEY: s3.secretAccessKey,
      // One for downloads: another one would be refused.
      S3_CONNECTIONS: '4',
    });
    try {
      const lines = Array.from({ length: 12 }, (_, at) =>
        lineOf(`line-${at}`, { ...BODY, response_format: 'b64_json' }),
      );
      const batch = await endedBatch(platform, (await startBatch(platform, lines)).id);
      const images = await imagesOf(platform, batch);
      expect(images.size).toBe(12);
      for (const [image] of images.values()) {
        expect(
          Buffer.from(image?.b64_json ?? '', 'base64')
            .subarray(1, 4)
            .toString(),
        ).toBe('PNG');
      }
    } finally {
      await platform.close();
      await s3.stop();
    }
  });
});
