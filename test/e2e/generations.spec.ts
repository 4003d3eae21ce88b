import { buffer } from 'node:stream/consumers';
import OpenAI from 'openai';
import { waitUntil } from '#embedded/wait-until.js';
import { sniffImageType } from '#images/sniff.js';
import { gradientImage } from '#images/sample-images.fixture.js';
import sharp from 'sharp';
import { startPlatform, type Platform } from '../support/platform.js';

const REQUEST = { model: 'gpt-image-2', prompt: 'a lighthouse at dusk', size: '3:2', resolution: '1k' };
const GENERATIONS = '/v1/images/generations';

interface ImageAnswer {
  created: number;
  data: { url?: string; b64_json?: string }[];
  size: string;
  output_format: string;
  background: string;
  quality: string;
}

describe('POST /v1/images/generations', () => {
  let platform: Platform;
  let openai: OpenAI;

  beforeAll(async () => {
    platform = await startPlatform();
    openai = new OpenAI({ apiKey: platform.key, baseURL: `${platform.url}/v1`, maxRetries: 0 });
  });
  afterAll(() => platform.close());

  const generate = (changes: object = {}, options = {}) =>
    platform.call(GENERATIONS, { body: { ...REQUEST, ...changes }, ...options });

  it('answers 200 with a link to an image of exactly the pixels of the table', async () => {
    const before = Math.floor(Date.now() / 1000);
    const response = await generate();
    expect(response.status).toBe(200);
    const answer = (await response.json()) as ImageAnswer;
    expect(answer).toMatchObject({ size: '1536x1024', output_format: 'png', background: 'opaque', quality: 'auto' });
    expect(answer.created).toBeGreaterThanOrEqual(before - 1);
    expect(answer.data).toHaveLength(1);
    expect(Object.keys(answer.data[0] ?? {})).toEqual(['url', 'b64_json']);
    expect(response.headers.get('x-request-id')).toMatch(/^req_/);
    expect(response.headers.get('x-task-id')).toMatch(/^task_[0-9A-Z]{26}$/);
    expect(response.headers.get('openai-processing-ms')).toMatch(/^\d+$/);

    const image = await fetch(answer.data[0]?.url ?? '', { headers: { authorization: 'Bearer stray' } });
    expect(image.headers.get('content-type')).toBe('image/png');
    const bytes = Buffer.from(await image.arrayBuffer());
    expect(answer.data[0]?.b64_json).toBe(bytes.toString('base64'));
    expect(await sharp(bytes).metadata()).toMatchObject({
      format: 'png',
      width: 1536,
      height: 1024,
    });
  });

  it('streams base64 of exactly the announced length, without a prefix', async () => {
    const response = await generate({ response_format: 'b64_json', output_format: 'webp' });
    const text = await response.text();
    expect(Number(response.headers.get('content-length'))).toBe(Buffer.byteLength(text));
    const { data, output_format: format } = JSON.parse(text) as ImageAnswer;
    expect(format).toBe('webp');
    expect(data[0]).not.toHaveProperty('url');
    expect(sniffImageType(Buffer.from(data[0]?.b64_json ?? '', 'base64'))).toBe('webp');
  });

  it('has an alias without prefix that answers the same, errors included', async () => {
    const [right, alias] = await Promise.all([generate(), platform.call('/images/generations', { body: REQUEST })]);
    const shape = async (response: Response): Promise<unknown> => {
      const { size, output_format, quality } = (await response.json()) as ImageAnswer;
      return { status: response.status, size, output_format, quality };
    };
    expect(await shape(alias)).toEqual(await shape(right));
    for (const body of [{}, { ...REQUEST, n: 2 }, '[]']) {
      const headers = { 'content-type': 'application/json' };
      const [one, other] = await Promise.all(
        [GENERATIONS, '/images/generations'].map((path) => platform.call(path, { body, headers })),
      );
      const strip = async (response: Response | undefined) => {
        const { error } = (await response?.json()) as { error: unknown };
        return { status: response?.status, error };
      };
      expect(await strip(other)).toEqual(await strip(one));
    }
    expect((await platform.call('/images/generations', { body: REQUEST, key: null })).status).toBe(401);
  });

  it('ignores unknown fields, names them, and takes null for absent', async () => {
    const response = await generate({
      seed: 7,
      negative_prompt: 'x',
      n: null,
      size: null,
      image_urls: null,
      stream: null,
    });
    expect(response.status).toBe(200);
    expect(response.headers.get('x-ignored-params')).toBe('seed, negative_prompt');
    expect(((await response.json()) as ImageAnswer).size).toBe('1024x1024');
  });

  it('works through the official SDK, which also sends headers of its own', async () => {
    const answer = await openai.images.generate({ ...REQUEST, size: '1:1', n: 1, user: 'someone' });
    expect(answer.data?.[0]?.url).toContain('/i/task_');
    expect(answer.usage?.total_tokens).toBeGreaterThan(0);
  });

  it('takes reference images as data URIs and stores them under the task', async () => {
    const image = await gradientImage(128, 96, 'jpeg');
    const uri = `data:image/png;base64,${image.toString('base64')}`;
    const response = await generate({ image_urls: [uri, uri] });
    expect(response.status).toBe(200);
    const { rows } = await platform.pool.query<{ inputs: object[] }>('SELECT inputs FROM tasks WHERE id = $1', [
      response.headers.get('x-task-id'),
    ]);
    expect(rows[0]?.inputs).toEqual([
      expect.objectContaining({ kind: 'object', bytes: image.length, param: 'image_urls[0]' }),
      expect.objectContaining({ kind: 'object', bytes: image.length, param: 'image_urls[1]' }),
    ]);
  });

  it.each([
    ['bytes that are no image', Buffer.from('<html></html>').toString('base64'), 'unsupported_image_media_type'],
    ['broken base64', 'iVBORw0KGgo!', 'invalid_base64_image'],
  ])('refuses %s and makes no task', async (_name, base64, code) => {
    const count = async (): Promise<unknown> => (await platform.pool.query('SELECT count(*) FROM tasks')).rows[0];
    const before = await count();
    const response = await generate({ image_urls: [`data:image/png;base64,${base64}`] });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code, param: 'image_urls[0]' } });
    expect(await count()).toEqual(before);
  });

  it('refuses an image that is too small by its header, and makes no task', async () => {
    const tiny = await gradientImage(32, 32, 'png');
    const response = await generate({ image_urls: [`data:image/png;base64,${tiny.toString('base64')}`] });
    expect([response.status, response.headers.get('x-task-id')]).toEqual([400, null]);
    expect(await response.json()).toMatchObject({ error: { code: 'image_too_small', param: 'image_urls[0]' } });
  });

  it('tells what is wrong with an image only the worker can open, as the sync answer', async () => {
    const whole = await gradientImage(128, 128, 'png');
    // Its header is fine, and its pixels are cut off.
    const cut = whole.subarray(0, whole.length / 2);
    const response = await generate({ image_urls: [`data:image/png;base64,${cut.toString('base64')}`] });
    expect(response.status).toBe(400);
    expect(response.headers.get('x-task-id')).toMatch(/^task_/);
    expect(await response.json()).toMatchObject({ error: { code: 'invalid_image_file', param: 'image_urls[0]' } });
  });

  it('follows the defaults of its key', async () => {
    const base64Key = await platform.newKey({ default_response_format: 'b64_json' });
    const byDefault = (await (await generate({}, { key: base64Key })).json()) as ImageAnswer;
    expect(byDefault.data[0]?.b64_json).toBeDefined();
    const asked = (await (await generate({ response_format: 'url' }, { key: base64Key })).json()) as ImageAnswer;
    expect(asked.data[0]?.url).toBeDefined();

    const pixels = (await (await generate({ size: '1024x1536' })).json()) as ImageAnswer;
    expect(pixels.size).toBe('1024x1536');
    const ratioKey = await platform.newKey({ allow_pixel_size: false });
    expect((await generate({ size: '1024x1536' }, { key: ratioKey })).status).toBe(400);

    const otherDialect = await platform.newKey({ submit_mode: 'apimart' });
    const submitted = await generate({}, { key: otherDialect });
    expect(submitted.status).toBe(200);
    const taskId = submitted.headers.get('x-task-id');
    expect(await submitted.json()).toEqual({ code: 200, data: [{ status: 'submitted', task_id: taskId }] });
  });

  it('ends a call that outlasts its window with the id of its task, and the image is still made', async () => {
    const slow = { prompt: 'a slow one [[latency=15s]]' };
    const [plain, sdk] = await Promise.all([
      generate(slow, { headers: { prefer: 'wait=1' } }),
      generate(slow, { headers: { prefer: 'wait=1', 'x-stainless-retry-count': '0' } }),
    ]);
    const taskId = plain.headers.get('x-task-id') ?? '';
    expect(plain.status).toBe(504);
    expect(await plain.json()).toMatchObject({
      type: 'error',
      error: { type: 'timeout_error', code: 'still_running', param: null, task_id: taskId },
    });
    expect(plain.headers.get('x-should-retry')).toBe('false');
    expect(plain.headers.get('retry-after-ms')).toBeNull();
    expect(sdk.headers.get('x-should-retry')).toBe('true');
    expect(sdk.headers.get('retry-after-ms')).toBe('250');

    const statuses = new Set<string>();
    const hasEnded = async (): Promise<boolean> => {
      const { data } = (await (await platform.call(`/v1/tasks/${taskId}`)).json()) as { data: { status: string } };
      statuses.add(data.status);
      return data.status !== 'pending';
    };
    expect(await waitUntil(hasEnded, { timeoutMs: 60_000, everyMs: 100 })).toBe(true);
    expect([...statuses]).toEqual(['pending', 'completed']);
  });

  it('goes on with the task when the caller goes away', async () => {
    const gone = new AbortController();
    const call = generate({ prompt: 'left alone [[latency=20s]]', user: 'leaver' }, { signal: gone.signal });
    const call2 = call.catch(() => 'aborted');
    const find = async (status: string) =>
      (
        await platform.pool.query<{ id: string }>(
          `SELECT id FROM tasks WHERE options->>'user' = 'leaver' AND status = $1`,
          [status],
        )
      ).rows[0];
    const is = (status: string) => async (): Promise<boolean> => (await find(status)) !== undefined;
    expect(await waitUntil(is('pending'), { timeoutMs: 30_000 })).toBe(true);
    gone.abort();
    expect(await call2).toBe('aborted');
    expect(await waitUntil(is('completed'), { timeoutMs: 60_000 })).toBe(true);
    const taskId = (await find('completed'))?.id;
    const view = await platform.call(`/v1/tasks/${taskId}`);
    expect(await view.json()).toMatchObject({ data: { status: 'completed' } });
  });

  it('reads a body that arrives in pieces', async () => {
    const bytes = Buffer.from(JSON.stringify({ ...REQUEST, prompt: 'é'.repeat(50) }));
    const pieces = new ReadableStream({
      start(controller) {
        for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
        controller.close();
      },
    });
    const response = await platform.call(GENERATIONS, {
      body: pieces,
      headers: { 'content-type': 'application/json; charset=utf-8' },
    });
    expect(response.status).toBe(200);
    expect((await buffer(response.body as never)).length).toBeGreaterThan(0);
  });
});
