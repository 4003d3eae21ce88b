import sharp from 'sharp';
import { plainImage } from '../support/image-provider-suite.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { image, startUpstream, type ScriptedUpstream } from '../support/scripted-upstream.js';

const GENERATIONS = '/v1/images/generations';
const EDITS = '/v1/images/edits';
const CHATS = '/v1/chat/completions';
/** Images that are told apart by their color, however they reach the provider. */
const COLORS = { red: '#ff0000', green: '#00ff00', blue: '#0000ff' } as const;
type Color = keyof typeof COLORS;

const solid = (color: Color, format: 'png' | 'jpeg' | 'webp' = 'png'): Promise<Buffer> =>
  sharp({ create: { width: 128, height: 96, channels: 3, background: COLORS[color] } })
    .toFormat(format)
    .toBuffer();
const [RED, GREEN, BLUE, RED_JPEG] = await Promise.all([
  solid('red'),
  solid('green'),
  solid('blue'),
  solid('red', 'jpeg'),
]);
const MASK = await sharp({ create: { width: 128, height: 96, channels: 4, background: '#00000000' } })
  .png()
  .toBuffer();
const base64 = (bytes: Buffer): string => bytes.toString('base64');
const uri = (bytes: Buffer, type = 'image/png'): string => `data:${type};base64,${base64(bytes)}`;
const RED_URI = uri(RED);
const GREEN_URI = uri(GREEN);
const RED64 = base64(RED);
/** More than is parsed of a body: a red image of 3 MB. */
const LARGE_RED = Buffer.concat([RED, Buffer.alloc(3_000_000)]);

