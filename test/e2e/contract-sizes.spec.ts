import OpenAI from 'openai';
import sharp from 'sharp';
import { gradientImage } from '#images/sample-images.fixture.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { startApi, type TestProcess } from '../support/processes.js';

const GENERATIONS = '/v1/images/generations';
const EDITS = '/v1/images/edits';
/** The frozen table as it stands in the contract: size, then 1k, 2k, 4k. The sandbox has no auto mode of its own. */
const TABLE = `
  auto 1024x1024 2048x2048 2880x2880
  1:1  1024x1024 2048x2048 2880x2880
  3:2  1536x1024 2048x1360 3520x2336
  2:3  1024x1536 1360x2048 2336x3520
  4:3  1024x768  2048x1536 3312x2480
  3:4  768x1024  1536x2048 2480x3312
  5:4  1280x1024 2560x2048 3216x2576
  4:5  1024x1280 2048x2560 2576x3216
  16:9 1536x864  2048x1152 3840x2160
  9:16 864x1536  1152x2048 2160x3840
  2:1  2048x1024 2688x1344 3840x1920
  1:2  1024x2048 1344x2688 1920x3840
  21:9 2016x864  2688x1152 3840x1648
  9:21 864x2016  1152x2688 1648x3840`;
const ROWS = TABLE.trim()
  .split('\n')
  .map((line) => line.trim().split(/ +/));

