import { createServer } from 'node:net';
import { once } from 'node:events';
import { parseCatalog } from '#catalog/parse-catalog.js';
import { loadConfig } from '#config/load-config.js';
import { EgressConfig } from '#egress/egress.config.js';
import { PublicFetcher } from '#egress/fetch-public-url.js';
import { freePort } from '../support/free-port.js';
import { waitUntil } from '#embedded/wait-until.js';
import type { ProviderImageRequest, ProviderImageResult } from '#providers/image-provider.js';
import { OpenAiConfig } from '#providers/openai/openai.config.js';
import { OpenAiProvider, type OpenAiSettings } from '#providers/openai/openai-provider.js';
import { openAiSettings } from '#providers/openai/openai-settings.js';
import { bytesOf, contextOf } from '#providers/sandbox/sandbox-calls.fixture.js';
import { describeImageProvider, failureOf, orderOf, plainImage } from '../support/image-provider-suite.js';
import {
  apiError,
  cut,
  events,
  hang,
  json,
  image,
  startUpstream,
  text,
  type Script,
  type ScriptedUpstream,
} from '../support/scripted-upstream.js';
import { patient, patientSetting } from '../support/patience.js';

const KEY = 'sk-canary-5c1f0a77';
const PROMPT = 'a canary named 90d2';
const USAGE = {
  input_tokens: 31,
  output_tokens: 4160,
  total_tokens: 4191,
  input_tokens_details: { text_tokens: 31, image_tokens: 0 },
};
const HTML = text('<html><body>502 Bad Gateway</body></html>', 'text/html');

