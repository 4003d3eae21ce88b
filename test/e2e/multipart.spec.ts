import { request as httpRequest } from 'node:http';
import { Readable } from 'node:stream';
import OpenAI, { toFile } from 'openai';
import { gradientImage } from '#images/sample-images.fixture.js';
import { createObjectStore } from '#storage/create-object-store.js';
import { StorageConfig } from '#storage/storage.config.js';
import { loadConfig } from '#config/load-config.js';
import { startPlatform, type Platform } from '../support/platform.js';

const EDITS = '/v1/images/edits';

interface EditAnswer {
  data: { url?: string; b64_json?: string }[];
  size: string;
}

describe('POST /v1/images/edits', () => {
  let platform: Platform;
  let openai: OpenAI;
  let png: Buffer;
  let webp: Buffer;

  beforeAll(async () => {
    [png, webp] = await Promise.all([gradientImage(256, 192, 'png'), gradientImage(256, 192, 'webp')]);
    platform = await startPlatform();
    openai = new OpenAI({ apiKey: platform.key, baseURL: `${platform.url}/v1`, maxRetries: 0 });
  });
  afterAll(() => platform.close());

  type Part = readonly [name: string, value: string | Buffer, fileName?: string];
  const send = (parts: readonly Part[]): Promise<Response> => {
    const form = new FormData();
    for (const [name, value, fileName = 'file'] of parts) {
      if (typeof value === 'string') form.append(name, value);
      else form.append(name, new Blob([new Uint8Array(value)]), fileName);
    }
    return platform.call(EDITS, { body: form });
  };
  const rest: readonly Part[] = [
    ['prompt', 'make it blue'],
    ['size', '1024x1024'],
    ['response_format', 'url'],
  ];
  const inputsOf = async (response: Response): Promise<{ bytes: number; param: string }[]> => {
    const { rows } = await platform.pool.query<{ inputs: { bytes: number; param: string }[] }>(
      'SELECT inputs FROM tasks WHERE id = $1',
      [response.headers.get('x-task-id')],
    );
    return rows[0]?.inputs ?? [];
  };

  it.each([
    [['image'], ['image']],
    [['image[]'], ['image']],
    [['images'], ['image']],
    [
      ['image', 'image'],
      ['image[0]', 'image[1]'],
    ],
    [Array<string>(16).fill('image[]'), Array.from({ length: 16 }, (_, index) => `image[${index}]`)],
    [
      ['images[]', 'images[]'],
      ['image[0]', 'image[1]'],
    ],
  ])('takes files named %p', async (names, params) => {
    const response = await send([...names.map((name) => [name, png] as const), ...rest]);
    expect(response.status).toBe(200);
    expect((await inputsOf(response)).map(({ param }) => param)).toEqual(params);
  });

  it('keeps the order of numbered files, wherever they stand', async () => {
    const response = await send([['image[1]', webp], ...rest, ['image[0]', png]]);
    expect(response.status).toBe(200);
    expect((await inputsOf(response)).map(({ bytes }) => bytes)).toEqual([png.length, webp.length]);
  });

  it('answers base64 beside the link unless told otherwise, which LibreChat and the Vercel SDK depend on', async () => {
    const response = await send([
      ['image[]', png],
      ['prompt', 'x'],
      ['size', '1024x1024'],
    ]);
    const { data } = (await response.json()) as EditAnswer;
    expect(data[0]?.b64_json?.length).toBeGreaterThan(1_000);
    expect(data[0]?.url).toContain('/i/task_');
  });

  it('works through the official SDK with one file, several, a mask and a stream', async () => {
    const mask = await toFile(await gradientImage(256, 192, 'png', 4), 'mask.png', { type: 'image/png' });
    const file = () => toFile(png, 'a.png', { type: 'image/png' });
    const common = { prompt: 'x', size: '1024x1024', model: 'gpt-image-2', n: 1 } as const;
    for (const image of [await file(), [await file(), await file()], await toFile(Readable.from(png), 'b.bin')]) {
      const answer = await openai.images.edit({ ...common, image });
      expect(answer.data?.[0]?.b64_json?.length).toBeGreaterThan(1_000);
    }
    const masked = await openai.images.edit({ ...common, image: await file(), mask, input_fidelity: 'high' });
    expect(masked.data?.[0]?.b64_json).toBeDefined();
  });

  it('takes JSON with data URIs and a mask', async () => {
    const uri = (bytes: Buffer): string => `data:image/png;base64,${bytes.toString('base64')}`;
    const response = await platform.call(EDITS, {
      body: {
        prompt: 'x',
        response_format: 'url',
        size: '1024x1024',
        images: [{ image_url: uri(png) }],
        mask: { image_url: uri(await gradientImage(256, 192, 'png', 4)) },
      },
    });
    expect(response.status).toBe(200);
    expect(((await response.json()) as EditAnswer).data[0]?.url).toContain('/i/task_');
  });

  it('reads numbers and booleans from text, ignores what it does not know and names it', async () => {
    const response = await send([
      ['image', png],
      ...rest,
      ['n', '1'],
      ['stream', 'false'],
      ['output_compression', '80'],
      ['quality', ''],
      ['seed', '7'],
    ]);
    expect(response.status).toBe(200);
    expect(response.headers.get('x-ignored-params')).toBe('seed, output_compression');
  });

  const file: Part = ['image', Buffer.from('not an image, whatever it is called'), 'a.png'];
  it.each<[string, readonly Part[], number, string, string | null]>([
    ['no image', rest, 400, 'missing_required_parameter', 'image'],
    ['no prompt', [['image', Buffer.alloc(0)]], 400, 'invalid_image_file', 'image'],
    ['no image by its bytes', [file, ...rest], 400, 'unsupported_image_media_type', 'image'],
    ['n as a word', [['n', 'one'], ...rest], 400, 'invalid_type', 'n'],
    ['n 2', [['n', '2'], ...rest], 400, 'integer_above_max_value', 'n'],
    ['a second prompt', [['prompt', 'another'], ...rest], 400, 'invalid_value', 'prompt'],
    ['an image as text', [['image', 'https://a.example/b.png'], ...rest], 400, 'invalid_type', 'image'],
    [
      'a file that would be left out',
      [...rest, ['notes', Buffer.from('hello'), 'notes.txt']],
      400,
      'unsupported_parameter',
      'notes',
    ],
    ['a size against the rules', [...rest, ['size', '1000x300']], 400, 'invalid_value', 'size'],
    ['a prompt too long', [['prompt', 'a'.repeat(32_001)]], 400, 'string_above_max_length', 'prompt'],
    ['a prompt much too long', [['prompt', 'a'.repeat(400_000)]], 400, 'string_above_max_length', 'prompt'],
  ])('refuses %s', async (_name, parts, status, code, param) => {
    const response = await send(parts);
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ error: { code, param } });
  });

  it('refuses a 17th image, a second mask, a mask over 4 MB and a file over 50 MB', async () => {
    const seventeen = await send([...Array<Part>(17).fill(['image[]', png]), ...rest]);
    expect(await seventeen.json()).toMatchObject({ error: { code: 'array_above_max_length', param: 'image' } });
    const masks = await send([['mask', png], ['mask', png], ['image', png], ...rest]);
    expect(await masks.json()).toMatchObject({ error: { code: 'invalid_value', param: 'mask' } });
    const large = Buffer.concat([png, Buffer.alloc(4_000_000)]);
    const mask = await send([['image', png], ['mask', large], ...rest]);
    expect(await mask.json()).toMatchObject({ error: { code: 'image_file_too_large', param: 'mask' } });
    const huge = await send([['image', Buffer.concat([png, Buffer.alloc(50_000_000)])], ...rest]);
    expect(huge.status).toBe(413);
    expect(await huge.json()).toMatchObject({ error: { code: 'request_too_large', param: 'image' } });
  });

  it('refuses a mask of another size', async () => {
    const mask = await gradientImage(128, 128, 'png', 4);
    const response = await send([['image', png], ['mask', mask], ...rest]);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code: 'invalid_mask' } });
  });

  const disposition = 'content-disposition: form-data; name="image"; filename="a.png"';
  it.each([
    ['no boundary', 'multipart/form-data', 'x'],
    ['no parts', 'multipart/form-data; boundary=b', 'x'],
    ['nothing', 'multipart/form-data; boundary=b', ''],
    ['a file cut short', 'multipart/form-data; boundary=b', `--b\r\n${disposition}\r\n\r\n\x89PNG`],
    ['headers cut short', 'multipart/form-data; boundary=b', `--b\r\n${disposition}`],
    ['a text cut short', 'multipart/form-data; boundary=b', '--b\r\ncontent-disposition: form-data; name="n"\r\n\r\n1'],
  ])('answers malformed multipart: %s', async (_name, type, body) => {
    const response = await platform.call(EDITS, { method: 'POST', body, headers: { 'content-type': type } });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code: 'invalid_multipart' } });
  });

  it('leaves nothing of uploads that were refused or given up', async () => {
    const store = await createObjectStore(loadConfig([StorageConfig], platform.settings)[0]);
    const before = new Set<string>();
    for await (const key of store.list('inputs/')) before.add(key);
    // What earlier tasks stored may go meanwhile.
    const added = async (): Promise<string[]> => {
      const keys: string[] = [];
      for await (const key of store.list('inputs/')) if (!before.has(key)) keys.push(key);
      return keys;
    };
    expect((await send([['image[]', png], ['image[]', png], file, ...rest])).status).toBe(400);
    expect(
      (
        await send([
          ['image[]', png],
          ['prompt', ''],
        ])
      ).status,
    ).toBe(400);
    expect(await added()).toEqual([]);

    // The first image is whole, the second is on its way when the caller hangs up.
    const call = httpRequest(platform.url + EDITS, {
      method: 'POST',
      headers: { authorization: `Bearer ${platform.key}`, 'content-type': 'multipart/form-data; boundary=b' },
    });
    call.on('error', () => undefined);
    call.write(Buffer.concat([Buffer.from(`--b\r\n${disposition}\r\n\r\n`), png, Buffer.from('\r\n')]));
    call.write(Buffer.concat([Buffer.from(`--b\r\n${disposition}\r\n\r\n`), png]));
    while ((await added()).length === 0);
    call.destroy();
    while ((await added()).length > 0);
  });
});
