import sharp from 'sharp';
import { gradientImage } from '#images/sample-images.fixture.js';
import { startPlatform, type Platform } from '../support/platform.js';

const GENERATIONS = '/v1/images/generations';
const EDITS = '/v1/images/edits';
const REQUEST = { model: 'gpt-image-2', prompt: 'a fox', resolution: '1k', size: '4:3' };
/** Every optional field of the Images API and of ours. */
const OPTIONAL = [
  'n',
  'size',
  'resolution',
  'response_format',
  'quality',
  'background',
  'moderation',
  'output_format',
  'output_compression',
  'user',
  'stream',
  'partial_images',
  'strict',
];

interface Answer {
  created: number;
  data: { url?: string; b64_json?: string }[];
  size: string;
  output_format: string;
  background: string;
  quality: string;
  usage: Record<string, unknown>;
}

describe('fields', () => {
  let platform: Platform;
  let uri: string;
  let png: Buffer;
  beforeAll(async () => {
    png = await gradientImage(128, 96, 'png');
    uri = `data:image/png;base64,${png.toString('base64')}`;
    platform = await startPlatform();
  });
  afterAll(() => platform.close());

  const generate = (changes: object, path = GENERATIONS) => platform.call(path, { body: { ...REQUEST, ...changes } });
  const edit = (changes: object, path = EDITS) =>
    platform.call(path, { body: { prompt: 'x', images: [{ image_url: uri }], ...changes } });
  const problem = async (response: Response): Promise<string> => {
    const { error } = (await response.json()) as { error: { type: string; code: string; param: string | null } };
    return `${response.status} ${error.type} ${error.code} ${error.param ?? ''}`.trim();
  };
  const optionsOf = async (response: Response): Promise<Record<string, unknown>> => {
    const { rows } = await platform.pool.query<{ options: Record<string, unknown> }>(
      'SELECT options FROM tasks WHERE id = $1',
      [response.headers.get('x-task-id')],
    );
    return rows[0]?.options ?? {};
  };

  const bad = (code: string, param: string): string => `400 invalid_request_error ${code} ${param}`;
  it.each<[string, object, string]>([
    ['model missing', { model: undefined }, bad('missing_required_parameter', 'model')],
    ['model null', { model: null }, bad('missing_required_parameter', 'model')],
    ['another model', { model: 'gpt-image-1' }, bad('model_not_found', 'model')],
    ['a chat model', { model: 'gpt-5.5' }, bad('model_not_found', 'model')],
    ['prompt missing', { prompt: undefined }, bad('missing_required_parameter', 'prompt')],
    ['prompt null', { prompt: null }, bad('missing_required_parameter', 'prompt')],
    ['an empty prompt', { prompt: '' }, bad('invalid_value', 'prompt')],
    ['32,001 code points', { prompt: '\u{1F98A}'.repeat(32_001) }, bad('string_above_max_length', 'prompt')],
    ['n 0', { n: 0 }, bad('integer_below_min_value', 'n')],
    ['n 2', { n: 2 }, bad('integer_above_max_value', 'n')],
    ['n "1"', { n: '1' }, bad('invalid_type', 'n')],
    ['n 1.5', { n: 1.5 }, bad('invalid_type', 'n')],
    ['an unknown ratio', { size: '7:3' }, bad('invalid_value', 'size')],
    ['too few pixels', { size: '1024x32' }, bad('invalid_value', 'size')],
    ['an empty size', { size: '' }, bad('invalid_value', 'size')],
    ['8k', { resolution: '8k' }, bad('invalid_value', 'resolution')],
    ['image_urls as text', { image_urls: 'https://a.example/b.png' }, bad('invalid_type', 'image_urls')],
    ['17 images', { image_urls: Array(17).fill('https://a.example/b') }, bad('array_above_max_length', 'image_urls')],
    [
      'a bad fourth image',
      { image_urls: [...Array<string>(3).fill('https://a.example/b'), 'ftp://a.example/b'] },
      bad('invalid_image_url', 'image_urls[3]'),
    ],
    ['a bitmap', { image_urls: ['data:image/bmp;base64,Qk0='] }, bad('unsupported_image_media_type', 'image_urls[0]')],
    ['base64 in name only', { image_urls: ['data:image/png;base64,?'] }, bad('invalid_base64_image', 'image_urls[0]')],
    ['response_format json', { response_format: 'json' }, bad('invalid_value', 'response_format')],
    ['quality best', { quality: 'best' }, bad('invalid_value', 'quality')],
    ['a blue background', { background: 'blue' }, bad('invalid_value', 'background')],
    ['no moderation', { moderation: 'off' }, bad('invalid_value', 'moderation')],
    ['a gif wanted', { output_format: 'gif' }, bad('invalid_value', 'output_format')],
    ['compression 101', { output_compression: 101 }, bad('integer_above_max_value', 'output_compression')],
    ['compression -1', { output_compression: -1 }, bad('integer_below_min_value', 'output_compression')],
    ['partial_images 4', { partial_images: 4 }, bad('integer_above_max_value', 'partial_images')],
    ['user 7', { user: 7 }, bad('invalid_type', 'user')],
    ['a long name', { safety_identifier: 'a'.repeat(65) }, bad('string_above_max_length', 'safety_identifier')],
    ['complexity', { complexity: 'high' }, bad('unsupported_parameter', 'complexity')],
    ['complexity best', { complexity: 'best' }, bad('invalid_value', 'complexity')],
    ['frames of a png', { frame_count: 4 }, bad('unsupported_parameter', 'frame_count')],
    ['a duration of frames of a png', { frame_duration_ms: 90 }, bad('unsupported_parameter', 'frame_duration_ms')],
    ['one frame', { frame_count: 1 }, bad('integer_below_min_value', 'frame_count')],
    ['17 frames', { frame_count: 17 }, bad('integer_above_max_value', 'frame_count')],
    ['an svg wanted', { output_format: 'svg' }, bad('invalid_value', 'output_format')],
    ['svg', { svg: { model: 'gpt-5.5' } }, bad('unsupported_parameter', 'svg')],
    ['stream "true"', { stream: 'true' }, bad('invalid_type', 'stream')],
    ['strict "true"', { strict: 'true' }, bad('invalid_type', 'strict')],
    ['transparent jpeg', { background: 'transparent', output_format: 'jpeg' }, bad('invalid_value', 'background')],
  ])('of a generation: %s is refused, by every path alike', async (_name, changes, expected) => {
    for (const path of [GENERATIONS, '/images/generations', `${GENERATIONS}/async`]) {
      expect(await problem(await generate(changes, path))).toBe(expected);
    }
  });

  it.each<[string, object, string]>([
    ['prompt missing', { prompt: undefined }, bad('missing_required_parameter', 'prompt')],
    ['another model', { model: 'dall-e-2' }, bad('model_not_found', 'model')],
    ['images missing', { images: undefined }, bad('missing_required_parameter', 'images')],
    ['no images', { images: [] }, bad('array_below_min_length', 'images')],
    ['17 images', { images: Array(17).fill({ image_url: 'x' }) }, bad('array_above_max_length', 'images')],
    ['images as texts', { images: ['https://a.example/b.png'] }, bad('invalid_type', 'images[0]')],
    ['a file_id', { images: [{ file_id: 'file-1' }] }, bad('unsupported_parameter', 'images[0].file_id')],
    ['a mask as text', { mask: 'https://a.example/b.png' }, bad('invalid_type', 'mask')],
    ['a mask by file_id', { mask: { file_id: 'file-1' } }, bad('unsupported_parameter', 'mask.file_id')],
    ['input_fidelity 1', { input_fidelity: 1 }, bad('invalid_type', 'input_fidelity')],
    ['input_fidelity best', { input_fidelity: 'best' }, bad('invalid_value', 'input_fidelity')],
    ['quality hd', { quality: 'hd' }, bad('invalid_value', 'quality')],
    ['n 2', { n: 2 }, bad('integer_above_max_value', 'n')],
    ['a senseless size', { size: 'large' }, bad('invalid_value', 'size')],
  ])('of an edit: %s is refused', async (_name, changes, expected) => {
    for (const path of [EDITS, `${EDITS}/async`]) expect(await problem(await edit(changes, path))).toBe(expected);
  });

  it.each([
    ['1024x63', 'at least 64 pixels'],
    ['3856x1920', '3840'],
    ['3088x1024', '3:1'],
    ['3840x2176', '8294400'],
    ['1024', '<width>x<height>'],
    ['1024.0x1024', '<width>x<height>'],
  ])('size %s of an edit is refused, and the rule that it breaks is named', async (size, rule) => {
    const response = await edit({ size });
    expect(response.status).toBe(400);
    const { error } = (await response.json()) as { error: { code: string; param: string; message: string } };
    expect(error).toMatchObject({ code: 'invalid_value', param: 'size' });
    expect(error.message).toContain(rule);
  });

  it.each([
    ['1088x608', '1088x608'],
    ['16:9', '1536x864'],
    ['auto', '128x96'],
    [undefined, '128x96'],
  ])('size %s of an edit gives %s, measured from the bytes', async (size, expected) => {
    const response = await edit({ size, resolution: '1k', output_format: 'webp' });
    const answer = (await response.json()) as Answer;
    const bytes = Buffer.from(answer.data[0]?.b64_json ?? '', 'base64');
    const { width, height, format } = await sharp(bytes).metadata();
    expect([answer.size, `${width}x${height}`, format]).toEqual([expected, expected, 'webp']);
  });

  it('prompts keep their blanks and may have 32,000 code points', async () => {
    const prompt = ` ${'\u{1F98A}'.repeat(31_998)}\n`;
    const response = await generate({ prompt }, `${GENERATIONS}/async`);
    expect(response.status).toBe(202);
    const { rows } = await platform.pool.query<{ prompt: string }>('SELECT prompt FROM tasks WHERE id = $1', [
      response.headers.get('x-task-id'),
    ]);
    expect(rows[0]?.prompt).toBe(prompt);
  });

  it('that are null are absent, all of them and everywhere', async () => {
    const none = Object.fromEntries(OPTIONAL.map((name) => [name, null]));
    const nulls = { ...none, image_urls: null, callback_url: null };
    const absent = Object.fromEntries(OPTIONAL.map((name) => [name, undefined]));
    const answers = [
      await generate(absent, `${GENERATIONS}/async`),
      await generate(nulls, `${GENERATIONS}/async`),
      await generate({ ...absent, image_urls: [] }, `${GENERATIONS}/async`),
    ];
    const [expected, ...others] = await Promise.all(answers.map(optionsOf));
    expect(answers.map(({ status, headers }) => [status, headers.get('x-ignored-params')])).toEqual(
      answers.map(() => [202, null]),
    );
    for (const other of others) expect(other).toEqual(expected);
    const edits = [
      await edit({}, `${EDITS}/async`),
      await edit({ ...none, model: null, mask: null, input_fidelity: null, callback_url: null }, `${EDITS}/async`),
    ];
    const [bare, nulled] = await Promise.all(edits.map(optionsOf));
    expect(edits.map(({ status }) => status)).toEqual([202, 202]);
    expect(nulled).toEqual(bare);
  });

  it('of the Images API are taken and kept for the provider', async () => {
    const sent = {
      n: 1,
      quality: 'low',
      background: 'transparent',
      moderation: 'low',
      output_format: 'webp',
      output_compression: 40,
      user: 'someone',
      safety_identifier: 'a'.repeat(64),
      partial_images: 2,
      stream: false,
    };
    const response = await generate({ ...sent, response_format: 'url' });
    expect(response.headers.get('x-ignored-params')).toBeNull();
    const answer = (await response.json()) as Answer;
    expect(answer).toMatchObject({
      output_format: 'webp',
      background: 'transparent',
      quality: 'low',
      size: '1024x768',
    });
    const bytes = Buffer.from(await (await fetch(answer.data[0]?.url ?? '')).arrayBuffer());
    expect(await sharp(bytes).metadata()).toMatchObject({ format: 'webp', hasAlpha: true, width: 1024 });
    expect(await optionsOf(response)).toMatchObject({
      quality: 'low',
      background: 'transparent',
      moderation: 'low',
      outputFormat: 'webp',
      outputCompression: 40,
      user: 'someone',
      safetyIdentifier: 'a'.repeat(64),
    });
    const edited = await edit({ ...sent, input_fidelity: 'high' }, `${EDITS}/async`);
    expect(await optionsOf(edited)).toMatchObject({ inputFidelity: 'high', quality: 'low', outputCompression: 40 });
  });

  it('that nobody knows are absent when they are null, also in a strict request', async () => {
    const response = await generate({ style: null, seed: null, strict: true });
    expect(response.status).toBe(200);
    expect(response.headers.get('x-ignored-params')).toBeNull();
  });

  it('that have no effect on the format are named, and refused by a strict request', async () => {
    const lossless = { output_format: 'png', output_compression: 80 };
    const answer = await generate(lossless, `${GENERATIONS}/async`);
    expect([answer.status, answer.headers.get('x-ignored-params')]).toEqual([202, 'output_compression']);
    expect(await problem(await generate({ ...lossless, strict: true }))).toBe(
      bad('unsupported_parameter', 'output_compression'),
    );
    expect((await generate({ ...lossless, output_format: 'webp', strict: true })).status).toBe(200);
  });

  it('that would change the image are refused where they mean nothing, in every form, and absent when null', async () => {
    const refused = bad('unsupported_parameter', 'markup');
    const unread = bad('invalid_type', 'markup');
    const form = new FormData();
    form.append('image', new Blob([new Uint8Array(png)]), 'a.png');
    for (const [name, value] of Object.entries({ prompt: 'x', markup: 'red circle' })) form.append(name, value);
    expect(await problem(await generate({ markup: { shapes: [] } }))).toBe(refused);
    expect(await problem(await generate({ markup: false }, `${GENERATIONS}/async`))).toBe(refused);
    expect(await problem(await edit({ markup: 'x' }))).toBe(unread);
    expect(await problem(await platform.call(EDITS, { body: form }))).toBe(unread);
    expect((await generate({ markup: null })).status).toBe(200);
    const unquoted = bad('unsupported_parameter', 'dry_run');
    expect(await problem(await generate({ dry_run: true }))).toBe(unquoted);
    expect(await problem(await edit({ dry_run: false }))).toBe(unquoted);
    expect(await problem(await generate({ dryRun: true }))).toBe(bad('unsupported_parameter', 'dryRun'));
    expect(await problem(await generate({ Strict: true }))).toBe(bad('unsupported_parameter', 'Strict'));
  });

  it('unknown to us are ignored and named, however odd their names are', async () => {
    const odd = { seed: 7, 'né\r\nx: y': 1, style: 'vivid', callback_url: 'https://a.example/hook' };
    const response = await generate(odd);
    expect(response.status).toBe(200);
    expect(response.headers.get('x-ignored-params')).toBe('seed, n___x__y, style, callback_url');
    const many = await generate(Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`x${n}`, n])));
    expect(many.headers.get('x-ignored-params')).toMatch(/^x0, x1, .*, x31, \.\.\.$/);
  });

  it('tell whose image it is, as the provider was told', async () => {
    const of = async (fields: object): Promise<unknown> =>
      ((await (await generate(fields)).json()) as Record<string, unknown>)['safety_identifier'];
    expect(await of({ safety_identifier: 'a1', user: 'someone' })).toBe('a1');
    expect(await of({ safety_identifier: '', user: 'someone' })).toBe('someone');
    expect(await of({ user: '' })).toBeUndefined();
  });

  it('of the answer are those of the contract, in either form', async () => {
    const [linked, encoded, edited] = await Promise.all([
      generate({ response_format: 'url' }),
      generate({ response_format: 'b64_json' }),
      edit({ response_format: 'url' }),
    ]);
    const bodies = (await Promise.all([linked, encoded, edited].map((response) => response.json()))) as Answer[];
    for (const [index, body] of bodies.entries()) {
      expect(Object.keys(body).sort()).toEqual(
        ['background', 'created', 'data', 'output_format', 'quality', 'size', 'usage'].sort(),
      );
      expect(body.data.map(Object.keys)).toEqual([[index === 1 ? 'b64_json' : 'url']]);
      expect(Number.isInteger(body.created)).toBe(true);
      const { input_tokens: input, output_tokens: output, total_tokens: total } = body.usage as Record<string, number>;
      expect(total).toBe(Number(input) + Number(output));
      expect(body.usage).toHaveProperty('input_tokens_details.text_tokens');
      expect(body.usage).toHaveProperty('input_tokens_details.image_tokens');
    }
    expect(bodies[1]?.data[0]?.b64_json).toMatch(/^iVBORw0KGgo[A-Za-z0-9+/]+={0,2}$/);
  });

  it('of a form are coerced, and its answer is like that of a JSON edit', async () => {
    const form = (changes: Record<string, string>): FormData => {
      const data = new FormData();
      data.append('image', new Blob([new Uint8Array(png)]), 'a');
      for (const [name, value] of Object.entries({ prompt: 'x', ...changes })) data.append(name, value);
      return data;
    };
    const taken = { n: '1', output_compression: '7', partial_images: '0', stream: 'false', output_format: 'webp' };
    const answers = [await platform.call(EDITS, { body: form(taken) }), await edit({})];
    for (const answer of answers) {
      expect(answer.status).toBe(200);
      const both = { url: expect.any(String) as string, b64_json: expect.any(String) as string };
      expect(((await answer.json()) as Answer).data[0]).toEqual(both);
    }
    expect(await optionsOf(answers[0] as Response)).toMatchObject({ outputCompression: 7, outputFormat: 'webp' });
    for (const [changes, expected] of [
      [{ n: '1.5' }, bad('invalid_type', 'n')],
      [{ n: ' 1' }, bad('invalid_type', 'n')],
      [{ stream: 'yes' }, bad('invalid_type', 'stream')],
      [{ strict: 'yes' }, bad('invalid_type', 'strict')],
      [{ output_compression: '101' }, bad('integer_above_max_value', 'output_compression')],
    ] as const) {
      expect(await problem(await platform.call(EDITS, { body: form(changes) }))).toBe(expected);
    }
  });

  it('of an edit come as JSON or as a form, and in no other type', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'image/png', 'application/octet-stream']) {
      for (const path of [EDITS, `${EDITS}/async`, GENERATIONS]) {
        const response = await platform.call(path, { body: 'x', headers: { 'content-type': type } });
        expect([type, await problem(response)]).toEqual([type, '415 invalid_request_error unsupported_media_type']);
      }
    }
  });
});
