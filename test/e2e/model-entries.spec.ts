import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { gradientImage } from '#images/sample-images.fixture.js';
import { plainImage } from '../support/image-provider-suite.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { signInFirstAdmin } from '../support/console.js';
import { image, startUpstream, type ScriptedUpstream } from '../support/scripted-upstream.js';

const GENERATIONS = '/v1/images/generations';
const EDITS = '/v1/images/edits';
const BASE_QUALITIES = ['standard', 'hd', 'low', 'medium', 'high', 'auto'];

interface Failure {
  readonly error: { readonly code: string; readonly param: string; readonly message: string };
}

interface ModelAnswer {
  readonly id: string;
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly limits: Readonly<Record<string, unknown>>;
}

/** What the entry of a model says of it, with real processes: a made-up model that no code knows, and other names of one. */
describe('the entry of a model', () => {
  let platform: Platform;
  let upstream: ScriptedUpstream;
  let folder: string;
  let png: Buffer;
  let uri: string;

  beforeAll(async () => {
    upstream = await startUpstream();
    upstream.script(image(await plainImage(1536, 864)));
    png = await gradientImage(128, 96, 'png');
    uri = `data:image/png;base64,${png.toString('base64')}`;
    folder = await mkdtemp(join(tmpdir(), 'darkroom-entries-'));
    const file = `providers:
  vendor: { type: openai, base_url: "${upstream.url}", keys: [{ env: VENDOR_KEY }] }
  drawn: { type: sandbox }
models:
  gpt-image-2: { kind: image, aliases: [gpt-image-1, dall-e-3], routes: [{ provider: drawn }] }
  vivid-9:
    kind: image
    accepts:
      qualities: [low, xhigh, max]
      edit_qualities: [low]
      output_formats: [webp, jpeg]
      sizes: ['16:9', '1:1']
      pixel_sizes: false
    extra:
      seed: { type: integer, min: 0, max: 4294967295 }
      sampler: { type: string, enum: [euler, ddim] }
      tiling: { type: boolean }
    routes: [{ provider: vendor }]
    prices: [{ from: 2026-01-01, per_image: { 1k: { auto: 1, xhigh: 3 }, 2k: { auto: 2, xhigh: 4 }, 4k: 5 } }]
  moving:
    kind: image
    accepts: { output_formats: [png, gif], complexities: [low, high] }
    routes: [{ provider: drawn }]
  old-8: { kind: image, shutdown_date: 2026-02-01, successors: [vivid-9], routes: [{ provider: drawn }] }
  gpt-5.5: { kind: chat, aliases: [gpt-4o], routes: [{ provider: drawn }] }
`;
    await writeFile(join(folder, 'models.yaml'), file);
    platform = await startPlatform({ MODELS_FILE: join(folder, 'models.yaml'), VENDOR_KEY: 'k' });
  });
  afterAll(async () => {
    await platform.close();
    await upstream.close();
    await rm(folder, { recursive: true, force: true });
  });

  const post = (path: string, body: object, key?: string): Promise<Response> =>
    platform.call(path, { body: { prompt: 'a fox', ...body }, ...(key === undefined ? {} : { key }) });
  const modelNamed = async (name: string): Promise<ModelAnswer> =>
    (await (await platform.call(`/v1/models/${name}`)).json()) as ModelAnswer;
  const refusal = async (response: Response): Promise<string> => {
    const { code, param, message } = ((await response.json()) as Failure).error;
    return `${response.status} ${code}: ${param}: ${message}`;
  };
  const editForm = (fields: Readonly<Record<string, string>>): Promise<Response> => {
    const form = new FormData();
    for (const [name, value] of Object.entries({ prompt: 'a fox', ...fields })) form.append(name, value);
    form.append('image', new Blob([png]), 'fox.png');
    return platform.call(EDITS, { body: form });
  };

  it('lets requests have qualities and formats that no code knows, and passes them on', async () => {
    const response = await post(GENERATIONS, {
      model: 'vivid-9',
      quality: 'xhigh',
      output_format: 'jpeg',
      size: '16:9',
    });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ quality: 'xhigh', output_format: 'jpeg', size: '2048x1152' });
    const sent: unknown = JSON.parse(upstream.calls.at(-1)?.body.toString() ?? '');
    expect(sent).toMatchObject({ model: 'vivid-9', quality: 'xhigh', output_format: 'jpeg' });
    const quote = await post(`${GENERATIONS}?dry_run=true`, { model: 'vivid-9', quality: 'xhigh', resolution: '1k' });
    expect(await quote.json()).toMatchObject({ quality: 'xhigh', cost: { amount: '3.000000' } });
  });

  it('decides what a request gets that names no size and no format', async () => {
    const { id } = await modelNamed('vivid-9');
    expect(await (await post(GENERATIONS, { model: id, resolution: '1k' })).json()).toMatchObject({
      size: '1024x1024',
      output_format: 'webp',
    });
    const edited = await post(EDITS, { model: id, resolution: '1k', images: [{ image_url: uri }] });
    expect(await edited.json()).toMatchObject({ size: '1536x864', output_format: 'webp' });
  });

  it.each([
    ['quality', { quality: 'high' }, 'quality must be one of low, xhigh, max'],
    ['output_format', { output_format: 'png' }, 'output_format must be one of webp, jpeg'],
    ['size', { size: '2:3' }, 'size must be one of 16:9, 1:1'],
    ['size', { size: '1024x1024' }, 'size must be one of 16:9, 1:1'],
  ])('refuses another %s with those that the model accepts: %j', async (param, changes, message) => {
    for (const path of [GENERATIONS, `${GENERATIONS}/async`, '/images/generations', `${GENERATIONS}?dry_run=true`]) {
      const refused = await post(path, { model: 'vivid-9', ...changes });
      expect(await refusal(refused)).toBe(`400 invalid_value: ${param}: ${message}`);
    }
  });

  it('may let edits have other qualities than generations', async () => {
    const message = '400 invalid_value: quality: quality must be one of low';
    const json = await post(EDITS, { model: 'vivid-9', quality: 'xhigh', images: [{ image_url: uri }] });
    expect(await refusal(json)).toBe(message);
    expect(await refusal(await editForm({ model: 'vivid-9', quality: 'xhigh' }))).toBe(message);
  });

  it('is shown to callers, and leaves gpt-image-2 as it is', async () => {
    const pixels = { generations: true, min_edge: 64, max_edge: 3_840, max_ratio: 3, max_pixels: 8_294_400 };
    const vivid = await modelNamed('vivid-9');
    expect(vivid.capabilities).toEqual({
      sizes: ['16:9', '1:1'],
      resolutions: ['1k', '2k', '4k'],
      edits: true,
      extra: {
        seed: { type: 'integer', min: 0, max: 4_294_967_295 },
        sampler: { type: 'string', enum: ['euler', 'ddim'] },
        tiling: { type: 'boolean' },
      },
      input_fidelities: ['high', 'low'],
      masks: true,
      markup: false,
      qualities: ['low', 'xhigh', 'max'],
      edit_qualities: ['low'],
      output_formats: ['webp', 'jpeg'],
    });
    expect(vivid.limits).toMatchObject({ n: 1 });
    expect((await modelNamed('gpt-image-2')).capabilities).toMatchObject({
      qualities: BASE_QUALITIES,
      edit_qualities: BASE_QUALITIES.filter((quality) => quality !== 'hd'),
      output_formats: ['png', 'jpeg', 'webp'],
      pixel_sizes: pixels,
    });
    const key = await platform.newKey({ allow_pixel_size: false });
    const limited = (await (await platform.call('/v1/models/gpt-image-2', { key })).json()) as ModelAnswer;
    expect(limited.capabilities['pixel_sizes']).toEqual({ ...pixels, generations: false });
    expect(await refusal(await post(GENERATIONS, { model: 'gpt-image-2', quality: 'xhigh' }))).toBe(
      `400 invalid_value: quality: quality must be one of ${BASE_QUALITIES.join(', ')}`,
    );
  });

  it('may give it other names, and answers and tasks say its own', async () => {
    const fields = { model: 'gpt-image-1', size: '1:1', resolution: '1k' };
    const calls = [
      await post(GENERATIONS, fields),
      await post(`${GENERATIONS}/async`, fields),
      await post(EDITS, { ...fields, model: 'dall-e-3', images: [{ image_url: uri }] }),
      await post('/v1/chat/completions', {
        model: 'dall-e-3',
        messages: [{ role: 'user', content: 'a fox' }],
        prompt: undefined,
      }),
    ];
    expect(calls.map(({ status }) => status)).toEqual([200, 202, 200, 200]);
    const ids = calls.map(({ headers }) => headers.get('x-task-id'));
    const { rows } = await platform.pool.query('SELECT DISTINCT model FROM tasks WHERE id = ANY($1)', [ids]);
    expect(rows).toEqual([{ model: 'gpt-image-2' }]);
    expect(await calls[3]?.json()).toMatchObject({ model: 'gpt-image-2' });
    const quote = await post(`${GENERATIONS}?dry_run=true`, fields);
    expect(await quote.json()).toMatchObject({ model: 'gpt-image-2' });
    expect(await modelNamed('dall-e-3')).toEqual(await modelNamed('gpt-image-2'));
    const list = (await (await platform.call('/v1/models')).json()) as { data: ModelAnswer[] };
    expect(list.data.map(({ id }) => id)).toEqual(['gpt-image-2', 'vivid-9', 'moving', 'gpt-5.5']);
  });

  it('makes its other names good for chats, whose use counts as its own', async () => {
    const chat = await post('/v1/chat/completions', {
      model: 'gpt-4o',
      messages: [{ role: 'user', content: 'hello' }],
    });
    expect([chat.status, await chat.json()]).toMatchObject([200, { model: 'gpt-5.5' }]);
  });

  it('lets keys name it by any of its names', async () => {
    const own = await platform.newKey({ models: ['gpt-image-2'] });
    const other = await platform.newKey({ models: ['dall-e-3'] });
    const dryRun = `${GENERATIONS}?dry_run=true`;
    for (const key of [own, other]) {
      for (const model of ['gpt-image-2', 'gpt-image-1']) expect((await post(dryRun, { model }, key)).status).toBe(200);
      expect((await post(dryRun, { model: 'vivid-9' }, key)).status).toBe(403);
      expect((await platform.call('/v1/models/gpt-image-1', { key })).status).toBe(200);
      const list = (await (await platform.call('/v1/models', { key })).json()) as { data: ModelAnswer[] };
      expect(list.data.map(({ id }) => id)).toEqual(['gpt-image-2']);
    }
  });

  it('is what a key of the console is for, whichever of its names was given', async () => {
    const admin = await signInFirstAdmin(platform);
    const { ending } = await admin.ask<{ ending: unknown }>('/catalog');
    expect(ending).toEqual([{ name: 'old-8', shutdown_date: '2026-02-01', successors: ['vivid-9'] }]);
    const models = ['gpt-image-1', 'gpt-4o', 'gpt-image-2'];
    const { key } = await admin.ask<{ key: { id: string; models: string[] } }>('/keys', {
      body: { name: 'some models', models },
    });
    expect(key.models).toEqual(['gpt-image-2', 'gpt-5.5']);
    const changed = await admin.ask<{ models: string[] }>(`/keys/${key.id}`, {
      method: 'PATCH',
      body: { models: ['dall-e-3'] },
    });
    expect(changed.models).toEqual(['gpt-image-2']);
  });

  it('does not make up names: an image request for another model names those that are served', async () => {
    expect(await refusal(await post(GENERATIONS, { model: 'gpt-image-9' }))).toBe(
      '400 model_not_found: model: The model does not exist; available: gpt-image-2, vivid-9, moving',
    );
  });

  it('may allow fields that no code knows: they are checked, sent on, and shown in the task', async () => {
    const extra = { seed: 7, sampler: 'ddim', tiling: true };
    const sent = await post(GENERATIONS, { model: 'vivid-9', ...extra, steps: 20 });
    expect([sent.status, sent.headers.get('x-ignored-params')]).toEqual([200, 'steps']);
    expect(JSON.parse(String(upstream.calls.at(-1)?.body))).toMatchObject({ ...extra, model: 'vivid-9' });
    const task = await platform.call(`/v1/tasks/${sent.headers.get('x-task-id') ?? ''}`);
    expect(((await task.json()) as { data: object }).data).toMatchObject({ extra });
    const form = new FormData();
    form.append('image', new Blob([new Uint8Array(png)]), 'a.png');
    const texts = { model: 'vivid-9', prompt: 'a house', seed: '8', sampler: 'euler', tiling: 'false' };
    for (const [name, value] of Object.entries(texts)) form.append(name, value);
    const edited = await platform.call(EDITS, { body: form });
    expect([edited.status, edited.headers.get('x-ignored-params')]).toEqual([200, null]);
    const options = await platform.pool.query<{ options: { extra: unknown } }>(
      'SELECT options FROM tasks WHERE id = $1',
      [edited.headers.get('x-task-id')],
    );
    expect(options.rows[0]?.options.extra).toEqual({ seed: 8, sampler: 'euler', tiling: false });
    expect(String(upstream.calls.at(-1)?.body)).toMatch(/name="seed"\r\n\r\n8\r\n/);
    expect(await refusal(await post(GENERATIONS, { model: 'vivid-9', seed: -1 }))).toBe(
      '400 integer_below_min_value: seed: seed must be at least 0',
    );
    expect(await refusal(await post(GENERATIONS, { model: 'vivid-9', sampler: 'dpm' }))).toBe(
      '400 invalid_value: sampler: sampler must be one of euler, ddim',
    );
    const other = await post(GENERATIONS, { model: 'gpt-image-2', seed: 7 });
    expect([other.status, other.headers.get('x-ignored-params')]).toEqual([200, 'seed']);
  });

  it('may draw GIFs with frames, which stay as they are', async () => {
    const moving = { model: 'moving', output_format: 'gif', size: '1056x640', response_format: 'b64_json' };
    const response = await post(GENERATIONS, { ...moving, frame_count: 3, frame_duration_ms: 90, complexity: 'low' });
    const body = (await response.json()) as { data: { b64_json: string }[]; warnings?: string[] };
    expect([response.status, body.warnings]).toEqual([200, undefined]);
    const bytes = Buffer.from(body.data[0]?.b64_json ?? '', 'base64');
    expect(await sharp(bytes, { animated: true }).metadata()).toMatchObject({
      format: 'gif',
      width: 1056,
      pageHeight: 640,
      pages: 3,
      delay: [90, 90, 90],
    });
    expect(await refusal(await post(GENERATIONS, { ...moving, size: '320x192', frame_count: 3 }))).toMatch(
      /^400 invalid_value: size: A GIF loses its frames when it is resized\. An image of 320x192 pixels is only possible/,
    );
    const mask = { image_url: uri };
    const masked = { ...moving, images: [mask], mask, frame_count: 3 };
    expect(await refusal(await post(EDITS, masked))).toBe(
      "400 unsupported_parameter: frame_count: frame_count can't be combined with a mask.",
    );
    expect(await refusal(await post(GENERATIONS, { ...moving, complexity: 'medium' }))).toBe(
      '400 invalid_value: complexity: complexity must be one of low, high',
    );
  });

  it('ends on its day, and so does what OpenAI has ended; both name what replaces them', async () => {
    expect(await refusal(await post(GENERATIONS, { model: 'dall-e-2' }))).toBe(
      '400 model_not_found: model: The model was shut down on 2026-05-12. Use gpt-image-2. Available: gpt-image-2, vivid-9, moving',
    );
    expect(await refusal(await post(GENERATIONS, { model: 'old-8' }))).toBe(
      '400 model_not_found: model: The model was shut down on 2026-02-01. Use vivid-9. Available: gpt-image-2, vivid-9, moving',
    );
    expect((await platform.call('/v1/models/old-8')).status).toBe(404);
    const chat = await platform.call('/v1/chat/completions', {
      body: { model: 'old-8', messages: [{ role: 'user', content: 'a house' }] },
    });
    expect([chat.status, ((await chat.json()) as Failure).error.message]).toEqual([
      404,
      'The model was shut down on 2026-02-01. Use vivid-9. Available: gpt-image-2, vivid-9, moving',
    ]);
  });
});
