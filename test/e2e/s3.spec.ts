import sharp from 'sharp';
import { waitUntil } from '#embedded/wait-until.js';
import { signInFirstAdmin } from '../support/console.js';
import { CountingProxy } from '../support/counting-proxy.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { startApi } from '../support/processes.js';
import { startS3, type TestS3 } from '../support/s3.js';

interface Answer {
  data: { url: string }[];
}

/** The whole platform with its images in S3 instead of on disk. */
describe.each(['proxy', 'presigned'])('images in S3, links by %s', (links) => {
  let s3: TestS3;
  let platform: Platform;

  beforeAll(async () => {
    s3 = await startS3();
    platform = await startPlatform({
      STORAGE: 's3',
      S3_ENDPOINT: s3.endpoint,
      S3_REGION: s3.region,
      S3_BUCKET: s3.bucket,
      S3_ACCESS_KEY_ID: s3.accessKeyId,
      S3_SECRET_ACCESS_KEY: s3.secretAccessKey,
      S3_LINKS: links,
    });
  });
  afterAll(async () => {
    await platform.close();
    await s3.stop();
  });

  it('are made, linked and fetched without a key', async () => {
    const answer = await platform.call('/v1/images/generations', {
      body: { model: 'gpt-image-2', prompt: 'in a bucket', resolution: '1k' },
    });
    expect(answer.status).toBe(200);
    const url = ((await answer.json()) as Answer).data[0]?.url ?? '';
    expect(url.startsWith(links === 'proxy' ? platform.url : s3.endpoint)).toBe(true);
    const image = await fetch(url);
    expect(image.headers.get('content-type')).toBe('image/png');
    const bytes = Buffer.from(await image.arrayBuffer());
    expect(await sharp(bytes).metadata()).toMatchObject({ format: 'png', width: 1024, height: 1024 });
  });

  it('have small copies, from where the console lets its pages load images', async () => {
    const ada = await signInFirstAdmin(platform);
    const listed = async () =>
      (await ada.ask<{ data: { id: string; thumbnail_url: string | null }[] }>('/tasks?limit=1')).data[0]!;
    const { id, thumbnail_url: first } = await listed();
    expect(first).toBe(`/console/api/tasks/${id}/thumbnail`);
    let created = new Response();
    // A busy machine may need longer than a page waits; then it gets the image itself.
    const isCreated = async (): Promise<boolean> => {
      created = await ada.call(`/tasks/${id}/thumbnail`);
      await created.arrayBuffer();
      return created.headers.get('content-type') === 'image/webp';
    };
    expect(await waitUntil(isCreated, { timeoutMs: 60_000 })).toBe(true);
    expect(created.status).toBe(200);
    const url = new URL((await listed()).thumbnail_url ?? '', platform.url);
    expect([url.origin, url.pathname]).toEqual([new URL(created.url).origin, new URL(created.url).pathname]);
    const answer = await fetch(url);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'image/webp']);
    const bytes = Buffer.from(await answer.arrayBuffer());
    expect(await sharp(bytes).metadata()).toMatchObject({ format: 'webp', width: 320, height: 320 });
    const policy = (await fetch(`${platform.url}/console/`)).headers.get('content-security-policy') ?? '';
    const sources = /img-src ([^;]*)/.exec(policy)?.[1]?.split(' ') ?? [];
    expect(sources).toContain(url.origin === platform.url ? "'self'" : url.origin);
  });

  it('come back as base64 too, and an upload is edited', async () => {
    const reference = await sharp({ create: { width: 256, height: 256, channels: 3, background: '#446688' } })
      .png()
      .toBuffer();
    const form = new FormData();
    form.set('prompt', 'add a moon');
    form.set('image', new Blob([new Uint8Array(reference)]), 'a.png');
    const edited = await platform.call('/v1/images/edits', { body: form });
    expect(edited.status).toBe(200);
    const [image] = ((await edited.json()) as { data: { b64_json: string }[] }).data;
    const bytes = Buffer.from(image?.b64_json ?? '', 'base64');
    expect(await sharp(bytes).metadata()).toMatchObject({ format: 'png', width: 256, height: 256 });
  });

  it('O10: probes ask nothing of the store, however many there are', async () => {
    const proxy = await CountingProxy.start(s3.endpoint);
    // One check, when it starts; the next one is twelve minutes later.
    const watched = { S3_ENDPOINT: proxy.url, HEALTH_CHECK_INTERVAL_MS: '60000' };
    const api = await startApi({ ...platform.settings, ...watched });
    const storage = async (): Promise<string | undefined> => {
      const { dependencies } = (await (await fetch(`${api.url}/readyz`)).json()) as {
        dependencies: Record<string, { state: string }>;
      };
      return dependencies['storage']?.state;
    };
    expect(await waitUntil(async () => (await storage()) === 'ok', { timeoutMs: 30_000 })).toBe(true);
    const checked = proxy.roundTrips;
    expect(checked).toBeGreaterThan(0);
    for (let probe = 0; probe < 50; probe++) {
      expect(await storage()).toBe('ok');
      expect((await fetch(`${api.url}/healthz`)).status).toBe(200);
    }
    expect(proxy.roundTrips).toBe(checked);
    await api.stop();
    await proxy.close();
  });
});
