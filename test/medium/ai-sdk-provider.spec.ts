import type { ProviderEntry } from '#providers/provider-entry.js';
import { loadConfig } from '#config/load-config.js';
import { EgressConfig } from '#egress/egress.config.js';
import { PublicFetcher } from '#egress/fetch-public-url.js';
import { waitUntil } from '#embedded/wait-until.js';
import type { AiSdkProvider } from '#providers/ai-sdk/ai-sdk-provider.js';
import { aiSdkProvider } from '#providers/ai-sdk/from-entry.js';
import type { ProviderImageRequest } from '#providers/image-provider.js';
import { bytesOf, contextOf } from '#providers/sandbox/sandbox-calls.fixture.js';
import { LIBRARY_VENDORS, startLibraryVendor, type LibraryServer } from '../support/ai-sdk-vendors.js';
import { freePort } from '../support/free-port.js';
import { describeImageProvider, failureOf, orderOf, plainImage } from '../support/image-provider-suite.js';
import {
  cut,
  hang,
  json,
  startUpstream,
  text,
  type Script,
  type ScriptedUpstream,
} from '../support/scripted-upstream.js';

const KEY = 'canary-71d0aa94e2';
const PROMPT = 'a canary named 18c4';
const left = (name: string): string => `The provider does not support ${name}, so it was ignored.`;

