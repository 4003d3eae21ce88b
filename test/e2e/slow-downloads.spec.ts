import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import sharp from 'sharp';
import { loadConfig } from '#config/load-config.js';
import { waitUntil } from '#embedded/wait-until.js';
import { resultKey } from '#storage/object-key.js';
import { S3Store } from '#storage/s3-store.js';
import { LinkSigner } from '#storage/signed-link.js';
import { StorageConfig } from '#storage/storage.config.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';
import { startS3, type TestS3 } from '../support/s3.js';

const S3_CONNECTIONS = 8;
const READERS = 10;
/** More than the buffers of all connections on the way take. */
const BYTES = 32_000_000;
const SLOW = '203.0.113.7';

describe('a network that reads images from S3 slowly', () => {
  let s3: TestS3;
  let platform: ApiPlatform;
  let link: string;
  let smallLink: string;
  const sockets: Socket[] = [];

  beforeAll(async () => {
    s3 = await startS3();
    platform = await startApiPlatform({
      STORAGE: 's3',
      S3_ENDPOINT: s3.endpoint,
      S3_REGION: s3.region,
      S3_BUCKET: s3.bucket,
      S3_ACCESS_KEY_ID: s3.accessKeyId,
      S3_SECRET_ACCESS_KEY: s3.secretAccessKey,
      S3_CONNECTIONS: String(S3_CONNECTIONS),
      TRUSTED_PROXIES: '127.0.0.1',
    });
    const store = new S3Store(loadConfig([StorageConfig] as const, platform.settings)[0]);
    const signer = new LinkSigner({ secretKey: platform.secretKey }, platform.url);
    const linkTo = async (number: number, bytes: number): Promise<string> => {
      const key = resultKey(`task_01JD0Z8Q4M0W3E5V6T7R8Y9X0A`, number, 'png');
      await store.put(key, Readable.from([Buffer.alloc(bytes)]), { contentType: 'image/png' });
      return signer.sign(key, Math.floor(Date.now() / 1_000) + 3_600).url;
    };
    [link, smallLink] = [await linkTo(1, BYTES), await linkTo(2, 8_000)];
    store.close();
  });
  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    await platform.close();
    await s3.stop();
  });

  const from = (address: string): Promise<Response> => fetch(link, { headers: { 'x-forwarded-for': address } });

  /** Reads the head of the response and nothing after it; returns the status. */
  async function readSlowly(): Promise<number> {
    const { port, hostname, host, pathname, search } = new URL(link);
    const socket = connect(Number(port), hostname);
    sockets.push(socket);
    socket.write(`GET ${pathname}${search} HTTP/1.1\r\nhost: ${host}\r\nx-forwarded-for: ${SLOW}\r\n\r\n`);
    const [head] = (await once(socket, 'data')) as [Buffer];
    socket.pause();
    return Number(head.toString('latin1', 9, 12));
  }

  it('takes turns when it reads many small images', async () => {
    const read = async (): Promise<number> => {
      const response = await fetch(smallLink, { headers: { 'x-forwarded-for': SLOW } });
      await response.arrayBuffer();
      return response.status;
    };
    // Each waits for its turn for five seconds, in which a busy machine may do nothing.
    const areRead = async (): Promise<boolean> =>
      (await Promise.all([read(), read(), read()])).every((status) => status === 200);
    for (let round = 0; round < 2; round++) expect(await waitUntil(areRead, { timeoutMs: 60_000 })).toBe(true);
  });

  it('loses no turn to a caller that leaves while it waits', async () => {
    expect(await readSlowly()).toBe(200);
    const waiting = new AbortController();
    const left = fetch(smallLink, { headers: { 'x-forwarded-for': SLOW }, signal: waiting.signal });
    // By then the API has heard of it.
    await (await fetch(smallLink, { headers: { 'x-forwarded-for': '203.0.113.9' } })).arrayBuffer();
    waiting.abort();
    // Or it had waited for as long as one may.
    expect(['left', 429]).toContain(
      await left.then(
        ({ status }) => status,
        () => 'left',
      ),
    );
    for (const socket of sockets) socket.destroy();
    const isNext = async (): Promise<boolean> => {
      const next = await from(SLOW);
      return (await next.arrayBuffer()).byteLength === BYTES && next.status === 200;
    };
    expect(await waitUntil(isNext, { timeoutMs: 60_000 })).toBe(true);
  });

  it('takes its own share of the connections, and others download and upload', async () => {
    const statuses = await Promise.all(Array.from({ length: READERS }, readSlowly));
    expect(statuses.sort()).toEqual([200, ...Array.from({ length: READERS - 1 }, () => 429)]);
    const refused = await from(SLOW);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '2']);
    expect(await refused.json()).toMatchObject({ type: 'error', error: { code: 'concurrency_limit_exceeded' } });

    const other = await from('203.0.113.8');
    expect([other.status, (await other.arrayBuffer()).byteLength]).toEqual([200, BYTES]);
    const image = await sharp({ create: { width: 64, height: 64, channels: 3, background: '#446688' } })
      .png()
      .toBuffer();
    const form = new FormData();
    form.set('file', new Blob([new Uint8Array(image)]), 'a.png');
    const upload = await platform.call('/v1/uploads/images', { body: form });
    expect(upload.status).toBeLessThan(300);

    for (const socket of sockets) socket.destroy();
    const back = async (): Promise<boolean> => {
      const again = await from(SLOW);
      await again.arrayBuffer();
      return again.status === 200;
    };
    expect(await waitUntil(back, { timeoutMs: 30_000 })).toBe(true);
  });
});
