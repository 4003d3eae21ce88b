import { createHash } from 'node:crypto';
import { Redis } from 'ioredis';
import OpenAI, { toFile } from 'openai';
import sharp from 'sharp';
import { waitUntil } from '#embedded/wait-until.js';
import { withCredentials } from '#images/content-credentials.fixture.js';
import { stripMetadata } from '#images/strip-metadata.fixture.js';
import { signInFirstAdmin, signInInvited } from '../support/console.js';
import { plainImage } from '../support/image-provider-suite.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { apiError, events, image, startUpstream, text, type ScriptedUpstream } from '../support/scripted-upstream.js';

const UPSTREAM_KEY = 'sk-upstream-77d0c1e2b9';
const USAGE = { input_tokens: 5, output_tokens: 100, total_tokens: 105 };

describe('images from an OpenAI-compatible server', () => {
  let upstream: ScriptedUpstream;
  let platform: Platform;
  let openai: OpenAI;
  let png: Buffer;
  beforeAll(async () => {
    upstream = await startUpstream();
    // As it is delivered: opaque, and without metadata but credentials, which keep it from being marked.
    const plain = sharp(await plainImage(1024, 1024)).removeAlpha();
    png = await withCredentials(await stripMetadata(await plain.png().toBuffer(), 'png'), 'png');
    platform = await startPlatform({ OPENAI_API_KEY: UPSTREAM_KEY, OPENAI_BASE_URL: upstream.url });
    openai = new OpenAI({ apiKey: platform.key, baseURL: `${platform.url}/v1`, maxRetries: 0 });
  });
  afterAll(async () => {
    await platform.close();
    await upstream.close();
  });

  const order = { model: 'gpt-image-2', prompt: 'a pear', size: '1:1', resolution: '1k' };
  let count = 0;
  /** Each asks for an image of its own: a failure that may have been charged is answered to equal requests, too. */
  const generate = (changes: object = {}) => {
    const body = { ...order, prompt: `a pear, number ${++count}`, response_format: 'b64_json', ...changes };
    return platform.call('/v1/images/generations', { body });
  };

  async function taskOf(response: Response): Promise<Record<string, unknown>> {
    const answer = await platform.call(`/v1/tasks/${response.headers.get('x-task-id') ?? ''}`);
    return ((await answer.json()) as { data: Record<string, unknown> }).data;
  }

  const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

  it('delivers the very bytes that the server sent, with its usage', async () => {
    upstream.script(image(png, { usage: USAGE }));
    const response = await generate();
    const body = (await response.json()) as { data: { b64_json: string }[]; usage: unknown };
    expect(sha256(Buffer.from(body.data[0]?.b64_json ?? '', 'base64'))).toBe(sha256(png));
    expect(body.usage).toEqual(USAGE);
    const task = await taskOf(response);
    expect(task['sizes']).toEqual({ requested: '1024x1024', sent: '1024x1024', received: '1024x1024' });
    expect(task).not.toHaveProperty('warnings');
    expect(upstream.calls.at(-1)?.headers['idempotency-key']).toBe(task['id']);
  });

  it('serves the models that OpenAI has today, and says what replaces an older one', async () => {
    const { data } = (await (await platform.call('/v1/models')).json()) as {
      data: { id: string; shutdown_date: string | null; capabilities: object }[];
    };
    for (const version of ['2.5', '2.6'])
      for (const kind of ['sunburst', 'flare'])
        expect(data).toContainEqual(
          expect.objectContaining({ id: `gpt-image-${version}-${kind}`, shutdown_date: null }),
        );
    expect(data.find(({ id }) => id === 'gpt-image-2.6-flare')?.capabilities).toMatchObject({
      qualities: expect.arrayContaining(['xhigh', 'max']) as string[],
      output_formats: ['png', 'jpeg', 'webp', 'gif'],
      complexities: ['low', 'medium', 'high'],
    });
    upstream.script(image(png));
    // LibreChat's default.
    const flare = { model: 'gpt-image-2.5-flare', n: 1, background: 'auto', quality: 'auto', size: 'auto' };
    expect((await generate({ ...flare, resolution: undefined, response_format: undefined })).status).toBe(200);
    const sent = JSON.parse(String(upstream.calls.at(-1)?.body)) as Record<string, unknown>;
    expect(sent).toMatchObject({ model: 'gpt-image-2.5-flare', size: 'auto', quality: 'auto', background: 'auto' });
    const retired = await generate({ model: 'gpt-image-1' });
    expect(retired.status).toBe(400);
    expect(await retired.json()).toMatchObject({
      error: {
        code: 'model_not_found',
        message: expect.stringMatching(
          /^The model was shut down on 2026-10-23\. Use gpt-image-2\.5-sunburst or gpt-image-2\.5-flare\. Available: gpt-image-2, /,
        ) as string,
      },
    });
  });

  it('gets no input_fidelity for models that reject the field, and the caller learns of it', async () => {
    upstream.script(image(png));
    const picture = `data:image/png;base64,${png.toString('base64')}`;
    const edit = (changes: object) =>
      platform.call('/v1/images/edits', {
        body: { prompt: 'a pear', images: [{ image_url: picture }], input_fidelity: 'high', ...changes },
      });
    const response = await edit({});
    expect([response.status, response.headers.get('x-ignored-params')]).toEqual([200, 'input_fidelity']);
    expect(String(upstream.calls.at(-1)?.body)).not.toContain('input_fidelity');
    expect((await edit({ strict: true, size: '1024x1024' })).status).toBe(400);
  });

  it('says what its moderation blocked: to the caller, in the task, and in an event', async () => {
    const details = { categories: ['sexual', 'a new one'], moderation_stage: 'output' };
    const blocked = { type: 'image_generation_user_error', code: 'moderation_blocked', moderation_details: details };
    upstream.script(apiError(400, blocked));
    const response = await generate();
    const { error } = (await response.json()) as { error: Record<string, unknown> };
    expect([response.status, error]).toEqual([
      400,
      expect.objectContaining({ code: 'moderation_blocked', param: 'prompt', moderation_details: details }),
    ]);
    const task = await taskOf(response);
    expect(task['error']).toMatchObject({ code: 'moderation_blocked', moderation_details: details });
    const streamed = await (await generate({ stream: true, response_format: undefined })).text();
    expect(streamed).toContain(
      '"moderation_details":{"categories":["sexual","a new one"],"moderation_stage":"output"}',
    );
    upstream.script(apiError(400, { type: 'image_generation_user_error', code: 'moderation_blocked' }));
    expect(((await (await generate()).json()) as { error: object }).error).not.toHaveProperty('moderation_details');
  });

  it('is asked for the smallest size that it can draw and that covers the pixels, and told who the end user is', async () => {
    upstream.script(image(await plainImage(816, 816)));
    const safety = { safety_identifier: 'f3a1'.repeat(16) };
    const response = await generate({ size: '512x512', resolution: undefined, ...safety });
    const sent = JSON.parse(String(upstream.calls.at(-1)?.body)) as Record<string, unknown>;
    expect(sent).toMatchObject({ size: '816x816', ...safety });
    expect(sent).not.toHaveProperty('resolution');
    expect(await response.json()).toMatchObject({ size: '512x512' });
    expect(await taskOf(response)).toMatchObject({
      sizes: { requested: '512x512', sent: '816x816', received: '816x816' },
      warnings: ["The provider's image of 816x816 pixels was fitted to 512x512."],
    });
    await generate({ size: '1792x1024' });
    expect(JSON.parse(String(upstream.calls.at(-1)?.body))).toMatchObject({ size: '1792x1024' });
    expect(JSON.parse(String(upstream.calls.at(-1)?.body))).not.toHaveProperty('safety_identifier');
  });

  it('fits what has another size and format, and says so in the task', async () => {
    const jpeg = await sharp(await plainImage(1536, 1024))
      .jpeg()
      .toBuffer();
    upstream.script(image(jpeg));
    const response = await generate({ quality: 'hd' });
    const body = (await response.json()) as { data: { b64_json: string }[]; size: string };
    const { width, height, format } = await sharp(Buffer.from(body.data[0]?.b64_json ?? '', 'base64')).metadata();
    expect([width, height, format, body.size]).toEqual([1024, 1024, 'png', '1024x1024']);
    expect(await taskOf(response)).toMatchObject({
      sizes: { requested: '1024x1024', sent: '1024x1024', received: '1536x1024' },
      warnings: [
        'The quality hd was requested as high.',
        "The provider's image of 1536x1024 pixels was fitted to 1024x1024.",
        "The provider's jpeg was encoded as png.",
      ],
    });
  });

  it('fails a strict request whose image had to be fitted, buys no second one, and refuses what is known before', async () => {
    const before = upstream.calls.length;
    const refused = await generate({ quality: 'hd', strict: true });
    expect([refused.status, await refused.json()]).toMatchObject([
      400,
      { error: { code: 'unsupported_parameter', param: 'quality' } },
    ]);
    upstream.script(image(await plainImage(1536, 1024)));
    const response = await generate({ strict: true });
    expect([response.status, await response.json()]).toMatchObject([
      502,
      {
        error: {
          code: 'upstream_invalid_response',
          message: expect.stringContaining('image of 1536x1024 pixels was fitted to 1024x1024') as unknown,
        },
      },
    ]);
    expect(upstream.calls).toHaveLength(before + 1);
    expect(await taskOf(response)).toMatchObject({ status: 'failed', error: { http_status: 502 } });
    upstream.script(image(png));
    expect((await generate({ strict: true })).status).toBe(200);
  });

  it('edits with a mask, pixel for pixel as they were uploaded', async () => {
    upstream.script(image(png));
    const original = await plainImage(256, 256, '#804020');
    const mask = await plainImage(256, 256, '#00000000');
    const edited = await openai.images.edit({
      model: 'gpt-image-2',
      prompt: 'a plum',
      image: await toFile(original, 'a.png', { type: 'image/png' }),
      mask: await toFile(mask, 'm.png', { type: 'image/png' }),
      size: '1024x1024',
    });
    expect(sha256(Buffer.from(edited.data?.[0]?.b64_json ?? '', 'base64'))).toBe(sha256(png));
    const call = upstream.calls.at(-1);
    expect(call?.path).toBe('/v1/images/edits');
    const headers = { 'content-type': call?.headers['content-type'] ?? '' };
    const form = await new Response(new Uint8Array(call?.body ?? []), { headers }).formData();
    const pixels = async (file: Buffer): Promise<string> => sha256(await sharp(file).ensureAlpha().raw().toBuffer());
    const sent = async (name: string): Promise<string> =>
      pixels(Buffer.from(await (form.get(name) as File).arrayBuffer()));
    expect([await sent('image[]'), await sent('mask')]).toEqual([await pixels(original), await pixels(mask)]);
  });

  it.each([
    ['of the request', '1:1', undefined, '1024x1024'],
    ['that the server names', 'auto', '1536x1024', '1536x1024'],
    ['that nobody knows yet', 'auto', 'auto', 'auto'],
  ])('passes partial images on while the server draws, with the size %s', async (_what, asked, named, told) => {
    const partial = await plainImage(64, 64, '#204060');
    const redis = new Redis(platform.settings['REDIS_URL'] ?? '');
    const answer = events(
      {
        type: 'image_generation.partial_image',
        b64_json: partial.toString('base64'),
        partial_image_index: 0,
        size: named,
      },
      { type: 'image_generation.completed', b64_json: png.toString('base64'), usage: USAGE },
    );
    upstream.script(async (call, response) => {
      // An image that nobody listens for is lost, and a real server draws for longer than it takes to listen.
      const channel = `${platform.settings['REDIS_PREFIX'] ?? ''}:tasks:partial:${String(call.headers['idempotency-key'])}`;
      await waitUntil(async () => (await redis.pubsub('CHANNELS', channel)).length > 0, { timeoutMs: 30_000 });
      await answer(call, response);
    });
    const request = { ...order, size: asked, stream: true, partial_images: 1 };
    const stream = await openai.images.generate(request as never);
    const seen: string[] = [];
    for await (const event of stream as unknown as AsyncIterable<{ type: string; b64_json: string; size: string }>) {
      seen.push(`${event.type} ${event.size} ${sha256(Buffer.from(event.b64_json, 'base64'))}`);
    }
    redis.disconnect();
    expect(seen).toEqual([
      `image_generation.partial_image ${told} ${sha256(partial)}`,
      `image_generation.completed 1024x1024 ${sha256(png)}`,
    ]);
  });

  it('starts again what was not charged, and nothing that may have been', async () => {
    upstream.script(apiError(503), image(png));
    const before = upstream.calls.length;
    expect((await generate()).status).toBe(200);
    expect(upstream.calls.length - before).toBe(2);
    upstream.script(text('<html>', 'text/html', 504));
    const response = await generate();
    expect(response.status).toBe(502);
    expect(response.headers.get('x-should-retry')).toBe('false');
    expect(upstream.calls.length - before).toBe(3);
    expect(await taskOf(response)).toMatchObject({ status: 'failed', error: { code: 'upstream_error' } });
  });

  it('keeps the key and the address of the server to itself', async () => {
    upstream.script(apiError(401, { message: `Incorrect API key ${UPSTREAM_KEY} at ${upstream.url}` }));
    const response = await generate();
    const answer = await response.text();
    expect([response.status, answer]).toEqual([502, expect.stringContaining('401')]);
    const id = response.headers.get('x-task-id');
    const isLogged = (): boolean =>
      platform.worker.logs().some(({ event, taskId }) => event === 'task.failed' && taskId === id);
    expect(await waitUntil(isLogged, { timeoutMs: 30_000 })).toBe(true);
    const shown = answer + platform.api.output() + platform.worker.output();
    for (const secret of [UPSTREAM_KEY, new URL(upstream.url).host]) expect(shown).not.toContain(secret);
  });

  it('tells operators alone what the provider said of a failure, without the key', async () => {
    const accountId = await platform.newAccount();
    const ada = await signInFirstAdmin(platform);
    const eve = await signInInvited(platform, { email: 'eve@example.org', role: 'admin', accountId });
    const mo = await signInInvited(platform, { email: 'mo@example.org', role: 'member' });
    upstream.script(apiError(404, { message: `The model does not exist for ${UPSTREAM_KEY}: said-by-the-vendor` }));
    const said = 'The model does not exist for [redacted]: said-by-the-vendor';
    const fail = async (key: string): Promise<string> => {
      const body = { ...order, prompt: `a pear, number ${++count}`, response_format: 'b64_json' };
      const answer = await platform.call('/v1/images/generations', { key, body });
      expect([answer.status, await answer.text()]).toEqual([502, expect.not.stringContaining('said-by-the-vendor')]);
      return answer.headers.get('x-task-id') ?? '';
    };
    const ofEve = await fail(await platform.newKey({}, accountId));
    const ofAda = await fail(await platform.newKey());
    const { rows } = await platform.pool.query(
      `SELECT calls->-1->>'providerMessage' AS said FROM tasks WHERE id = $1`,
      [ofAda],
    );
    expect(rows).toEqual([{ said }]);

    const shown = await (await ada.call(`/tasks/${ofAda}`)).json();
    expect(shown).toMatchObject({
      timeline: expect.arrayContaining([expect.objectContaining({ provider_status: 404, provider_message: said })]),
    });
    expect(await (await ada.call(`/tasks/${ofAda}/events`)).text()).toContain(said);
    const { task_id: ofMo } = await mo.ask<{ task_id: string }>('/images', { body: { ...order, prompt: 'of Mo' } });
    expect(await (await mo.call(`/tasks/${ofMo}/events`)).text()).toContain('"status":"failed"');
    const others = await Promise.all([
      eve.call(`/tasks/${ofEve}`),
      eve.call(`/tasks/${ofEve}/events`),
      mo.call(`/tasks/${ofMo}`),
      platform.call(`/v1/tasks/${ofAda}?include=timeline`),
    ]);
    const texts = await Promise.all(others.map((answer) => answer.text()));
    for (const text of texts) expect(text).toContain('provider_call');
    for (const text of texts.slice(0, 3)) expect(text).toContain('"provider_status":404');
    for (const text of [...texts, platform.api.output(), platform.worker.output()]) {
      expect(text).not.toContain('said-by-the-vendor');
    }
  });
});