describe.each(LIBRARY_VENDORS)('the adapter for %s', (type) => {
  let vendor: LibraryServer;
  let files: ScriptedUpstream;
  let png: Buffer;
  beforeAll(async () => {
    png = await plainImage(1536, 864);
    vendor = await startLibraryVendor(type, KEY, png);
    files = await startUpstream();
  });
  afterAll(() => Promise.all([vendor.close(), files.close()]));
  beforeEach(() => vendor.plan());

  function provider(
    options: Readonly<Record<string, unknown>> = {},
    { secret = KEY, baseUrl = vendor.url, allowed = '127.0.0.0/8' } = {},
  ): AiSdkProvider {
    const [egress] = loadConfig([EgressConfig], {
      EGRESS_ALLOW_CIDRS: allowed,
      EGRESS_PORTS: [vendor.url, files.url].map((url) => new URL(url).port).join(','),
    });
    const entry: ProviderEntry = {
      name: 'vendor',
      type,
      baseUrl,
      keys: [{ name: 'k', secret }],
      interrupted: 'fail',
      free: false,
      limits: { concurrency: undefined, startsPerMinute: undefined },
      options,
    };
    return aiSdkProvider(entry, { name: 'k', secret }, new PublicFetcher(egress));
  }

  const order = (changes: Partial<ProviderImageRequest> = {}): ProviderImageRequest =>
    orderOf({ prompt: PROMPT, model: vendor.shapes.model, ...changes });
  const ALL = type === 'fal' ? { takes: ['images', 'mask'] } : {};
  const generate = (changes: Partial<ProviderImageRequest> = {}, one = provider(ALL)) =>
    one.generate(order(changes), contextOf());
  const orders = () => vendor.calls.filter(({ method }) => method === 'POST');
  const sent = (): Record<string, unknown> => JSON.parse(String(orders().at(-1)?.body)) as Record<string, unknown>;
  const image = { bytes: Buffer.from('first'), contentType: 'image/jpeg', width: 64, height: 64 } as const;

  let callsBefore = 0;
  describeImageProvider({
    provider: () => provider(ALL),
    behave: (behavior, wanted) => {
      callsBefore = vendor.calls.length;
      const { moderated, refused, withoutImage: withoutImage } = vendor.shapes;
      const plans: Record<typeof behavior, Script | undefined> = {
        image: undefined,
        moderation: moderated(),
        'rate-limit': refused(429, 'resource_exhausted', { 'retry-after': '1' }),
        failure: refused(500, 'internal'),
        'no-image': withoutImage(),
        hang: hang(),
      };
      const script = plans[behavior];
      vendor.plan(script === undefined ? {} : { order: script });
      // Gemini has no masks, which it says before anything is sent.
      const mask = type === 'google' ? undefined : wanted.mask;
      return Promise.resolve({ ...wanted, mask, model: vendor.shapes.model });
    },
    begun: async () => {
      await waitUntil(() => vendor.calls.length > callsBefore, { timeoutMs: 30_000 });
    },
    lacks: type === 'fal' ? ['usage', 'partials'] : ['partials'],
    notes: type === 'google' ? ['The provider does not accept sizes in pixels, so 16:9 was requested.'] : [],
    fates: {
      moderation: ['moderation_blocked', false, type === 'fal' ? 'no' : 'maybe'],
    },
  });

  it('asks once, for exactly what was ordered, and tells what was left out', async () => {
    const before = vendor.calls.length;
    await generate();
    const { path, headers } = orders().at(-1)!;
    expect([path, headers[vendor.shapes.key.header]]).toEqual([vendor.shapes.path, vendor.shapes.key.value(KEY)]);
    expect(vendor.calls.length - before).toBe(type === 'fal' ? 2 : 1);
    const asFal = { prompt: PROMPT, image_size: { width: 1536, height: 864 }, num_images: 1, output_format: 'png' };
    const asGemini = {
      contents: [{ role: 'user', parts: [{ text: PROMPT }] }],
      generationConfig: { responseModalities: ['IMAGE'], imageConfig: { aspectRatio: '16:9' } },
    };
    expect(sent()).toEqual(type === 'fal' ? asFal : asGemini);
    const options = { quality: 'high', moderation: 'low', inputFidelity: 'high', background: 'transparent' } as const;
    const { warnings, sentSize } = await generate(options);
    expect(warnings.slice(0, 4)).toEqual(
      ['quality', 'moderation', 'input_fidelity', 'transparent background'].map(left),
    );
    expect(sentSize).toBe(type === 'fal' ? '1536x864' : '16:9');
  });

  it('lets the vendor choose the size where nobody has, in the tier that was ordered', async () => {
    const none = { width: undefined, height: undefined };
    const auto = await generate({ ...none, squareEdge: undefined });
    expect([auto.sentSize, auto.warnings]).toEqual(['auto', []]);
    const tier = await generate({ ...none, squareEdge: 2_048 });
    expect([tier.sentSize, tier.warnings]).toEqual([type === 'fal' ? '2048x2048' : '1:1', []]);
  });

  it('says of each failure what it means', async () => {
    const { refused, keptBack } = vendor.shapes;
    const cases: [Script, object][] = [
      [refused(400, 'invalid_argument'), { status: 400, code: 'upstream_error', retryable: false, charged: 'no' }],
      [refused(401, 'unauthenticated'), { code: 'upstream_error', keyRefused: true, charged: 'no' }],
      [refused(403, 'permission_denied'), { code: 'upstream_error', keyRefused: true, charged: 'no' }],
      [refused(404, 'not_found'), { code: 'upstream_error', retryable: false, charged: 'no' }],
      [refused(503, 'unavailable'), { status: 503, code: 'upstream_error', retryable: true, charged: 'no' }],
      [refused(504, 'deadline_exceeded'), { code: 'upstream_error', retryable: true, charged: 'maybe' }],
      [text('<html>', 'text/html', 502), { code: 'upstream_error', retryable: true, charged: 'maybe' }],
      [text('<html>', 'text/html'), { code: 'upstream_invalid_response', retryable: true, charged: 'maybe' }],
      [json([1, 2]), { status: undefined, code: 'upstream_invalid_response', retryable: true, charged: 'maybe' }],
      [cut('{"images":', 900), { code: 'upstream_error', retryable: true, charged: 'maybe' }],
      [(_call, response) => void response.destroy(), { code: 'upstream_error', retryable: true, charged: 'maybe' }],
      [keptBack({ url: vendor.imageUrl }), { code: 'moderation_blocked', retryable: false, charged: 'maybe' }],
    ];
    for (const [script, expected] of cases) {
      vendor.plan({ order: script });
      const before = orders().length;
      const error = await failureOf(generate());
      expect(error).toMatchObject(expected);
      expect(orders().length - before).toBe(1);
      expectNoSecret(error);
    }
  });

  it('ends a call that is never answered, or answered without end, and knows what it may have cost', async () => {
    vendor.plan({ order: hang() });
    // Long enough for the request to be out on a busy machine: before that, nothing can have been charged.
    const late = await failureOf(generate({}, provider({ first_byte_timeout_ms: 1_000 })));
    expect(late).toMatchObject({ charged: 'maybe', message: 'The provider did not respond in time.' });
    vendor.plan({ order: hang('{"images":[') });
    for (const limit of ['idle_timeout_ms', 'total_timeout_ms']) {
      expect(await failureOf(generate({}, provider({ [limit]: 3_000 })))).toMatchObject({ charged: 'maybe' });
    }
    vendor.plan({ order: text(`"${'x'.repeat(49_000_000)}"`, 'application/json') });
    expect(await failureOf(generate())).toMatchObject({ code: 'upstream_invalid_response' });
    const nowhere = provider({}, { baseUrl: `http://127.0.0.1:${await freePort()}/v1` });
    expect(await failureOf(generate({}, nowhere))).toMatchObject({ code: 'upstream_error', charged: 'no' });
  });

  if (type === 'fal') {
    it('fetches the image by the rules of egress, and takes the key nowhere', async () => {
      files.script(text(png, 'image/png'));
      vendor.plan({ order: vendor.shapes.finished({ url: `${files.url}/away.png`, base64: '' }) });
      expect(bytesOf(await generate()).equals(png)).toBe(true);
      expect(files.calls).toHaveLength(1);
      expect(JSON.stringify(files.calls[0]?.headers)).not.toContain(KEY);
      const before = files.calls.length;
      const fenced = provider(ALL, { allowed: '10.0.0.0/8' });
      expect(await failureOf(generate({}, fenced))).toMatchObject({ code: 'upstream_error', charged: 'maybe' });
      expect(files.calls.length).toBe(before);
      vendor.plan({
        order: vendor.shapes.finished({ url: `data:image/png;base64,${png.toString('base64')}`, base64: '' }),
      });
      expect(bytesOf(await generate()).equals(png)).toBe(true);
    });

    it('asks for several images at once, and takes those that can be fetched and were not kept back', async () => {
      const named = (...paths: string[]): object[] => paths.map((path) => ({ url: `${files.url}/${path}.png` }));
      const answered = (images: object[], nsfw: boolean[]): Script =>
        json({ images, has_nsfw_concepts: nsfw, prompt: '' });
      files.script(({ path }, response) => void response.writeHead(path.includes('gone') ? 404 : 200).end(path));
      vendor.plan({ order: answered(named('a', 'b', 'gone', 'c', 'd'), [false, true, false, false, false]) });
      const { images } = await generate({ n: 4 });
      expect(sent()).toMatchObject({ num_images: 4 });
      const paths = images.map(String);
      expect(paths.map((path) => path.at(-5))).toEqual(['a', 'c']);
      vendor.plan({ order: answered(named('a', 'b'), [true, true]) });
      expect(await failureOf(generate({ n: 2 }))).toMatchObject({ code: 'moderation_blocked', charged: 'maybe' });
      vendor.plan({ order: answered(named('gone', 'gone'), [false, false]) });
      expect(await failureOf(generate({ n: 2 }))).toMatchObject({ code: 'upstream_error', charged: 'maybe' });
    });

    it('sends images and mask as the model takes them, and refuses what it does not take', async () => {
      const data = `data:image/jpeg;base64,${image.bytes.toString('base64')}`;
      await generate({ images: [image, image], mask: { ...image, contentType: 'image/png' } });
      expect(sent()).toMatchObject({ image_urls: [data, data], mask_url: data.replace('jpeg', 'png') });
      expect(provider().maskForm).toBe('white');
      await generate({ images: [image] }, provider({ takes: ['image'] }));
      expect(sent()).toMatchObject({ image_url: data });
      const before = vendor.calls.length;
      const refused = (changes: Partial<ProviderImageRequest>, takes: string[]) =>
        failureOf(generate(changes, provider({ takes })));
      const unpaid = { code: 'unsupported_parameter', retryable: false, charged: 'no' };
      expect(await refused({ images: [image] }, [])).toMatchObject({ ...unpaid, param: 'image' });
      expect(await refused({ images: [image, image] }, ['image'])).toMatchObject({ ...unpaid, param: 'image' });
      expect(await refused({ images: [image], mask: image }, ['image'])).toMatchObject({ ...unpaid, param: 'mask' });
      expect(vendor.calls.length).toBe(before);
    });

    it('asks for pixels that models can draw, or for the sizes of the route', async () => {
      expect((await generate({ width: 1000, height: 1000 })).sentSize).toBe('1008x1008');
      expect((await generate({ sizes: ['512x512', '2048x1152'] })).sentSize).toBe('2048x1152');
      expect(sent()).toMatchObject({ image_size: { width: 2_048, height: 1_152 } });
    });
  } else {
    it('edits without a mask where the model can, and refuses the rest before anything is sent', async () => {
      await generate({ images: [image] });
      const inlineData = { mimeType: 'image/jpeg', data: image.bytes.toString('base64') };
      expect(sent()).toMatchObject({ contents: [{ parts: [{ text: PROMPT }, { inlineData }] }] });
      const before = vendor.calls.length;
      const unpaid = { code: 'unsupported_parameter', retryable: false, charged: 'no' };
      const imagen = { model: 'imagen-4.0-generate-001', images: [image] };
      expect(await failureOf(generate(imagen))).toMatchObject({ ...unpaid, param: 'image' });
      expect(await failureOf(generate({ images: [image], mask: image }))).toMatchObject({ ...unpaid, param: 'mask' });
      expect(vendor.calls.length).toBe(before);
    });

    it('asks for the nearest ratio, and for a tier where the model has some', async () => {
      const tiers = { model: 'gemini-3-pro-image-preview', width: 3_840, height: 2_160 };
      expect((await generate(tiers)).sentSize).toBe('16:9 4K');
      const imageConfig = { aspectRatio: '16:9', imageSize: '4K' };
      expect(sent()).toMatchObject({ generationConfig: { imageConfig } });
      expect((await generate({ width: 1_024, height: 1_536 })).sentSize).toBe('2:3');
    });

    it('V3: takes the finished image, not the drafts that the model draws while it thinks', async () => {
      const part = (bytes: Buffer, more: object = {}): object => ({
        inlineData: { mimeType: 'image/png', data: bytes.toString('base64') },
        ...more,
      });
      const answered = (parts: object[], finishReason = 'STOP'): Script =>
        json({ candidates: [{ content: { role: 'model', parts }, finishReason }] });
      const draft = part(Buffer.from('draft'), { thought: true });
      const thoughts = [{ text: 'Hmm.', thought: true }, draft, draft];
      for (const parts of [
        [...thoughts, { text: 'Here it is.' }, part(png)],
        [...thoughts, part(Buffer.from('first')), part(png), { text: 'Done.' }],
        [...thoughts, { inline_data: { mime_type: 'image/png', data: png.toString('base64') } }],
      ]) {
        vendor.plan({ order: answered(parts) });
        const result = await generate();
        expect([result.images.length, bytesOf(result).equals(png)]).toEqual([1, true]);
      }
      vendor.plan({ order: answered(thoughts, 'IMAGE_PROHIBITED_CONTENT') });
      expect(await failureOf(generate())).toMatchObject({ code: 'moderation_blocked', charged: 'maybe' });
      // Words instead of an image say nothing about the vendor.
      vendor.plan({ order: answered([{ text: 'I can’t draw that.' }]) });
      expect(await failureOf(generate())).toMatchObject({ isAboutRequest: true });
    });

    it('speaks to Imagen too', async () => {
      const imagen = { model: 'imagen-4.0-generate-001', width: 1_024, height: 1_536 };
      vendor.plan({ order: json({ predictions: [{ bytesBase64Encoded: png.toString('base64') }] }) });
      const result = await generate(imagen);
      const { sentSize, usage } = result;
      expect(bytesOf(result).equals(png)).toBe(true);
      expect([sentSize, usage]).toEqual(['3:4', undefined]);
      expect(orders().at(-1)?.path).toBe('/v1/models/imagen-4.0-generate-001:predict');
      expect(sent()).toEqual({ instances: [{ prompt: PROMPT }], parameters: { sampleCount: 1, aspectRatio: '3:4' } });
      const prediction = { bytesBase64Encoded: png.toString('base64') };
      vendor.plan({ order: json({ predictions: [prediction, { raiFilteredReason: 'No.' }, prediction] }) });
      expect((await generate({ ...imagen, n: 3 })).images).toHaveLength(2);
      expect(sent()).toMatchObject({ parameters: { sampleCount: 3 } });
      vendor.plan({ order: json({ predictions: [{ raiFilteredReason: 'No.' }] }) });
      expect(await failureOf(generate(imagen))).toMatchObject({ code: 'moderation_blocked', param: 'prompt' });
    });

    it('reads Google’s own words for a bad key, a wait and a bad image', async () => {
      const error = (code: number, message: string, detail: object): Script =>
        json({ error: { code, message, status: 'X', details: [detail] } }, code);
      vendor.plan({ order: error(400, 'No.', { reason: 'API_KEY_INVALID' }) });
      expect(await failureOf(generate())).toMatchObject({ keyRefused: true, retryable: false });
      vendor.plan({ order: error(429, 'No.', { retryDelay: '7s' }) });
      expect(await failureOf(generate())).toMatchObject({ keyRefused: true, retryable: true, retryAfter: 7 });
      vendor.plan({ order: error(400, 'Unable to process input image.', {}) });
      expect(await failureOf(generate())).toMatchObject({ code: 'invalid_image_file', charged: 'no' });
    });
  }

  it('names everything that is wrong with its options', () => {
    const wrong = () => provider({ takes: ['color'], timeout: 5, idle_timeout_ms: 1 });
    const takes = type === 'fal' ? /options\.takes\.0/ : /options\.takes is not known/;
    for (const problem of [takes, /options\.timeout is not known/, /options\.idle_timeout_ms/]) {
      expect(wrong).toThrow(problem);
    }
  });

  /** Neither what callers see nor what is logged says whom we called, with what, or for what. */
  function expectNoSecret(error: Error): void {
    const shown: string[] = [];
    for (let next: unknown = error; next instanceof Error; next = next.cause) shown.push(next.message);
    for (const secret of [KEY, PROMPT, '127.0.0.1', new URL(vendor.url).port])
      expect(shown.join('\n')).not.toContain(secret);
  }
});