/** What the provider was asked to do. */
interface Bought {
  readonly prompt: unknown;
  readonly images: readonly string[];
  readonly mask: boolean;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** What must happen to a request: an order, or a refusal that names its place. */
type Outcome = Partial<Bought> | { readonly param: string; readonly code?: string };

describe('what callers send', () => {
  let upstream: ScriptedUpstream;
  let platform: Platform;
  beforeAll(async () => {
    upstream = await startUpstream();
    upstream.script(image(await plainImage(1024, 1024)));
    platform = await startPlatform({ OPENAI_API_KEY: 'sk-shapes', OPENAI_BASE_URL: upstream.url });
  });
  afterAll(async () => {
    await platform.close();
    await upstream.close();
  });

  async function colorOf(file: Blob): Promise<string> {
    const { data } = await sharp(Buffer.from(await file.arrayBuffer()))
      .raw()
      .toBuffer({ resolveWithObject: true });
    const [red = 0, green = 0, blue = 0] = data;
    const found = Object.entries({ red, green, blue }).filter(([, value]) => value > 127);
    return found.map(([name]) => name).join('+');
  }

  async function bought(from: number): Promise<Bought | undefined> {
    const call = upstream.calls[from];
    if (call === undefined) return undefined;
    if (/json/.test(call.headers['content-type'] ?? '')) {
      const fields = JSON.parse(String(call.body)) as Record<string, unknown>;
      return { prompt: fields['prompt'], images: [], mask: false, fields };
    }
    const headers = { 'content-type': call.headers['content-type'] ?? '' };
    const form = await new Response(new Uint8Array(call.body), { headers }).formData();
    const files = [...form].flatMap(([name, value]) =>
      name.startsWith('image') && typeof value !== 'string' ? [value] : [],
    );
    const fields = Object.fromEntries([...form].filter(([, value]) => typeof value === 'string'));
    return {
      prompt: fields['prompt'],
      images: await Promise.all(files.map(colorOf)),
      mask: form.get('mask') !== null,
      fields,
    };
  }

  /** Sends a request, and holds what reached the provider, or the refusal, against the expected outcome. */
  async function expectOutcome(send: () => Promise<Response>, expected: Outcome): Promise<Response> {
    const before = upstream.calls.length;
    const response = await send();
    const text = await response.clone().text();
    const order = await bought(before);
    if ('param' in expected) {
      const { error } = JSON.parse(text) as { error?: { param: string; code: string } };
      expect([response.status, error?.param, order]).toEqual([400, expected.param, undefined]);
      if (expected.code !== undefined) expect(error?.code).toBe(expected.code);
    } else {
      expect([response.status, response.status === 200 ? '' : text]).toEqual([200, '']);
      expect(order).toMatchObject(expected);
    }
    return response;
  }

  let count = 0;
  const order = (): Record<string, unknown> => ({ model: 'gpt-image-2', prompt: `order ${++count}`, resolution: '1k' });
  const chat = (messages: unknown, fields: object = {}): Promise<Response> =>
    platform.call(CHATS, { body: { model: 'gpt-image-2', messages, user: `chat ${++count}`, ...fields } });
  const said = (...parts: unknown[]): unknown[] => [
    { role: 'user', content: [{ type: 'text', text: 'a hat' }, ...parts] },
  ];

  describe('as a part of a chat', () => {
    it.each<[string, object]>([
      ['OpenAI, chat completions', { type: 'image_url', image_url: { url: RED_URI, detail: 'high' } }],
      ['OpenAI-like servers, a plain URL', { type: 'image_url', image_url: RED_URI }],
      ['OpenAI, responses', { type: 'input_image', image_url: RED_URI, detail: 'auto' }],
      ['OpenAI, a file', { type: 'file', file: { filename: 'a.png', file_data: RED_URI } }],
      ['OpenAI, an input file', { type: 'input_file', filename: 'a.png', file_data: RED_URI }],
      ['Anthropic', { type: 'image', source: { type: 'base64', media_type: 'image/png', data: RED64 } }],
      ['Anthropic, a URL', { type: 'image', source: { type: 'url', url: RED_URI } }],
      ['LangChain, base64', { type: 'image', source_type: 'base64', mime_type: 'image/png', data: RED64 }],
      ['LangChain, a URL', { type: 'image', source_type: 'url', url: RED_URI }],
      ['LangChain 1, base64', { type: 'image', base64: RED64, mime_type: 'image/png' }],
      ['LangChain 1, mimeType', { type: 'image', data: RED64, mimeType: 'image/png' }],
      ['MCP', { type: 'image', data: RED64, mimeType: 'image/png', annotations: { audience: ['user'] } }],
      ['MCP, a resource', { type: 'resource', resource: { uri: 'file:///a.png', mimeType: 'image/png', blob: RED64 } }],
      ['Gemini, REST', { inlineData: { mimeType: 'image/png', data: RED64 } }],
      ['Gemini, Python', { inline_data: { mime_type: 'image/png', data: RED64 } }],
      ['Gemini, a file', { fileData: { mimeType: 'image/png', fileUri: RED_URI } }],
      ['AI SDK, an image', { type: 'image', image: RED64, mediaType: 'image/png' }],
      ['AI SDK, an image as a data URI', { type: 'image', image: RED_URI }],
      ['AI SDK, a file', { type: 'file', mediaType: 'image/png', data: RED64 }],
      ['AI SDK, a file of a page', { type: 'file', mediaType: 'image/png', url: RED_URI }],
      ['Bedrock', { image: { format: 'png', source: { bytes: RED64 } } }],
      ['an image of an answer', { type: 'image', b64_json: RED64 }],
      ['a data URI of any type', { type: 'image_url', image_url: { url: uri(RED, 'application/octet-stream') } }],
      ['image/jpg', { type: 'image_url', image_url: { url: uri(RED_JPEG, 'image/jpg') } }],
      [
        '3 MB of base64',
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: base64(LARGE_RED) } },
      ],
    ])('an image is read: %s', async (_client, part) => {
      await expectOutcome(() => chat(said(part)), { prompt: 'a hat', images: ['red'] });
    });

    it.each<[string, object, string?]>([
      ['a file by its ID', { type: 'image', source: { type: 'file', file_id: 'file-1' } }, '.source.file_id'],
      ['an OpenAI file by its ID', { type: 'file', file: { file_id: 'file-1' } }, '.file.file_id'],
      ['audio', { type: 'input_audio', input_audio: { data: RED64, format: 'wav' } }],
      ['a video', { type: 'video_url', video_url: { url: RED_URI } }],
      ['a document', { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } }],
      ['a PDF', { type: 'file', mediaType: 'application/pdf', data: 'JVBERi0=' }],
      ['a tool result', { type: 'tool_result', tool_use_id: 'x', content: 'y' }],
      ['an image without its bytes', { type: 'image', alt: 'a hat' }],
      ['bytes as numbers', { type: 'image', image: { type: 'Buffer', data: [137, 80] } }, '.image'],
      ['an image beside a text', { type: 'text', text: 'x', image_url: { url: RED_URI } }],
      ['a part without a type', { something: 'else' }],
      ['no object', 7 as unknown as object],
    ])('what cannot be used is refused by name: %s', async (_what, part, at = '') => {
      await expectOutcome(() => chat(said(part)), { param: `messages[0].content[1]${at}` });
    });

    it.each<[string, object]>([
      ['Ollama', { content: 'a hat', images: [RED64] }],
      ['AI SDK 4', { content: 'a hat', experimental_attachments: [{ contentType: 'image/png', url: RED_URI }] }],
      [
        'AI SDK, a message of a page',
        {
          parts: [
            { type: 'text', text: 'a hat' },
            { type: 'file', mediaType: 'image/png', url: RED_URI },
          ],
        },
      ],
      ['Gemini', { parts: [{ text: 'a hat' }, { inlineData: { mimeType: 'image/png', data: RED64 } }] }],
      ['Markdown', { content: `a hat![photo](${RED_URI})` }],
      ['Markdown of 3 MB', { content: `a hat![photo](${uri(LARGE_RED)} "my photo")` }],
      ['one part', { content: [`a hat`, { type: 'image_url', image_url: RED_URI }] }],
    ])('an image beside the text is read: %s', async (_client, message) => {
      await expectOutcome(() => chat([{ role: 'user', ...message }]), { prompt: 'a hat', images: ['red'] });
    });

    it('an image in a text, in no form that is known, is refused by name', async () => {
      await expectOutcome(() => chat([{ role: 'user', content: `a hat <img src="${RED_URI}">` }]), {
        param: 'messages[0].content',
      });
      const attachments = [{ type: 'image', note: { url: RED_URI } }];
      await expectOutcome(() => chat([{ role: 'user', content: 'a hat', attachments }]), {
        param: 'messages[0].attachments[0]',
      });
    });
  });

  describe('earlier in a chat', () => {
    const photo = { type: 'image_url', image_url: { url: RED_URI } };
    const answer = (content: string): object => ({ role: 'assistant', content });

    it('the latest image is edited when the last message has none', async () => {
      await expectOutcome(
        () =>
          chat([
            { role: 'user', content: [{ type: 'text', text: 'a cap' }, photo] },
            answer('Done.'),
            { role: 'user', content: 'make it blue' },
          ]),
        { prompt: 'make it blue', images: ['red'] },
      );
    });

    it('an image that was generated is newer than the one that it was made from, and its link works', async () => {
      const generated = await expectOutcome(() => chat([{ role: 'user', content: 'a plain image' }]), { images: [] });
      const { message } = (
        (await generated.json()) as { choices: { message: { content: string; images: object[] } }[] }
      ).choices[0]!;
      const messages = [
        { role: 'user', content: [{ type: 'text', text: 'a cap' }, photo] },
        { role: 'assistant', ...message },
        { role: 'user', content: 'make it blue' },
      ];
      const before = upstream.calls.length;
      expect((await chat(messages)).status).toBe(200);
      const order = await bought(before);
      expect(order).toMatchObject({ prompt: 'make it blue' });
      // Once, though the answer links it twice; and not the photo.
      expect(order?.images).toHaveLength(1);
      expect(order?.images).not.toEqual(['red']);
      const expired = message.content.replace(/exp=\d+/, 'exp=1700000000');
      const late = await chat([answer(expired), { role: 'user', content: 'make it blue' }]);
      expect([late.status, await late.json()]).toMatchObject([400, { error: { code: 'failed_to_download_image' } }]);
    });

    it('base64 of 4 MB is read, and a longer history than is parsed stops nothing', async () => {
      await expectOutcome(
        () =>
          chat([
            answer(`![image](${uri(Buffer.concat([RED, Buffer.alloc(3_000_000)]))})`),
            { role: 'user', content: 'a hat' },
          ]),
        { prompt: 'a hat', images: ['red'] },
      );
      const long = Array.from({ length: 3_000 }, (_, at) => answer(`${at} ${'words '.repeat(500)}`));
      await expectOutcome(() => chat([...long, ...said({ type: 'image', data: RED64 })]), { images: ['red'] });
      await expectOutcome(() => chat([...long, { role: 'user', content: 'a hat' }]), { prompt: 'a hat', images: [] });
    });
  });

  describe('as an option of a chat', () => {
    it('what is unknown is listed, and refused by strict; options of texts are neither', async () => {
      const answer = await chat(said(), { seed: 7, temperature: 1, max_tokens: 5, tools: [], negative_prompt: 'rain' });
      expect([answer.status, answer.headers.get('x-ignored-params')]).toEqual([200, 'seed, negative_prompt']);
      await expectOutcome(() => chat(said(), { strict: true, seed: 7 }), { param: 'seed' });
      await expectOutcome(() => chat(said(), { strict: true, size: '1000x1000' }), {
        param: 'size',
        code: 'invalid_value',
      });
      expect((await chat(said(), { strict: true, temperature: 1, size: '1024x1024' })).status).toBe(200);
    });

    it('is refused by the name that the chat has for it', async () => {
      const param = 'image_config.image_size';
      await expectOutcome(() => chat(said(), { image_config: { image_size: '9K' } }), { param });
      await expectOutcome(() => chat(said(), { num_images: 2 }), { param: 'num_images' });
    });

    it('an image or a prompt beside the messages is read, or refused by name', async () => {
      await expectOutcome(() => chat(said(), { image: RED_URI }), { images: ['red'] });
      await expectOutcome(() => chat(said({ type: 'image', data: RED64 }), { image: GREEN_URI }), { param: 'image' });
      await expectOutcome(() => chat(said(), { mask: { image_url: RED_URI } }), { param: 'mask' });
      await expectOutcome(() => chat(said(), { prompt: 'a cap' }), { param: 'prompt' });
      await expectOutcome(() => chat(said(), { extra: { deep: [{ file: RED_URI }] } }), { param: 'extra' });
    });
  });

  describe('as an upload', () => {
    it('is refused in a chat with a text model, whose provider would get a 404, but not in a text', async () => {
      const form = new FormData();
      form.append('file', new Blob([new Uint8Array(RED)]), 'a.png');
      const { url } = (await (await platform.call('/v1/uploads/images', { body: form })).json()) as { url: string };
      await expectOutcome(() => chat(said({ type: 'image_url', image_url: { url } })), { images: ['red'] });
      const say = (part: object, escaped = false): Promise<Response> => {
        const body = JSON.stringify({
          model: 'gpt-5.5',
          messages: ['system', 'user'].map((role) => ({ role, content: [part] })),
        });
        const headers = { 'content-type': 'application/json' };
        return platform.call(CHATS, { method: 'POST', body: escaped ? body.replaceAll('/', '\\/') : body, headers });
      };
      for (const part of [
        { type: 'image_url', image_url: { url } },
        { type: 'input_image', image_url: url },
      ]) {
        for (const escaped of [false, true]) {
          const before = upstream.calls.length;
          const response = await say(part, escaped);
          const { error } = (await response.json()) as { error: { code: string; param: string } };
          expect([response.status, error]).toMatchObject([400, { code: 'invalid_image_url', param: 'messages[0]' }]);
          expect(upstream.calls).toHaveLength(before);
        }
      }
      const before = upstream.calls.length;
      await say({ type: 'text', text: url });
      expect(upstream.calls.length).toBeGreaterThan(before);
    });
  });

  describe('in JSON', () => {
    const generate = (fields: object): Promise<Response> =>
      platform.call(GENERATIONS, { body: { ...order(), ...fields } });
    const edit = (fields: object): Promise<Response> => platform.call(EDITS, { body: { ...order(), ...fields } });

    it.each<[string, object, Outcome]>([
      ['image', { image: RED_URI }, { images: ['red'] }],
      ['image in base64', { image: RED64 }, { images: ['red'] }],
      ['a list of images', { image: [RED_URI, GREEN_URI] }, { images: ['red', 'green'] }],
      ['images as in an edit', { images: [{ image_url: RED_URI }] }, { images: ['red'] }],
      ['images of an answer', { images: [{ b64_json: RED64 }] }, { images: ['red'] }],
      ['reference_images', { reference_images: [{ url: RED_URI }] }, { images: ['red'] }],
      ['inputImages', { inputImages: [RED_URI] }, { images: ['red'] }],
      ['imageUrls', { imageUrls: [RED_URI] }, { images: ['red'] }],
      ['nothing', { image: null, images: [], mask: '', reference_images: false }, { images: [] }],
      ['two fields', { image_urls: [RED_URI], image: GREEN_URI }, { param: 'image' }],
      ['a mask', { image: RED_URI, mask: uri(MASK) }, { param: 'mask' }],
      ['init_image', { init_image: 'https://a.example/b.png' }, { param: 'init_image' }],
      ['a control image', { control: { image_url: 'https://a.example/b' } }, { param: 'control' }],
      ['a URL of an image', { start: 'https://a.example/b.webp?x=1' }, { param: 'start' }],
      ['base64 in an unknown field', { extra_body: { x: [RED64] } }, { param: 'extra_body' }],
      ['an ID', { image: { file_id: 'file-1' } }, { param: 'image.file_id' }],
      ['a LoRA', { loras: [{ path: 'a/b' }] }, { param: 'loras' }],
      ['what is no image', { image: 'a cat' }, { param: 'image' }],
      ['a list with what is no image', { images: ['a cat'] }, { param: 'images[0]' }],
      ['a list with a number', { images: [7] }, { param: 'images[0]' }],
      ['too many images', { reference_images: Array(17).fill(RED_URI) }, { param: 'reference_images' }],
    ])('a generation with %s', async (_what, fields, outcome) => {
      await expectOutcome(() => generate(fields), outcome);
    });

    it.each<[string, object, Outcome]>([
      ['image', { image: RED_URI }, { images: ['red'] }],
      ['image_urls', { image_urls: [RED_URI, GREEN_URI] }, { images: ['red', 'green'] }],
      ['a mask as a URL', { image: RED_URI, mask_url: uri(MASK) }, { images: ['red'], mask: true }],
      ['Mask', { images: [{ image_url: RED_URI }], Mask: { image_url: uri(MASK) } }, { images: ['red'], mask: true }],
      ['two masks', { image: RED_URI, mask: { image_url: uri(MASK) }, mask_url: uri(MASK) }, { param: 'mask_url' }],
      ['two fields', { images: [{ image_url: RED_URI }], image: GREEN_URI }, { param: 'image' }],
      ['a list with a number', { images: [{ image_url: RED_URI }, 7] }, { param: 'images[1]' }],
      ['what is no image', { image_urls: [RED_URI, 'a cat'] }, { param: 'image_urls[1]' }],
      ['a mask of the wrong size', { image: RED_URI, mask_url: RED_URI }, { param: 'mask_url', code: 'invalid_mask' }],
    ])('an edit with %s', async (_what, fields, outcome) => {
      await expectOutcome(() => edit(fields), outcome);
    });

    it.each<[string, string, string]>([
      ['image/jpg', `data:image/jpg;base64,${base64(RED_JPEG)}`, 'red'],
      ['a space', `data:image/png; base64, ${RED64}`, 'red'],
      ['upper case', `DATA:IMAGE/PNG;BASE64,${RED64}`, 'red'],
      ['no padding', `data:image/png;base64,${RED64.replace(/=+$/, '')}`, 'red'],
      ['percent-encoding', `data:image/png;base64,${encodeURIComponent(RED64)}`, 'red'],
      ['the alphabet for URLs', `data:image/png;base64,${RED.toString('base64url')}`, 'red'],
      ['parameters', `data:image/png;name="a b.png";charset=utf-8;base64,${RED64}`, 'red'],
      ['no type', `data:;base64,${RED64}`, 'red'],
      ['another type', `data:image/webp;base64,${RED64}`, 'red'],
      ['a large image', uri(LARGE_RED), 'red'],
    ])('a data URI with %s', async (_what, reference, color) => {
      await expectOutcome(() => generate({ image_urls: [reference] }), { images: [color] });
    });

    it.each<[string, object, object, string | null]>([
      ['aspect_ratio', { aspect_ratio: '16:9' }, { size: '1536x864' }, null],
      ['width and height', { width: 1024, height: 768 }, { size: '1024x768' }, 'resolution'],
      ['image_size in pixels', { image_size: '1024x768', batch_size: 1 }, { size: '1024x768' }, 'resolution'],
      ['image_size as an object', { image_size: { width: 768, height: 1024 } }, { size: '768x1024' }, 'resolution'],
      ['image_size as a tier', { resolution: null, image_size: '1K' }, { size: '1024x1024' }, null],
      ['outputFormat', { outputFormat: 'webp' }, { output_format: 'webp' }, null],
      ['numImages', { numImages: 1, seed: 3 }, {}, 'seed'],
      ['a second size', { size: '1:1', aspect_ratio: '16:9' }, { size: '1024x1024' }, 'aspect_ratio'],
      ['the same size twice', { size: '1:1', aspect_ratio: '1:1', num_images: 1, n: 1 }, { size: '1024x1024' }, null],
    ])('other names of options: %s', async (_what, fields, sent, ignored) => {
      const response = await expectOutcome(() => generate(fields), { fields: expect.objectContaining(sent) as never });
      expect(response.headers.get('x-ignored-params')).toBe(ignored);
    });

    it.each<[string, object, string, RegExp]>([
      ['an aspect ratio', { aspect_ratio: '17:1' }, 'aspect_ratio', /^aspect_ratio must be one of /],
      ['a size of fal', { image_size: 'square_hd' }, 'image_size', /^image_size must be one of /],
      ['a tier', { resolution: null, image_size: '9K' }, 'image_size', /^image_size must be one of /],
      ['a width without a height', { width: 1024 }, 'width', /^width alone says no size/],
      ['edges', { width: 8, height: 8 }, 'width', /^size is not valid: /],
      ['more images than may be', { num_images: 4 }, 'num_images', /^num_images must be at most 1$/],
      ['no number', { numImages: 'two' }, 'numImages', /^numImages must be an integer$/],
      ['a format', { outputFormat: 'bmp' }, 'outputFormat', /^outputFormat must be one of /],
    ])('are refused by the name that was sent: %s', async (_what, fields, param, text) => {
      const response = await expectOutcome(() => generate(fields), { param });
      const { error } = (await response.json()) as { error: { message: string } };
      expect(error.message).toMatch(text);
    });
  });

  describe('in a form', () => {
    interface FormPart {
      readonly name: string;
      readonly content: Buffer | string;
      /** All after the name. */
      readonly rest?: string;
      readonly type?: string;
    }
    const file = (name: string, content: Buffer, fileName = 'a.png'): FormPart => ({
      name,
      content,
      rest: `; filename="${fileName}"`,
      type: 'application/octet-stream',
    });
    const text = (name: string, content: string | Buffer, more: Partial<FormPart> = {}): FormPart => ({
      name,
      content,
      ...more,
    });
    const send = (...parts: FormPart[]): Promise<Response> => {
      const body = Buffer.concat([
        ...parts.flatMap(({ name, content, rest = '', type }) => [
          Buffer.from(`--b\r\ncontent-disposition: form-data; name="${name}"${rest}\r\n`),
          Buffer.from(type === undefined ? '\r\n' : `content-type: ${type}\r\n\r\n`),
          Buffer.from(content as string),
          Buffer.from('\r\n'),
        ]),
        Buffer.from('--b--\r\n'),
      ]);
      const headers = { 'content-type': 'multipart/form-data; boundary=b' };
      return platform.call(EDITS, { method: 'POST', body, headers });
    };
    const common = (): FormPart[] => [text('prompt', `form ${++count}`), text('resolution', '1k')];

    it.each<[string, readonly (readonly [string, Buffer])[], Outcome]>([
      [
        'image[] and mask[]',
        [
          ['image[]', RED],
          ['mask[]', MASK],
        ],
        { images: ['red'], mask: true },
      ],
      [
        'mask[0]',
        [
          ['image', RED],
          ['mask[0]', MASK],
        ],
        { images: ['red'], mask: true },
      ],
      [
        'Image and Mask',
        [
          ['Image', RED],
          ['Mask', MASK],
        ],
        { images: ['red'], mask: true },
      ],
      [
        'mask_image',
        [
          ['image', RED],
          ['mask_image', MASK],
        ],
        { images: ['red'], mask: true },
      ],
      [
        'image1 and image2',
        [
          ['image2', GREEN],
          ['image1', RED],
        ],
        { images: ['red', 'green'] },
      ],
      [
        'image_0 and image_1',
        [
          ['image_1', GREEN],
          ['image_0', RED],
        ],
        { images: ['red', 'green'] },
      ],
      [
        'images[0]',
        [
          ['images[1]', BLUE],
          ['images[0]', RED],
        ],
        { images: ['red', 'blue'] },
      ],
      ['reference_images[]', [['reference_images[]', RED]], { images: ['red'] }],
      [
        'two masks',
        [
          ['image', RED],
          ['mask', MASK],
          ['mask[]', MASK],
        ],
        { param: 'mask' },
      ],
      [
        'a second kind of image',
        [
          ['image', RED],
          ['control_image', GREEN],
        ],
        { param: 'control_image' },
      ],
      [
        'a picture',
        [
          ['image', RED],
          ['picture', GREEN],
        ],
        { param: 'picture' },
      ],
      [
        'a file of nothing',
        [
          ['image', RED],
          ['file', Buffer.alloc(0)],
        ],
        { param: 'file' },
      ],
    ])('files named %s', async (_what, files, outcome) => {
      await expectOutcome(() => send(...files.map(([name, bytes]) => file(name, bytes)), ...common()), outcome);
    });

    it.each<[string, Partial<FormPart>]>([
      ['with a file name', { rest: '; filename="blob"' }],
      ['with a file name and a type', { rest: '; filename="a.txt"', type: 'text/plain' }],
      ['as bytes', { type: 'application/octet-stream' }],
      ['as JSON', { type: 'application/json' }],
      ['in UTF-8, as it says', { type: 'text/plain; charset=utf-8' }],
    ])('text fields sent %s are read', async (_what, more) => {
      await expectOutcome(
        () =>
          send(
            file('image', RED),
            text('prompt', 'größer', more),
            text('size', '1024x768', more),
            text('quality', 'low', more),
          ),
        {
          prompt: 'größer',
          images: ['red'],
          fields: expect.objectContaining({ size: '1024x768', quality: 'low' }) as never,
        },
      );
    });

    it('a text in bytes that are no text in its encoding is refused, and read in the one that it names', async () => {
      const latin = Buffer.from('größer', 'latin1');
      for (const more of [{}, { rest: '; filename="blob"' }, { type: 'text/plain; charset=utf-8' }]) {
        await expectOutcome(() => send(file('image', RED), text('prompt', latin, more)), {
          param: 'prompt',
          code: 'invalid_value',
        });
      }
      await expectOutcome(
        () => send(file('image', RED), text('prompt', latin, { type: 'text/plain; charset=windows-1252' })),
        {
          prompt: 'größer',
        },
      );
      await expectOutcome(
        () => send(file('image', RED), text('prompt', latin, { type: 'text/plain; charset=nowhere' })),
        {
          param: 'prompt',
        },
      );
    });

    it('a file input in which nothing was chosen is absent', async () => {
      const nothing = (name: string): FormPart => file(name, Buffer.alloc(0), '');
      await expectOutcome(
        () => send(nothing('image[]'), file('image[]', RED), nothing('mask'), nothing('avatar'), ...common()),
        {
          images: ['red'],
          mask: false,
        },
      );
      await expectOutcome(() => send(nothing('image'), ...common()), {
        param: 'image',
        code: 'missing_required_parameter',
      });
      await expectOutcome(() => send(file('image', RED), file('avatar', GREEN, ''), ...common()), { param: 'avatar' });
    });

    it.each([
      ['True and False', { strict: 'False', stream: 'False', n: '1' }],
      ['null', { mask: 'null', n: 'null', quality: 'null', output_compression: 'undefined', size: 'None' }],
      ['nothing', { mask: '', n: '', size: '', background: '', 'image[1]': '' }],
      ['other names', { aspectRatio: '1:1', num_images: '1', OutputFormat: 'png' }],
    ])('options that say %s mean what clients mean', async (_what, texts) => {
      const response = await expectOutcome(
        () => send(file('image', RED), ...common(), ...Object.entries(texts).map(([name, value]) => text(name, value))),
        { images: ['red'], mask: false },
      );
      expect(response.headers.get('x-ignored-params')).toBeNull();
    });

    it('an image as text is refused by name', async () => {
      await expectOutcome(() => send(file('image', RED), ...common(), text('mask', uri(MASK))), { param: 'mask' });
      await expectOutcome(() => send(file('image', RED), ...common(), text('image_url', 'https://a.example/b')), {
        param: 'image_url',
      });
      await expectOutcome(() => send(file('image', RED), ...common(), text('extra', RED_URI)), { param: 'extra' });
    });
  });
});
