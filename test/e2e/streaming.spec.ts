import { Redis } from 'ioredis';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import OpenAI, { APIError, toFile } from 'openai';
import sharp from 'sharp';
import { waitUntil } from '#embedded/wait-until.js';
import { gradientImage } from '#images/sample-images.fixture.js';
import { listenedFor } from '../support/partial-listener.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { startApi } from '../support/processes.js';

interface ImageEvent {
  type: string;
  b64_json: string;
  size: string;
  output_format: string;
  partial_image_index?: number;
  usage?: { total_tokens: number };
}

const GENERATIONS = '/v1/images/generations';
const REQUEST = { model: 'gpt-image-2', resolution: '1k', stream: true } as const;

/** Images as events, for the official SDK and byte by byte. */
describe('streaming', () => {
  let platform: Platform;
  let openai: OpenAI;
  let png: Buffer;

  beforeAll(async () => {
    platform = await startPlatform({ STREAM_PING_MS: '200', SYNC_WAIT_MS: '1000' });
    openai = new OpenAI({ apiKey: platform.key, baseURL: `${platform.url}/v1`, maxRetries: 0 });
    png = await gradientImage(128, 128, 'png');
  });
  afterAll(() => platform.close());

  async function eventsOf(stream: AsyncIterable<unknown>): Promise<ImageEvent[]> {
    const events: ImageEvent[] = [];
    for await (const event of stream) events.push(event as ImageEvent);
    return events;
  }

  const generate = (prompt: string, partials: number, options: OpenAI.RequestOptions = {}) =>
    openai.images.generate(
      { model: 'gpt-image-2', prompt, size: '3:2', stream: true, partial_images: partials },
      options,
    );

  /** Every image can be read; only the last has the size that was asked for. */
  async function expectImages(events: readonly ImageEvent[], family: string, size: string, format: string) {
    const partials = events.slice(0, -1);
    for (const [index, event] of partials.entries()) {
      expect(event).toMatchObject({ type: `${family}.partial_image`, partial_image_index: index, size });
      const { width, format: read } = await sharp(Buffer.from(event.b64_json, 'base64')).metadata();
      expect(width).toBeGreaterThan(0);
      expect(read).toBe(event.output_format);
    }
    const last = events.at(-1) as ImageEvent;
    expect(last).toMatchObject({ type: `${family}.completed`, size, output_format: format, quality: 'auto' });
    expect(last).toMatchObject({ background: 'opaque', created_at: expect.any(Number) as number });
    expect(last.usage?.total_tokens).toBeGreaterThan(0);
    const bytes = Buffer.from(last.b64_json, 'base64');
    const measured = await sharp(bytes).metadata();
    expect(`${measured.width}x${measured.height} ${measured.format}`).toBe(`${size} ${format}`);
    // All of it, not only the head.
    expect((await sharp(bytes).raw().toBuffer()).length).toBeGreaterThan(0);
  }

  it.each([0, 1, 2, 3])('shows a generation in %i partial images, in order, and then as ordered', async (count) => {
    // Longer than the window of a sync call, which a stream does not have.
    const call = () => generate(`in ${count} steps [[latency=1500ms]]`, count);
    const events = await eventsOf(count === 0 ? await call() : await listenedFor(platform, call));
    expect(events).toHaveLength(count + 1);
    await expectImages(events, 'image_generation', '2048x1360', 'png');
  });

  it('shows an edit of uploaded files', async () => {
    const image = [await toFile(png, 'a.png', { type: 'image/png' })];
    const order = { model: 'gpt-image-2', prompt: 'edited [[latency=600ms]]', image, output_format: 'webp' } as const;
    const stream = await listenedFor(platform, () =>
      openai.images.edit({ ...order, size: '1024x1024', stream: true, partial_images: 2 }),
    );
    const events = await eventsOf(stream);
    expect(events).toHaveLength(3);
    await expectImages(events, 'image_edit', '1024x1024', 'webp');
  });

  it('tells the size of an edit that names none as soon as the provider has chosen it', async () => {
    const image = await toFile(png, 'a.png', { type: 'image/png' });
    const stream = await listenedFor(platform, () =>
      openai.images.edit({
        model: 'gpt-image-2',
        prompt: 'edited [[latency=600ms]]',
        image,
        stream: true,
        partial_images: 1,
      }),
    );
    await expectImages(await eventsOf(stream), 'image_edit', '128x128', 'png');
  });

  it('shows an edit sent as JSON, below the alias and below the plain path', async () => {
    const data = `data:image/png;base64,${png.toString('base64')}`;
    const edit = await platform.call('/v1/images/edits', {
      body: { prompt: 'json', images: [{ image_url: data }], size: '1024x1024', stream: true },
    });
    const alias = await platform.call('/images/generations', { body: { ...REQUEST, prompt: 'alias' } });
    expect(await edit.text()).toMatch(/^: ping\n\n(?:: ping\n\n)*event: image_edit\.completed\ndata: \{.*\}\n\n$/);
    expect(await alias.text()).toMatch(/^: ping\n\n(?:: ping\n\n)*event: image_generation\.completed\ndata: .*\n\n$/);
  });

  it('flushes its headers at once and keeps the connection alive', async () => {
    const response = await platform.call(GENERATIONS, { body: { ...REQUEST, prompt: 'pings [[latency=15s]]' } });
    const taskId = response.headers.get('x-task-id') ?? '';
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
    expect(response.headers.get('cache-control')).toBe('no-store, no-transform');
    expect(response.headers.get('x-accel-buffering')).toBe('no');
    const task = (await (await platform.call(`/v1/tasks/${taskId}`)).json()) as { data: { status: string } };
    expect(task.data.status).toBe('pending');
    const text = await response.text();
    expect(text.split(': ping\n\n').length).toBeGreaterThan(4);
    expect(text).not.toContain('[DONE]');
  });

  it('throws what goes wrong after the headers as an APIError of the SDK', async () => {
    const stream = await generate('bad [[fault=moderation]]', 1);
    const thrown: unknown = await eventsOf(stream).catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(APIError);
    const { error } = thrown as APIError & { error: { code: string; task_id: string; type: string } };
    expect(error.code).toBe('moderation_blocked');
    expect((await platform.call(`/v1/tasks/${error.task_id}`)).status).toBe(200);
  });

  it.each([
    ['links', GENERATIONS, { response_format: 'url' }, 'response_format'],
    ['a task', `${GENERATIONS}/async`, {}, 'stream'],
    ['a task by query', `${GENERATIONS}?async=true`, {}, 'stream'],
    ['four partial images', GENERATIONS, { partial_images: 4 }, 'partial_images'],
  ])('refuses %s before anything is made', async (_name, path, changes, param) => {
    const response = await platform.call(path, { body: { ...REQUEST, prompt: 'refused', ...changes } });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ type: 'error', error: { param } });
    expect((await platform.pool.query(`SELECT 1 FROM tasks WHERE prompt = 'refused'`)).rows).toEqual([]);
  });

  it('finishes the task of a caller that left', async () => {
    const stream = await generate('left alone [[latency=24s]]', 2);
    for await (const event of stream) if (event.type === 'image_generation.partial_image') break;
    const statusOf = async (): Promise<unknown> =>
      (await platform.pool.query(`SELECT status FROM tasks WHERE prompt LIKE 'left alone%'`)).rows[0] as unknown;
    expect(await statusOf()).toEqual({ status: 'pending' });
    const redis = new Redis(platform.settings['REDIS_URL'] ?? '');
    const channels = `${platform.settings['REDIS_PREFIX'] ?? ''}:tasks:partial:*`;
    const listening = async (): Promise<number> => (await redis.pubsub('CHANNELS', channels)).length;
    expect(await waitUntil(async () => (await listening()) === 0, { timeoutMs: 30_000 })).toBe(true);
    // Before the task is over: its caller is forgotten because it left.
    expect([await listening(), await statusOf()]).toEqual([0, { status: 'pending' }]);
    redis.disconnect();
    await waitUntil(async () => JSON.stringify(await statusOf()).includes('completed'), { timeoutMs: 60_000 });
    expect(await statusOf()).toEqual({ status: 'completed' });
  });

  it('leads a repeat to the same task, while it runs and afterwards', async () => {
    const prompt = 'repeated [[latency=1500ms]]';
    const options = { idempotencyKey: 'stream-1', headers: { 'Idempotency-Key': 'stream-1' } };
    const [first, second] = await Promise.all([generate(prompt, 1, options), generate(prompt, 1, options)]);
    const [one, two] = await Promise.all([eventsOf(first), eventsOf(second)]);
    const replay = await generate(prompt, 1, options).withResponse();
    const again = await eventsOf(replay.data);
    expect(replay.response.headers.get('idempotency-replayed')).toBe('true');
    expect(again).toHaveLength(1);
    const images = [one, two, again].map((events) => events.at(-1)?.b64_json);
    expect(new Set(images).size).toBe(1);
    const { rows } = await platform.pool.query('SELECT provider_starts FROM tasks WHERE prompt = $1', [prompt]);
    expect(rows).toEqual([{ provider_starts: 1 }]);
  });

  it('leads the next try of an SDK to the running task, and to another once the image was received', async () => {
    const attempt = async (count: number, signal?: AbortSignal): Promise<Response> =>
      platform.call(GENERATIONS, {
        body: { ...REQUEST, prompt: 'tried [[latency=12s]]', partial_images: 1 },
        headers: { 'x-stainless-retry-count': String(count) },
        ...(signal === undefined ? {} : { signal }),
      });
    const cut = new AbortController();
    const first = await attempt(0, cut.signal);
    cut.abort();
    const second = await attempt(1);
    const taskId = first.headers.get('x-task-id') ?? '';
    expect(second.headers.get('x-task-id')).toBe(taskId);
    expect(await second.text()).toContain('event: image_generation.completed');
    const isDelivered = async (): Promise<boolean> =>
      (await platform.pool.query('SELECT 1 FROM tasks WHERE id = $1 AND delivered_at IS NOT NULL', [taskId])).rows
        .length > 0;
    expect(await waitUntil(isDelivered, { timeoutMs: 30_000 })).toBe(true);
    const third = await attempt(1);
    expect(third.headers.get('x-task-id')).not.toBe(taskId);
    await third.text();
  });

  it('says that an image cannot be read, and logs why', async () => {
    const headers = { 'idempotency-key': 'stream-lost' };
    const body = { ...REQUEST, prompt: 'lost' };
    const answer = await platform.call(GENERATIONS, { body, headers });
    const taskId = answer.headers.get('x-task-id') ?? '';
    expect(await answer.text()).toContain('event: image_generation.completed');
    const { rows } = await platform.pool.query<{ key: string }>(
      `SELECT images->0->>'key' AS key FROM tasks WHERE id = $1`,
      [taskId],
    );
    await rm(join(platform.settings['DATA_DIR'] ?? '', 'objects', rows[0]?.key ?? ''));
    const replayed = await (await platform.call(GENERATIONS, { body, headers })).text();
    expect(replayed).toMatch(/event: error\ndata: \{.*"code":"storage_error".*\}\n\n$/);
    const isLogged = (): boolean =>
      platform.api.logs().some((line) => line['taskId'] === taskId && line['code'] === 'storage_error');
    expect(await waitUntil(isLogged, { timeoutMs: 15_000 })).toBe(true);
  });

  it('leaves nothing but lines of JSON in the log', () => {
    const lines = platform.api.output().split('\n');
    expect(lines.filter((line) => line !== '' && !line.startsWith('{'))).toEqual([]);
  });

  it('tells a held caller of a stopping process where its image will be', async () => {
    const api = await startApi({ ...platform.settings, SHUTDOWN_GRACE_MS: '1500' });
    const response = await fetch(api.url + GENERATIONS, {
      method: 'POST',
      headers: { authorization: `Bearer ${platform.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...REQUEST, prompt: 'held [[latency=60s]]' }),
    });
    const exit = api.stop();
    const [, data = ''] = /event: error\ndata: (.*)\n\n$/.exec(await response.text()) ?? [];
    const { error } = JSON.parse(data) as { error: { code: string; task_id: string } };
    expect(error).toMatchObject({ code: 'still_running', task_id: response.headers.get('x-task-id') });
    expect(await exit).toMatchObject({ code: 0 });
    await platform.call(`/v1/tasks/${error.task_id}/cancel`, { method: 'POST' });
  });
});