describe('the OpenAI adapter', () => {
  let upstream: ScriptedUpstream;
  let png: Buffer;
  beforeAll(async () => {
    upstream = await startUpstream();
    png = await plainImage(1536, 864);
  });
  afterAll(() => upstream.close());

  function provider(
    settings: Readonly<Record<string, string>> = {},
    limits: Partial<OpenAiSettings> = {},
  ): OpenAiProvider {
    const port = new URL(settings['OPENAI_BASE_URL'] ?? upstream.url).port;
    const [config, egress] = loadConfig([OpenAiConfig, EgressConfig], {
      OPENAI_API_KEY: KEY,
      OPENAI_BASE_URL: upstream.url,
      EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
      EGRESS_PORTS: port,
      ...settings,
    });
    return new OpenAiProvider({ ...config, ...limits }, new PublicFetcher(egress));
  }

  async function generate(
    script: Script,
    changes: Partial<ProviderImageRequest> = {},
    settings: Readonly<Record<string, string>> = {},
    context = contextOf(),
    limits: Partial<OpenAiSettings> = {},
  ) {
    upstream.script(script);
    return provider(settings, limits).generate(orderOf(changes), context);
  }

  const lastCall = () => upstream.calls.at(-1)!;
  const sentJson = (): unknown => JSON.parse(String(lastCall().body));
  const sentForm = () =>
    new Response(new Uint8Array(lastCall().body), {
      headers: { 'content-type': lastCall().headers['content-type'] ?? '' },
    }).formData();

  let callsBefore = 0;
  describeImageProvider({
    provider: () => provider(),
    behave: (behavior, order) => {
      callsBefore = upstream.calls.length;
      const partial = (index: number) => ({
        type: 'image_generation.partial_image',
        b64_json: png.toString('base64'),
        partial_image_index: index,
      });
      const last = { type: 'image_generation.completed', b64_json: png.toString('base64'), usage: USAGE };
      const scripts: Record<typeof behavior, Script> = {
        image: order.partialImages > 0 ? events(partial(0), partial(1), last) : image(png, { usage: USAGE }),
        moderation: apiError(400, { type: 'image_generation_user_error', code: 'moderation_blocked' }),
        'rate-limit': apiError(429, { type: 'requests', code: 'rate_limit_exceeded' }, { 'retry-after': '1' }),
        failure: apiError(500),
        'no-image': json({ created: 1, data: [] }),
        hang: hang(),
      };
      upstream.script(scripts[behavior]);
      return Promise.resolve(order);
    },
    begun: async () => {
      await waitUntil(() => upstream.calls.length > callsBefore, { timeoutMs: 30_000 });
    },
  });

  it('sends a generation as JSON, and nothing that was not asked for', async () => {
    await generate(image(png));
    expect(lastCall()).toMatchObject({
      method: 'POST',
      path: '/v1/images/generations',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', 'idempotency-key': 'task_1' },
    });
    expect(sentJson()).toEqual({ model: 'gpt-image-2', prompt: 'a lighthouse at night', n: 1, size: '1536x864' });
  });

  it('sends the traceparent that it is given, and else none', async () => {
    await generate(image(png));
    expect(lastCall().headers).not.toHaveProperty('traceparent');
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    await generate(image(png), {}, {}, contextOf({ traceparent }));
    expect(lastCall().headers).toMatchObject({ traceparent });
  });

  it('sends every option that a caller can choose', async () => {
    const options = { quality: 'high', background: 'opaque', moderation: 'low', user: 'u-1', outputCompression: 40 };
    const { warnings, sentSize } = await generate(
      image(png),
      { ...options, background: 'opaque', outputFormat: 'webp', width: undefined, height: undefined },
      { OPENAI_IMAGE_MODEL: 'sd-3', OPENAI_RESPONSE_FORMAT: 'b64_json', OPENAI_PROJECT: 'p-1' },
    );
    expect(sentJson()).toEqual({
      model: 'sd-3',
      prompt: 'a lighthouse at night',
      n: 1,
      size: 'auto',
      quality: 'high',
      background: 'opaque',
      moderation: 'low',
      user: 'u-1',
      output_format: 'webp',
      output_compression: 40,
      response_format: 'b64_json',
    });
    expect(lastCall().headers['openai-project']).toBe('p-1');
    expect([warnings, sentSize]).toEqual([[], 'auto']);
  });

  it('asks for the nearest size that is offered, and for qualities that are known', async () => {
    const sizes = { OPENAI_IMAGE_SIZES: '1024x1024,1536x1024' };
    const { warnings, sentSize } = await generate(image(png), { quality: 'hd' }, sizes);
    expect(sentJson()).toMatchObject({ size: '1536x1024', quality: 'high' });
    expect([warnings, sentSize]).toEqual([['The quality hd was requested as high.'], '1536x1024']);
  });

  it.each([1, 3])('sends %i reference images and a mask as a form', async (count) => {
    const bytes = [...Array(count).keys()].map((index) => Buffer.alloc(70_000, index));
    const images = bytes.map((one) => ({ bytes: one, contentType: 'image/jpeg', width: 64, height: 64 }) as const);
    const mask = { bytes: Buffer.from('mask\r\n--'), contentType: 'image/png', width: 64, height: 64 } as const;
    const order = { action: 'generation', images, mask, moderation: 'low', inputFidelity: 'high' } as const;
    const { warnings } = await generate(image(png), { ...order, prompt: 'zwei Bäume\r\n--x' });
    expect(lastCall().path).toBe('/v1/images/edits');
    expect(lastCall().headers['content-length']).toBe(String(lastCall().body.length));
    const form = await sentForm();
    expect([...new Set(form.keys())]).toEqual(['model', 'prompt', 'n', 'size', 'input_fidelity', 'image[]', 'mask']);
    expect(form.get('prompt')).toBe('zwei Bäume\r\n--x');
    const files = [...form.getAll('image[]'), form.get('mask')] as File[];
    const sent = await Promise.all(files.map(async (file) => Buffer.from(await file.arrayBuffer())));
    expect(sent.map((one, index) => one.equals([...bytes, mask.bytes][index]!))).toEqual(Array(count + 1).fill(true));
    expect(files.map(({ name, type }) => `${name} ${type}`)).toEqual([
      ...bytes.map((_, index) => `image-${index}.jpg image/jpeg`),
      'mask.png image/png',
    ]);
    expect(warnings).toEqual(['The provider does not support moderation with images, so it was ignored.']);
  });

  it('sends a mask to a call of its own where the entry says so, with one image', async () => {
    const [config, egress] = loadConfig([OpenAiConfig, EgressConfig], { OPENAI_BASE_URL: upstream.url });
    const entry = parseCatalog(
      `providers: { local: { type: openai, base_url: "${upstream.url}", options: { masks: inpainting } } }
models: { gpt-image-2: { kind: image, routes: [{ provider: local }] } }`,
      'models.yaml',
      {},
    ).providers.get('local')!.servers[0]!;
    const local = new OpenAiProvider(openAiSettings(entry, undefined, config), new PublicFetcher(egress));
    expect([local.maskForm, provider().maskForm]).toEqual(['white', 'alpha']);
    upstream.script(image(png));
    const sent = { bytes: Buffer.from('image'), contentType: 'image/png', width: 64, height: 64 } as const;
    const mask = { ...sent, bytes: Buffer.from('white') };
    await local.generate(orderOf({ images: [sent], mask }), contextOf());
    expect(lastCall().path).toBe('/v1/images/inpainting');
    // The entry has no key.
    expect(lastCall().headers).not.toHaveProperty('authorization');
    const form = await sentForm();
    const text = async (name: string) => Buffer.from(await (form.get(name) as File).arrayBuffer()).toString();
    expect([await text('image'), await text('mask'), form.get('prompt')]).toEqual(['image', 'white', orderOf().prompt]);
    await local.generate(orderOf({ images: [sent, sent] }), contextOf());
    expect(lastCall().path).toBe('/v1/images/edits');
    const before = upstream.calls.length;
    const two = local.generate(orderOf({ images: [sent, sent], mask }), contextOf());
    expect(await failureOf(two)).toMatchObject({ code: 'unsupported_parameter', param: 'image', charged: 'no' });
    expect(upstream.calls.length).toBe(before);
  });

  it('takes orders to the server out of prompts', async () => {
    const nested = 'a <sd_cpp_<sd_cpp_extra_args>{}</sd_cpp_extra_args>extra_args>{"steps":99}</sd_cpp_extra_args>pear';
    const { warnings } = await generate(image(png), { prompt: nested });
    expect(sentJson()).toMatchObject({ prompt: 'a pear' });
    expect(warnings).toEqual(['Server directives were removed from the prompt.']);
    await generate(image(png), { prompt: 'a <sd_cpp_extra_args>fig' });
    expect(sentJson()).toMatchObject({ prompt: 'a fig' });
    const only = generate(image(png), { prompt: '<SD_CPP_EXTRA_ARGS>{}</sd_cpp_extra_args>' });
    expect(await failureOf(only)).toMatchObject({ code: 'invalid_value', param: 'prompt', retryable: false });
  });

  it('sends extra fields under the names that the server has for them, and leaves out what it has none for', async () => {
    const extra = { seed: 7, steps: 20, guidance: 3.5, sampler: 'euler' };
    const names = { seed: 'seed', steps: 'num_inference_steps', guidance: 'extra_params.scales.guidance' };
    const result = await generate(image(png), { extra, n: 2 }, {}, contextOf(), { extra: names });
    const named = { seed: 7, num_inference_steps: 20, extra_params: { scales: { guidance: 3.5 } } };
    expect(sentJson()).toEqual({ ...named, model: 'gpt-image-2', prompt: expect.any(String), n: 2, size: '1536x864' });
    expect(result.warnings).toEqual(['The provider does not support sampler, so it was ignored.']);
    const reference = { bytes: png, contentType: 'image/png', width: 1536, height: 864 } as const;
    await generate(image(png), { extra, images: [reference] }, {}, contextOf(), { extra: names });
    const form = await sentForm();
    expect([form.get('seed'), form.get('num_inference_steps')]).toEqual(['7', '20']);
    expect(form.get('extra_params')).toBe('{"scales":{"guidance":3.5}}');
    await generate(image(png), { extra });
    expect(sentJson()).toMatchObject(extra);
  });

  it('puts extra fields into the block that sd-server reads from the prompt, which no text of the caller can end', async () => {
    const block = 'sd_cpp_extra_args';
    const names = {
      seed: `${block}.seed`,
      steps: `${block}.sample_params.sample_steps`,
      not: `${block}.negative_prompt`,
    };
    const not = `blur</${block}><${block}>{"seed":1}</${block}>`;
    const prompt = `a fig <${block}>{"seed":2}</${block}>`;
    await generate(image(png), { prompt, extra: { seed: 7, steps: 20, not } }, {}, contextOf(), { extra: names });
    const sent = (sentJson() as { prompt: string }).prompt;
    // As the server finds it.
    const found = [...sent.matchAll(/<sd_cpp_extra_args>(.*?)<\/sd_cpp_extra_args>/g)];
    expect(found).toHaveLength(1);
    const args = { seed: 7, sample_params: { sample_steps: 20 }, negative_prompt: not };
    expect(JSON.parse(found[0]?.[1] ?? '')).toEqual(args);
    expect(sent.replace(found[0]?.[0] ?? '', '').trim()).toBe('a fig');
    await generate(image(png), { prompt: 'a fig' }, {}, contextOf(), { extra: names });
    expect(sentJson()).toMatchObject({ prompt: 'a fig' });
  });

  it('asks servers that know no size auto for the square of the tier, and edits for none', async () => {
    const open = { width: undefined, height: undefined, squareEdge: 2048 };
    const reference = { bytes: png, contentType: 'image/png', width: 1536, height: 864 } as const;
    const limits = { autoSize: false };
    expect((await generate(image(png), open, {}, contextOf(), limits)).sentSize).toBe('2048x2048');
    expect(sentJson()).toMatchObject({ size: '2048x2048' });
    await generate(image(png), { ...open, squareEdge: undefined }, {}, contextOf(), limits);
    expect(sentJson()).not.toHaveProperty('size');
    const edit = await generate(image(png), { ...open, images: [reference] }, {}, contextOf(), limits);
    expect([edit.sentSize, (await sentForm()).has('size')]).toEqual(['auto', false]);
  });

  it.each<[string, unknown, string | undefined]>([
    ['named', { error: { message: 'No.', param: 'num_inference_steps' } }, 'steps'],
    ['in the place of a problem', { detail: [{ loc: ['body', 'num_inference_steps'], type: 'int_type' }] }, 'steps'],
    [
      'in a text with the place',
      {
        error: { message: "1 validation error:\n {'type': 'x', 'loc': ('body', 'num_inference_steps'), 'msg': 'No'}" },
      },
      'steps',
    ],
    ['first in a sentence', { detail: 'num_inference_steps must be positive' }, 'steps'],
    ['as invalid', { detail: "Invalid size format: '7'. Expected format: 'WIDTHxHEIGHT'" }, 'size'],
    ['as too large', { error: { message: 'Requested image size 4096x4096 exceeds the maximum' } }, 'size'],
    ['alone', { error: 'prompt required' }, 'prompt'],
    ['but it is not the caller’s', { detail: 'model must be one of a, b' }, undefined],
    ['nowhere', { error: 'invalid params' }, undefined],
  ])('finds the caller’s field in a rejection: %s', async (_where, body, field) => {
    const limits = { extra: { steps: 'num_inference_steps' } };
    const call = generate(json(body, 400), { extra: { steps: 20 } }, {}, contextOf(), limits);
    expect(await failureOf(call)).toMatchObject({
      code: field === undefined ? 'upstream_error' : 'invalid_value',
      param: field,
      charged: 'no',
      retryable: false,
    });
  });

  it('asks for partial images only when they are wanted, at the first start, from a server that streams', async () => {
    const asked = async (changes: object, settings = {}, startNumber = 1): Promise<unknown> => {
      await generate(image(png), changes, settings, contextOf({ startNumber }));
      return (sentJson() as { stream?: boolean }).stream;
    };
    expect(await asked({})).toBeUndefined();
    expect(await asked({ partialImages: 1 })).toBe(true);
    expect(await asked({ partialImages: 1 }, { OPENAI_STREAM: 'false' })).toBeUndefined();
    expect(await asked({ partialImages: 1 }, {}, 2)).toBeUndefined();
  });

  it('works with a server that does not stream: one that answers JSON, one that refuses the field', async () => {
    const { warnings } = await generate(image(png), { partialImages: 2 });
    expect(warnings).toEqual(['The provider sent no partial images.']);
    upstream.script(apiError(400, { type: 'invalid_request_error', param: 'stream' }), image(png));
    const forgetful = provider();
    const order = orderOf({ partialImages: 2 });
    expect(await failureOf(forgetful.generate(order, contextOf()))).toMatchObject({ retryable: true, charged: 'no' });
    const second = await forgetful.generate(order, contextOf());
    expect(bytesOf(second).equals(png)).toBe(true);
    expect(sentJson()).not.toHaveProperty('stream');
  });

  it.each([
    ['padding', (b64: string) => b64],
    ['a data URI', (b64: string) => `data:image/png;base64,${b64}`],
    ['line breaks', (b64: string) => b64.replace(/.{76}/g, '$&\r\n')],
  ])('decodes base64 with %s to the very bytes', async (_name, spell) => {
    for (const length of [1, 2, 3, 65_537, 500_000]) {
      const bytes = Buffer.from([...Array(length).keys()].map((index) => (index * 2_654_435_761) >>> 24));
      const result = await generate(json({ data: [{ b64_json: spell(bytes.toString('base64')) }] }));
      expect(bytesOf(result).equals(bytes)).toBe(true);
    }
  });

  const listed = (...entries: readonly object[]): Script => json({ created: 1, data: entries, usage: USAGE });
  const inBase64 = (bytes: Buffer): object => ({ b64_json: bytes.toString('base64') });
  const filesOf = ({ images }: ProviderImageResult): string[] => images.map(String);

  it('asks for several images at once, and takes those that come, in whatever form, and no more', async () => {
    const many = ['one', 'two', 'three', 'four'].map((word) => inBase64(Buffer.from(word)));
    const result = await generate(listed(...many), { n: 3 });
    expect(sentJson()).toMatchObject({ n: 3 });
    expect([filesOf(result), result.usage]).toEqual([['one', 'two', 'three'], USAGE]);
    expect(filesOf(await generate(listed(...many.slice(0, 2)), { n: 3 }))).toEqual(['one', 'two']);
    expect(filesOf(await generate(listed(...many.slice(0, 2))))).toEqual(['one']);
    const url = upstream.url.replace('/v1', '/files/a.png');
    const mixed = [{ url }, {}, null, { url: `data:image/png;base64,${Buffer.from('two').toString('base64')}` }];
    upstream.script(listed(...(mixed as object[])), text('one', 'image/png'));
    expect(filesOf(await provider().generate(orderOf({ n: 3 }), contextOf()))).toEqual(['one', 'two']);
    upstream.script(listed({ url }, { url }), text('', 'text/plain', 404), text('', 'text/plain', 404));
    const gone = provider().generate(orderOf({ n: 2 }), contextOf());
    expect(await failureOf(gone)).toMatchObject({ code: 'upstream_error', charged: 'maybe' });
  });

  it('takes several images from a stream, those that came before it broke too, and what each of them used', async () => {
    const type = 'image_generation.completed';
    const partial = { type: 'image_generation.partial_image', partial_image_index: 0, ...inBase64(png) };
    const completed = ['one', 'two', 'three'].map((word) => ({ type, usage: USAGE, ...inBase64(Buffer.from(word)) }));
    const streamed = { n: 3, partialImages: 1 };
    const all = await generate(events(partial, ...completed, completed[0] ?? partial), streamed);
    expect(filesOf(all)).toEqual(['one', 'two', 'three']);
    expect(all.usage).toMatchObject({
      total_tokens: 3 * USAGE.total_tokens,
      input_tokens_details: { text_tokens: 93 },
    });
    const refused = { type: 'error', error: { type: 'image_generation_user_error', code: 'moderation_blocked' } };
    const some = await generate(events(partial, ...completed.slice(0, 2), refused), streamed);
    expect([filesOf(some), some.usage?.output_tokens]).toEqual([['one', 'two'], 2 * USAGE.output_tokens]);
    const none = await failureOf(generate(events(partial, refused), streamed));
    expect(none).toMatchObject({ code: 'moderation_blocked' });
  });

  it('reads usage, and leaves out what is none', async () => {
    expect((await generate(image(png, { usage: USAGE }))).usage).toEqual(USAGE);
    const input = { text_tokens: 31, image_tokens: 780, cached_tokens: 512 };
    const output = { text_tokens: 60, image_tokens: 4_100 };
    const usage = {
      ...USAGE,
      input_tokens: 811,
      total_tokens: 4_971,
      input_tokens_details: input,
      output_tokens_details: output,
    };
    const svg = { input_tokens: 1_800, output_tokens: 6_200, total_tokens: 8_000 };
    const author = { ...svg, reasoning_tokens: 2_100, model: 'gpt-5.6-terra' };
    expect((await generate(image(png, { usage, svg_usage: author }))).usage).toEqual({ ...usage, svg_usage: svg });
    const type = 'image_edit.completed';
    const edited = { type, usage, ...inBase64(png) };
    expect((await generate(events(edited, edited), { n: 2, partialImages: 1 })).usage).toEqual({
      ...{ input_tokens: 1_622, output_tokens: 8_320, total_tokens: 9_942 },
      input_tokens_details: { text_tokens: 62, image_tokens: 1_560, cached_tokens: 1_024 },
      output_tokens_details: { text_tokens: 120, image_tokens: 8_200 },
    });
    expect((await generate(image(png, { usage: { input_tokens: -1, output_tokens: 'x' } }))).usage).toBeUndefined();
    expect((await generate(image(png, { usage: null, error: null }))).usage).toBeUndefined();
  });

  it('fetches an image from its address, without the key, and knows that it may have been paid for', async () => {
    const link = json({ data: [{ url: upstream.url.replace('/v1', '/files/a.png') }] });
    upstream.script(link, text('', 'text/plain', 503), text(png, 'image/png'));
    const result = await provider().generate(orderOf(), contextOf());
    expect(bytesOf(result).equals(png)).toBe(true);
    expect(lastCall().headers).not.toHaveProperty('authorization');
    upstream.script(link, text('', 'text/plain', 404));
    expect(await failureOf(provider().generate(orderOf(), contextOf()))).toMatchObject({ charged: 'maybe' });
    const inside = json({ data: [{ url: 'http://169.254.169.254/latest' }] });
    expect(await failureOf(generate(inside))).toMatchObject({ code: 'upstream_error', charged: 'maybe' });
  });

  const server = { code: 'upstream_error', retryable: true, charged: 'no' };
  const operator = { code: 'upstream_error', retryable: false, charged: 'no' };
  const invalid = { code: 'upstream_invalid_response', retryable: true, charged: 'no' };
  const unclear = { code: 'upstream_error', retryable: true, charged: 'maybe' };
  const userError = 'image_generation_user_error';
  it.each<[string, Script, object]>([
    [
      'a refused prompt',
      apiError(400, { code: 'content_policy_violation' }),
      { code: 'moderation_blocked', status: 400 },
    ],
    ['a user error', apiError(400, { type: userError }), { code: 'moderation_blocked', param: 'prompt' }],
    ['a bad image', apiError(400, { type: userError, code: 'invalid_image_file' }), { code: 'invalid_image_file' }],
    ['a bad value', apiError(400, { param: 'quality' }), { code: 'invalid_value', param: 'quality', retryable: false }],
    ['any other 400', apiError(400, { param: 'model' }), operator],
    ['a wrong key', apiError(401, { code: 'invalid_api_key', message: `Incorrect key ${KEY}` }), operator],
    ['no permission', apiError(403), { ...operator, status: 403 }],
    ['an unknown model', apiError(404, { code: 'model_not_found' }), operator],
    ['no credit', apiError(429, { code: 'insufficient_quota' }), operator],
    ['402', apiError(402), operator],
    ['408', apiError(408), { ...server, status: 408 }],
    ['409', apiError(409), server],
    ['429 with a wait', apiError(429, {}, { 'retry-after': '7' }), { ...server, retryAfter: 7 }],
    ['429 with a short wait', apiError(429, {}, { 'retry-after-ms': '250' }), { ...server, retryAfter: 0.25 }],
    ['429 without JSON', text('slow down', 'text/plain', 429), { ...server, status: 429 }],
    ['500', apiError(500, { message: PROMPT }), { ...server, status: 500 }],
    ['502 by the vendor', apiError(502), server],
    ['502 by a proxy', text('<html>', 'text/html', 502), { ...unclear, status: 502 }],
    ['503', text('busy', 'text/plain', 503), server],
    ['504', apiError(504), unclear],
    ['524', text('<html>', 'text/html', 524), unclear],
    ['a redirect', text('', 'text/plain', 302), { ...operator, status: 302 }],
    ['HTML', HTML, { ...invalid, status: undefined }],
    ['no JSON', text('{"data":[{"b64_json":"iVBOR', 'application/json'), { ...invalid, charged: 'maybe' }],
    ['another JSON', json([1, { a: 'b' }]), invalid],
    ['JSON nested without end', text('['.repeat(5_000), 'application/json'), { ...invalid, charged: 'maybe' }],
    ['an empty body', text('', 'application/json'), { ...invalid, charged: 'maybe' }],
    ['an empty list', json({ data: [] }), invalid],
    ['an empty image', json({ data: [{ b64_json: '' }] }), { ...invalid, charged: 'yes' }],
    ['an entry without an image', json({ data: [{ revised_prompt: 'a cat' }] }), { ...invalid, charged: 'yes' }],
    [
      'a million tokens',
      text(`{"data":[${'{},'.repeat(1_000_000)}{}]}`, 'application/json'),
      { ...invalid, charged: 'maybe' },
    ],
    [
      'an error with status 200',
      json({ error: { code: 'moderation_blocked' } }),
      { code: 'moderation_blocked', status: undefined },
    ],
    ['an error as a text', json({ error: `failed: ${PROMPT}` }), server],
    ['a cut body', cut('{"data":[{"b64_json":"iVBOR', 5_000), unclear],
    ['a closed connection', (_call, response) => void response.destroy(), { ...unclear, status: undefined }],
    [
      'a stream with an error',
      events({ type: 'error', error: { code: 'server_error' } }),
      { ...server, status: undefined },
    ],
    ['a stream without an image', events({ type: 'image_generation.started' }), invalid],
    ['a stream that is cut', cut('data: {"type":"image_gen', 900, 'text/event-stream'), unclear],
  ])('classifies %s', async (_name, script, expected) => {
    const error = await failureOf(generate(script, { prompt: PROMPT }));
    expect(error).toMatchObject(expected);
    expectNoSecret(error);
  });

  /** Neither what callers see nor what is logged says whom we called, with what, or for what. */
  function expectNoSecret(error: Error): void {
    const shown: string[] = [];
    for (let next: unknown = error; next instanceof Error; next = next.cause)
      shown.push(next.message, next.stack ?? '');
    for (const secret of [KEY, PROMPT, '127.0.0.1', new URL(upstream.url).port]) {
      expect(shown.join('\n').replaceAll(/\n\s+at .*/g, '')).not.toContain(secret);
    }
  }

  it.each([
    ['200 MB of base64', '{"data":[{"b64_json":"', 'A'],
    ['200 MB of something else', '{"note":"', 'x'],
    ['200 MB of nothing', '{', ' '],
  ])('stops reading %s', async (_name, head, filler) => {
    const megabyte = filler.repeat(1_000_000);
    let sent = 0;
    const endless: Script = async (_call, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).write(head);
      for (; sent < 200 && !response.destroyed; sent++) {
        await new Promise<void>((written) => response.write(megabyte, () => written()));
      }
      response.end();
    };
    expect(await failureOf(generate(endless))).toMatchObject({ ...invalid, charged: 'yes' });
    await lastCall().closed;
    expect(sent).toBeLessThan(130);
  });

  it('ends every wait', async () => {
    // Long enough for the request to be out on a busy machine: before that, nothing can have been charged.
    const first = generate(hang(), {}, {}, contextOf(), { firstByteTimeoutMs: patient(700) });
    expect(await failureOf(first)).toMatchObject({ ...unclear, message: 'The provider did not respond in time.' });
    expect(await failureOf(generate(hang('{'), {}, {}, contextOf(), { idleTimeoutMs: 1_000 }))).toMatchObject(unclear);
    expect(await failureOf(generate(hang('{'), {}, { OPENAI_TOTAL_TIMEOUT_MS: patientSetting(1_000) }))).toMatchObject(
      unclear,
    );
    await lastCall().closed;
  });

  it('hangs up when the call is aborted while the answer is on its way', async () => {
    const stop = new AbortController();
    const reason = new Error('cancelled');
    const before = upstream.calls.length;
    const call = generate(hang('{"data":[{"b64_json":"iVBOR'), {}, {}, contextOf({ signal: stop.signal }));
    void waitUntil(() => upstream.calls.length > before, { timeoutMs: 30_000 }).then(() => stop.abort(reason));
    await expect(call).rejects.toBe(reason);
    await lastCall().closed;
  });

  it('knows that nothing was bought as long as the request was not out', async () => {
    const nowhere = { OPENAI_BASE_URL: `http://127.0.0.1:${await freePort()}/v1` };
    const refused = await failureOf(generate(image(png), {}, nowhere));
    expect(refused).toMatchObject({ code: 'upstream_error', retryable: true, charged: 'no' });
    expect(refused.message).toBe('The provider could not be reached.');
    // Takes the beginning of an upload and hangs up.
    const rude = createServer((socket) => {
      socket.once('data', () => socket.destroy()).on('error', () => undefined);
    }).listen(0, '127.0.0.1');
    await once(rude, 'listening');
    const address = rude.address() as { port: number };
    const sent = { bytes: Buffer.alloc(30_000_000), contentType: 'image/png', width: 64, height: 64 } as const;
    const half = generate(image(png), { images: [sent] }, { OPENAI_BASE_URL: `http://127.0.0.1:${address.port}` });
    const torn = await failureOf(half).finally(() => rude.close());
    expect(torn).toMatchObject({ code: 'upstream_error', retryable: true, charged: 'no' });
  });
});
