import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import sharp from 'sharp';
import { waitUntil } from '#embedded/wait-until.js';
import { loadConfig } from '#config/load-config.js';
import { gradientImage, withPngHeight } from '#images/sample-images.fixture.js';
import { createObjectStore } from '#storage/create-object-store.js';
import { StorageConfig } from '#storage/storage.config.js';
import { signInFirstAdmin } from '../support/console.js';
import { patient } from '../support/patience.js';
import { startPlatform, type Platform } from '../support/platform.js';

const EDITS = '/v1/images/edits';
const ASYNC = '/v1/images/edits/async';
/** The quota of an account is five such images. */
const IMAGE_BYTES = 200_000;

/** What one account may hold of a process, of another account's time, and of the store. */
describe('an account beside two that attack', () => {
  let platform: Platform;
  let elsewhere: Server;
  let served: Buffer;
  let small: Buffer;
  /** 64 megapixels in a few bytes. */
  let tiny: Buffer;
  /** Only a decoder finds that rows are missing. */
  let broken: Buffer;
  beforeAll(async () => {
    small = await gradientImage(256, 192, 'png');
    const plain = sharp({ create: { width: 64, height: 64, channels: 3, background: 'red' } }).png();
    broken = withPngHeight(await plain.toBuffer(), 12_000);
    tiny = await sharp({ create: { width: 8_000, height: 8_000, channels: 3, background: '#102030' } })
      .webp({ lossless: true, effort: 0 })
      .toBuffer();
    elsewhere = createServer((_request, response) => void response.end(served)).listen(0, '127.0.0.1');
    await once(elsewhere, 'listening');
    platform = await startPlatform({
      UPLOADS_PER_ACCOUNT_BYTES: String(5 * IMAGE_BYTES),
      EGRESS_ALLOW_CIDRS: '127.0.0.1/32',
      EGRESS_PORTS: `80,443,${(elsewhere.address() as AddressInfo).port}`,
    });
  });
  afterEach(() => platform.worker.kill('SIGCONT'));
  afterAll(async () => {
    await platform.close();
    elsewhere.close();
  });

  interface Answer {
    readonly status: number;
    readonly code: string | undefined;
    readonly param: string | undefined;
    readonly taskId: string;
  }

  async function ask(path: string, key: string, body: unknown): Promise<Answer> {
    const response = await platform.call(path, { key, body, signal: AbortSignal.timeout(patient(170_000)) });
    const { error } = (await response.json()) as { error?: { code: string; param: string } };
    const { status } = response;
    return { status, code: error?.code, param: error?.param, taskId: response.headers.get('x-task-id') ?? '' };
  }

  const uriOf = (bytes: Buffer, type: string): string => `data:image/${type};base64,${bytes.toString('base64')}`;
  /** A different file of the same pixels: what follows the image is not part of it. */
  const padded = (bytes: Buffer, size: number, filling: number): Buffer =>
    Buffer.concat([bytes, Buffer.alloc(Math.max(0, size - bytes.length), filling)]);
  const image = (): Buffer => padded(small, IMAGE_BYTES, 0);
  const editOf = (images: readonly string[], more: object = {}): object => ({
    model: 'gpt-image-2',
    prompt: 'a share [[latency=0ms]]',
    resolution: '1k',
    images: images.map((image_url) => ({ image_url })),
    ...more,
  });

  async function newAccountKey(): Promise<string> {
    return platform.newKey({ submits_per_minute: 0, tasks_in_flight: 0 }, await platform.newAccount());
  }

  async function upload(bytes: Buffer, key: string): Promise<string> {
    const form = new FormData();
    form.append('file', new Blob([new Uint8Array(bytes)]), 'a');
    const response = await platform.call('/v1/uploads/images', { key, body: form });
    expect(response.status).toBe(200);
    return ((await response.json()) as { url: string }).url;
  }

  async function stored(prefix: string): Promise<string[]> {
    const store = await createObjectStore(loadConfig([StorageConfig], platform.settings)[0]);
    const keys: string[] = [];
    for await (const key of store.list(prefix)) keys.push(key);
    return keys;
  }

  it('H2: pixels and bytes of all references of a request are bounded together, whichever way they come', async () => {
    const key = await newAccountKey();
    const bomb = padded(tiny, 40_000, 1);
    const before = (await platform.pool.query('SELECT 1 FROM tasks')).rowCount;
    const refused = { status: 400, code: 'image_too_large' };
    const uris = (count: number): string[] => Array.from({ length: count }, () => uriOf(bomb, 'webp'));
    // 40 bytes that declare 64 megapixels are no image; four of 64 megapixels are too many for one request.
    expect(await ask(EDITS, key, editOf([uriOf(tiny, 'webp')]))).toMatchObject({
      ...refused,
      param: 'images[0].image_url',
    });
    expect(await ask(EDITS, key, editOf(uris(4)))).toMatchObject({ ...refused, param: 'images[3].image_url' });
    expect(
      await ask('/v1/images/generations', key, {
        model: 'gpt-image-2',
        prompt: 'a share',
        resolution: '1k',
        image_urls: uris(4),
      }),
    ).toMatchObject({ ...refused, param: 'image_urls[3]' });
    const form = new FormData();
    form.append('prompt', 'a share');
    form.append('model', 'gpt-image-2');
    for (let n = 0; n < 4; n++)
      form.append('image[]', new Blob([new Uint8Array(padded(bomb, 40_000 + n, n))]), 'a.webp');
    // The files of a form are stored side by side, so any of them may be the one too many.
    const param = expect.stringMatching(/^image\[\d\]$/) as string;
    expect(await ask(EDITS, key, form)).toMatchObject({ ...refused, param });
    const link = await upload(bomb, key);
    expect(await ask(EDITS, key, editOf(Array.from({ length: 16 }, () => link)))).toMatchObject({
      ...refused,
      param: 'images[3].image_url',
    });
    expect((await platform.pool.query('SELECT 1 FROM tasks')).rowCount).toBe(before);
    expect(await stored('inputs/')).toEqual([]);
    // Of an address, the worker finds out, before it decodes anything.
    served = tiny;
    const { port } = elsewhere.address() as AddressInfo;
    const answer = await ask(EDITS, key, editOf([`http://127.0.0.1:${port}/a.webp`]));
    expect(answer).toMatchObject({ ...refused, param: 'images[0].image_url' });
    served = bomb;
    const four = Array.from({ length: 4 }, (_, n) => `http://127.0.0.1:${port}/${n}.webp`);
    expect(await ask(EDITS, key, editOf(four))).toMatchObject({ ...refused, param: 'images[3].image_url' });
  });

  it('H1: one upload named sixteen times counts sixteen times, so that a request of 2 KB asks for no more than others', async () => {
    const key = await newAccountKey();
    const link = await upload(padded(small, IMAGE_BYTES, 0), key);
    await platform.pool.query('UPDATE uploads SET bytes = 19700000 WHERE bytes = $1', [IMAGE_BYTES]);
    const answer = await ask(EDITS, key, editOf(Array.from({ length: 16 }, () => link)));
    expect(answer).toMatchObject({ status: 400, code: 'image_file_too_large', param: 'images[5].image_url' });
  });

  it('H2: a plain image waits for a task of each attacker, not for all of theirs', async () => {
    const attackers = [await newAccountKey(), await newAccountKey()];
    const third = await newAccountKey();
    platform.worker.kill('SIGSTOP');
    const tasks: string[] = [];
    for (const key of attackers) {
      // Uploads of their own, so that none is equal to another.
      const links = await Promise.all([1, 2, 3].map((n) => upload(padded(tiny, 33_000 + n, n), key)));
      links.push(await upload(broken, key));
      for (let n = 0; n < 10; n++) {
        const { status, taskId } = await ask(ASYNC, key, editOf(links));
        expect(status).toBe(202);
        tasks.push(taskId);
      }
    }
    const plain = ask('/v1/images/generations', third, {
      model: 'gpt-image-2',
      prompt: 'a plain one [[latency=0ms]]',
      resolution: '1k',
    });
    const isQueued = async (): Promise<boolean> =>
      (await platform.pool.query(`SELECT 1 FROM tasks WHERE prompt LIKE 'a plain one%'`)).rowCount === 1;
    expect(await waitUntil(isQueued, { timeoutMs: 60_000 })).toBe(true);
    platform.worker.kill('SIGCONT');
    expect((await plain).status).toBe(200);
    const { rows } = await platform.pool.query<{ ended: number; refused: number }>(
      `SELECT count(*) FILTER (WHERE finished_at <= plain.at)::int AS ended, count(*) FILTER (WHERE waits > 0)::int AS refused
        FROM tasks, (SELECT finished_at AS at FROM tasks WHERE prompt LIKE 'a plain one%') AS plain WHERE id = ANY($1)`,
      [tasks],
    );
    const [{ ended = 20, refused = 0 } = {}] = rows;
    process.stdout.write(`beside 20 tasks of 192 megapixels: ${ended} had ended, ${refused} had left their slot\n`);
    expect(ended).toBeLessThanOrEqual(4);
    // Those without room for their pixels kept no slot.
    expect(refused).toBeGreaterThan(0);
    await Promise.all(
      tasks.map((id, n) =>
        platform.call(`/v1/tasks/${id}/cancel`, { method: 'POST', key: attackers[n < 10 ? 0 : 1] ?? '' }),
      ),
    );
  });

  it('M1: stored references count in the quota of uploads, also when many requests arrive at once', async () => {
    const key = await newAccountKey();
    platform.worker.kill('SIGSTOP');
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        ask(ASYNC, key, editOf([uriOf(image(), 'png')], { prompt: `one of many ${n}` })),
      ),
    );
    const accepted = answers.filter(({ status }) => status === 202);
    expect(accepted).toHaveLength(5);
    for (const answer of answers.filter(({ status }) => status !== 202)) {
      expect(answer).toMatchObject({ status: 413, code: 'upload_quota_exceeded' });
    }
    expect(await stored('inputs/')).toHaveLength(5);
    // A form is refused before it is read, and an upload has no room either.
    const form = new FormData();
    form.append('prompt', 'a form');
    form.append('model', 'gpt-image-2');
    form.append('image', new Blob([new Uint8Array(image())]), 'a.png');
    expect(await ask(ASYNC, key, form)).toMatchObject({ status: 413, code: 'upload_quota_exceeded' });

    // What was cancelled before a start leaves nothing, and makes room.
    for (const { taskId } of accepted) {
      expect((await platform.call(`/v1/tasks/${taskId}/cancel`, { method: 'POST', key })).status).toBe(200);
    }
    const isGone = async (): Promise<boolean> =>
      (await stored('inputs/')).length === 0 &&
      (await platform.pool.query('SELECT 1 FROM stored_inputs')).rowCount === 0;
    expect(await waitUntil(isGone, { timeoutMs: 30_000 })).toBe(true);
    expect((await ask(ASYNC, key, editOf([uriOf(image(), 'png')]))).status).toBe(202);
    platform.worker.kill('SIGCONT');
  });

  it('M1: what failed for its own request leaves nothing stored, and what succeeded stays', async () => {
    const { key } = platform;
    const failed = await ask(EDITS, key, editOf([uriOf(image(), 'png'), uriOf(broken, 'png')]));
    expect(failed).toMatchObject({ status: 400, code: 'invalid_image_file', param: 'images[1].image_url' });
    const done = await ask(EDITS, key, editOf([uriOf(image(), 'png')]));
    expect(done.status).toBe(200);
    const left = async (): Promise<boolean> =>
      (await stored('inputs/')).every((name) => !name.includes(failed.taskId)) &&
      (await platform.pool.query('SELECT 1 FROM stored_inputs WHERE task_id = $1', [failed.taskId])).rowCount === 0;
    expect(await waitUntil(left, { timeoutMs: 30_000 })).toBe(true);
    expect(await stored(`inputs/${done.taskId}/`)).toHaveLength(1);
    const { rows } = await platform.pool.query('SELECT bytes::int FROM stored_inputs WHERE task_id = $1', [
      done.taskId,
    ]);
    expect(rows).toEqual([{ bytes: IMAGE_BYTES }]);

    // The console shows no links to what is gone, and a retry says what to do.
    const ada = await signInFirstAdmin(platform);
    const gone = { host: null, url: null };
    expect(await ada.ask(`/tasks/${failed.taskId}`)).toMatchObject({ reference_images: [gone, gone] });
    const again = await ada.call(`/tasks/${failed.taskId}/again`, { method: 'POST' });
    const { error } = (await again.json()) as { error: { code: string; message: string } };
    expect([again.status, error.code]).toEqual([400, 'invalid_value']);
    expect(error.message).toContain('Send them again');
    expect((await ada.call(`/tasks/${done.taskId}/again`, { method: 'POST' })).status).toBeLessThan(300);
    const { rows: counted } = await platform.pool.query('SELECT 1 FROM stored_inputs WHERE account_id = $1', [
      'acct_default',
    ]);
    expect(counted).toHaveLength(2);
  });
});