describe('sizes', () => {
  let platform: Platform;
  beforeAll(async () => {
    platform = await startPlatform();
  });
  afterAll(() => platform.close());

  const generate = (changes: object, path = GENERATIONS, key = platform.key) =>
    platform.call(path, { body: { model: 'gpt-image-2', prompt: 'x', ...changes }, key });

  /** What the answer says and what its bytes are. */
  async function measured(response: Response): Promise<unknown> {
    const { size, data } = (await response.json()) as { size: string; data: { url: string }[] };
    const bytes = await (await fetch(data[0]?.url ?? '')).arrayBuffer();
    const { width, height, format } = await sharp(Buffer.from(bytes)).metadata();
    return [response.status, size, `${width}x${height}`, format];
  }

  it.each(ROWS)('%s is %s, %s and %s pixels, measured from the bytes', async (size = '', ...tiers) => {
    const answers = await Promise.all(
      // Both cases are spellings of one tier.
      ['1k', '2K', '4k'].map((resolution) => generate({ size, resolution, output_format: 'jpeg' })),
    );
    expect(await Promise.all(answers.map(measured))).toEqual(tiers.map((pixels) => [200, pixels, pixels, 'jpeg']));
  });

  it('are 1:1 at 2k when nothing is said', async () => {
    expect(await measured(await generate({ output_format: 'webp' }))).toEqual([200, '2048x2048', '2048x2048', 'webp']);
  });

  const taskOf = async (response: Response) => {
    const answer = await platform.call(`/v1/tasks/${response.headers.get('x-task-id')}`);
    return ((await answer.json()) as { data: { sizes: unknown; warnings: unknown } }).data;
  };
  const problem = async (response: Response) => {
    const { error } = (await response.json()) as { error: { code: string; param: string; message: string } };
    return { status: response.status, ...error };
  };

  it.each([
    ['1024x1024', '1024x1024'],
    ['1792x1024', '1792x1024'],
    ['512x512', '816x816'],
    ['64x192', '480x1408'],
    ['1000x1001', '1008x1008'],
    ['1920x1080', '1920x1088'],
    ['3840x2160', '3840x2160'],
    ['2881x2879', '2880x2864'],
  ])('in pixels: %s is exactly that, from an image of %s', async (size, drawn) => {
    const answer = await generate({ size, output_format: 'webp' });
    expect(await measured(answer.clone())).toEqual([200, size, size, 'webp']);
    const { sizes, warnings } = await taskOf(answer);
    expect(sizes).toEqual({ requested: size, sent: drawn, received: drawn });
    const fitted = [`The provider's image of ${drawn} pixels was fitted to ${size}.`];
    expect(warnings).toEqual(size === drawn ? undefined : fitted);
  });

  it('in pixels are the same in edits, JSON and form, which keep auto and the ratios', async () => {
    const bytes = await gradientImage(256, 192, 'png');
    const images = [{ image_url: `data:image/png;base64,${bytes.toString('base64')}` }];
    const edit = (changes: object) => platform.call(EDITS, { body: { prompt: 'x', images, ...changes } });
    const form = (size: string) => {
      const data = new FormData();
      for (const [name, value] of Object.entries({ prompt: 'x', size, resolution: '4k' })) data.append(name, value);
      data.append('image', new Blob([new Uint8Array(bytes)]), 'a.png');
      return platform.call(EDITS, { body: data });
    };
    expect(await measured(await edit({ size: '1000x500' }))).toEqual([200, '1000x500', '1000x500', 'png']);
    const formed = await form('500x300');
    expect(formed.headers.get('x-ignored-params')).toBe('resolution');
    expect(await measured(formed)).toEqual([200, '500x300', '500x300', 'png']);
    expect(await measured(await edit({}))).toEqual([200, '256x192', '256x192', 'png']);
    expect(await measured(await edit({ size: '16:9', resolution: '1k' }))).toEqual([
      ...[200, '1536x864', '1536x864', 'png'],
    ]);
    expect(await problem(await edit({ size: '63x64' }))).toMatchObject({ code: 'invalid_value', param: 'size' });
  });

  it('in pixels need no resolution: it is ignored, whatever it is, and named', async () => {
    const answer = await generate({ size: '128x128', resolution: '8k' });
    expect(answer.headers.get('x-ignored-params')).toBe('resolution');
    expect((await taskOf(answer)).warnings).toContain(
      'The field resolution has no effect with a size in pixels and was ignored.',
    );
    expect((await generate({ size: '1:1', resolution: '8k' })).status).toBe(400);
    const strict = await generate({ size: '1024x1024', resolution: '1k', strict: true });
    expect(await problem(strict)).toMatchObject({ status: 400, code: 'unsupported_parameter', param: 'resolution' });
  });

  it('in pixels are quoted as the tier of the table whose area is the nearest above', async () => {
    const tiers = { '64x64': '1k', '2048x1024': '1k', '2049x1024': '2k', '2561x2048': '4k', '3840x2160': '4k' };
    for (const [size, resolution] of Object.entries(tiers)) {
      const quote = await generate({ size }, `${GENERATIONS}?dry_run=true`);
      expect(quote.status).toBe(200);
      expect(await quote.json()).toMatchObject({ size, resolution });
    }
  });

  it('in pixels that the model cannot make itself are refused when the request is strict', async () => {
    for (const size of ['1000x1000', '512x512', '1024x1023']) {
      expect(await problem(await generate({ size, strict: true }))).toMatchObject({
        status: 400,
        code: 'invalid_value',
        param: 'size',
        message: expect.stringMatching(/multiples of 16, with at least 655360 pixels/),
      });
    }
    const exact = await generate({ size: '1024x1008', strict: true });
    expect(await measured(exact)).toEqual([200, '1024x1008', '1024x1008', 'png']);
  });

  it.each([
    ['63x64', '64 pixels'],
    ['3841x1300', '3840'],
    ['1000x333', '3:1'],
    ['3840x2161', '8294400'],
    ['01024x1024', ''],
    ['1024X1024', ''],
    ['1024x1024 ', ''],
    ['large', ''],
  ])('such as %s are refused, and both forms are named', async (size, rule) => {
    for (const path of [GENERATIONS, '/images/generations', `${GENERATIONS}/async`]) {
      const { message, ...rest } = await problem(await generate({ size }, path));
      expect(rest).toMatchObject({ status: 400, code: 'invalid_value', param: 'size' });
      expect(message).toContain(rule);
      expect(message).toContain('auto, 1:1, 3:2');
      expect(message).toContain('<width>x<height>');
    }
  });

  it('in pixels are for key and deployment to turn off, and the ratios are named then', async () => {
    const no = await platform.newKey({ allow_pixel_size: false });
    const yes = await platform.newKey({ allow_pixel_size: true });
    const without: TestProcess = await startApi({ ...platform.settings, ALLOW_PIXEL_SIZE: 'false' });
    const elsewhere = (key: string, size: string) =>
      fetch(`${without.url}${GENERATIONS}?dry_run=true`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'gpt-image-2', prompt: 'x', size }),
      });
    for (const size of ['1024x1024', '10x10', 'large']) {
      for (const refused of [await generate({ size }, GENERATIONS, no), await elsewhere(platform.key, size)]) {
        const { message, ...rest } = await problem(refused);
        expect(rest).toMatchObject({ status: 400, code: 'invalid_value', param: 'size' });
        expect(message).toMatch(
          /^size must be one of auto, 1:1, .*, 9:21; this API key does not accept sizes in pixels$/,
        );
      }
    }
    expect((await elsewhere(yes, '1024x1024')).status).toBe(200);
    expect((await elsewhere(platform.key, '16:9')).status).toBe(200);
    await without.stop();
  });

  it('in pixels work through the official SDK, and in a stream', async () => {
    const openai = new OpenAI({ apiKey: platform.key, baseURL: `${platform.url}/v1`, maxRetries: 0 });
    const order = { model: 'gpt-image-2', prompt: 'x', size: '512x512', n: 1 } as const;
    const { data } = await openai.images.generate({ ...order, response_format: 'b64_json' });
    const bytes = Buffer.from(data?.[0]?.b64_json ?? '', 'base64');
    expect(await sharp(bytes).metadata()).toMatchObject({ width: 512, height: 512 });
    const events = await (await generate({ ...order, stream: true })).text();
    expect(events).toContain('"size":"512x512"');
  });
});
