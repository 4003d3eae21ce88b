import type { Catalog } from '#catalog/catalog.js';
import { parseCatalog } from '#catalog/parse-catalog.js';
import {
  AsyncImageEditForm,
  AsyncImageGenerationRequest,
  ImageEditRequest,
  ImageGenerationRequest,
} from '#contract/image-request.js';
import { EgressConfig } from '#egress/egress.config.js';
import type { TaskInput } from '#tasks/row/task.js';
import type { Caller } from '../auth/caller.js';
import { ApiConfig } from '../common/api.config.js';
import type { Asked } from './asked.js';
import { assertExact, decideOrder } from './decide-order.js';

const catalog: Catalog = parseCatalog(
  `providers:
  house: { type: openai, base_url: http://house.example/v1 }
models:
  gpt-image-2:
    kind: image
    aliases: [painter]
    routes:
      - { provider: house }
  talker:
    kind: chat
    routes:
      - { provider: house }
`,
  'models.yaml',
  {},
);
const terms = { catalog, config: new ApiConfig(), egress: new EgressConfig() };
const caller: Caller = {
  accountId: 'acct_1',
  keyId: 'key_1',
  originalKeyId: 'key_1',
  models: [],
  scopes: [],
  role: undefined,
  defaultResponseFormat: undefined,
  allowPixelSize: false,
  submitMode: 'sync',
  budgeted: false,
  own: undefined,
  limits: { submits: undefined, polls: undefined, tasksInFlight: undefined },
  account: { weight: 1, limits: { submits: undefined, polls: undefined, chats: undefined, tasksInFlight: undefined } },
  weight: 1,
};
const PNG: TaskInput = { kind: 'object', key: 'inputs/1', bytes: 1, param: 'image' };

function asked(changes: Partial<Asked>): Asked {
  return {
    action: 'generation',
    fields: new ImageGenerationRequest(),
    ignored: [],
    unknown: new Map(),
    files: undefined,
    sentAs: new Map(),
    body: {},
    mark: { kind: 'unkeyed', retry: 0, counted: true },
    asksForTask: false,
    asynchronous: false,
    requestId: 'req_1',
    release: () => undefined,
    ...changes,
  };
}

function generation(fields: object, changes: Partial<Asked> = {}): Asked {
  const given = { model: 'gpt-image-2', prompt: 'a fox', ...fields };
  return asked({ fields: Object.assign(new AsyncImageGenerationRequest(), given), ...changes });
}

function edit(fields: object, files: Asked['files'] = { images: [PNG], mask: null }): Asked {
  return asked({
    action: 'edit',
    fields: Object.assign(new AsyncImageEditForm(), { prompt: 'a fox', ...fields }),
    files,
  });
}

function decide(request: Asked, as: Partial<Caller> = {}) {
  return decideOrder(request, { ...caller, ...as }, terms);
}

describe('the rules of a request', () => {
  it.each<[string, Asked, Partial<Caller>, { code: string; param: string }]>([
    [
      'a field that may not be ignored',
      generation({}, { ignored: ['dryRun'] }),
      {},
      { code: 'unsupported_parameter', param: 'dryRun' },
    ],
    [
      'pixels without the right to them',
      generation({ size: '1024x1024' }),
      {},
      { code: 'invalid_value', param: 'size' },
    ],
    ['a model that nobody serves', generation({ model: 'none' }), {}, { code: 'model_not_found', param: 'model' }],
    ['a model that only chats', generation({ model: 'talker' }), {}, { code: 'model_not_found', param: 'model' }],
    ['a field of the wrong type', generation({ n: 'two' }), {}, { code: 'invalid_type', param: 'n' }],
    ['a value that the model does not take', generation({ n: 2 }), {}, { code: 'integer_above_max_value', param: 'n' }],
    [
      'a model the key may not use',
      generation({}),
      { models: ['other'] },
      { code: 'model_not_allowed', param: 'model' },
    ],
    [
      'transparency in a jpeg',
      generation({ background: 'transparent', output_format: 'jpeg' }),
      {},
      { code: 'invalid_value', param: 'background' },
    ],
    [
      'a streamed task',
      generation({ stream: true }, { asksForTask: true }),
      {},
      { code: 'invalid_value', param: 'stream' },
    ],
    [
      'links in a stream',
      generation({ stream: true, response_format: 'url' }),
      {},
      { code: 'invalid_value', param: 'response_format' },
    ],
    [
      'base64 of a task',
      generation({ response_format: 'b64_json' }, { asksForTask: true }),
      {},
      { code: 'invalid_value', param: 'response_format' },
    ],
    [
      'a private callback',
      generation({ callback_url: 'https://10.0.0.1/' }),
      {},
      { code: 'invalid_value', param: 'callback_url' },
    ],
    [
      'a form without an image',
      edit({}, { images: [], mask: null }),
      {},
      { code: 'missing_required_parameter', param: 'image' },
    ],
  ])('refuse %s', (_name, request, as, error) => {
    expect(() => decide(request, as)).toThrow(expect.objectContaining(error) as Error);
  });

  it('are reported in their order', () => {
    const broken = { size: '1024x1024', model: 'none', n: 'two' };
    expect(() => decide(generation(broken))).toThrow(expect.objectContaining({ param: 'size' }) as Error);
    expect(() => decide(generation(broken), { allowPixelSize: true })).toThrow(
      expect.objectContaining({ code: 'model_not_found' }) as Error,
    );
  });

  it('leave a size of the wrong type to the rules of the field', () => {
    expect(() => decide(generation({ size: 7 }))).toThrow(expect.objectContaining({ code: 'invalid_type' }) as Error);
  });

  it('have nothing against the rest', () => {
    const fields = { response_format: 'b64_json', background: 'transparent', callback_url: 'https://example.org/' };
    expect(() => decide(generation(fields))).not.toThrow();
    expect(() => decide(generation({}), { models: ['painter'] })).not.toThrow();
    expect(() => decide(edit({ size: '1024x1024' }))).not.toThrow();
  });
});

describe('an order', () => {
  it('says what the request leaves open', () => {
    expect(decide(generation({ model: 'painter' }))).toMatchObject({
      action: 'generation',
      model: 'gpt-image-2',
      prompt: 'a fox',
      options: { size: '1:1', resolution: '2k', pixels: { width: 2048, height: 2048 }, outputFormat: 'png' },
      images: { references: [], mask: undefined },
      callbackUrl: null,
      streamed: false,
    });
    expect(decide(edit({}))).toMatchObject({
      action: 'edit',
      model: 'gpt-image-2',
      options: { size: 'auto', pixels: null },
      images: { images: [PNG], mask: null },
    });
  });

  it('is answered as the request says, or else the key', () => {
    expect(decide(generation({ response_format: 'url' }), { defaultResponseFormat: 'b64_json' }).format).toBe('url');
    expect(decide(generation({}), { defaultResponseFormat: 'b64_json' }).format).toBe('b64_json');
    expect(decide(generation({})).format).toBe(terms.config.defaultResponseFormat);
  });

  it('leaves the pixels of auto to the provider, at the tier that was asked for', () => {
    const { options } = decide(generation({ size: 'auto', resolution: '4k' }));
    expect(options).toMatchObject({ size: 'auto', resolution: '4k', pixels: null });
  });

  it('takes free pixels as they are, and ratios by the table', () => {
    const free = decide(edit({ size: '1536x1024' })).options;
    expect(free).toMatchObject({ size: '1536x1024', resolution: null, pixels: { width: 1536, height: 1024 } });
    const ratio = decide(edit({ size: '3:2', resolution: '4k' })).options;
    expect(ratio).toMatchObject({ size: '3:2', resolution: '4k', pixels: { width: 3520, height: 2336 } });
  });

  it('has partial images only of a stream', () => {
    const partialsOf = (fields: object) => decide(generation(fields)).options.partialImages;
    expect(partialsOf({ stream: true, partial_images: 2 })).toBe(2);
    expect(partialsOf({ partial_images: 2 })).toBeUndefined();
    expect(partialsOf({ stream: true })).toBeUndefined();
  });

  it('names what has no effect', () => {
    const { ignored, options } = decide(generation({ output_compression: 50 }, { ignored: ['seed'] }));
    expect([ignored, options.ignored]).toEqual([
      ['seed', 'output_compression'],
      ['seed', 'output_compression'],
    ]);
    expect(decide(generation({ output_compression: 50, output_format: 'webp' })).ignored).toEqual([]);
  });

  it('makes text storable', () => {
    expect(decide(generation({ prompt: 'a\ud83d', user: '\udc00' }))).toMatchObject({
      prompt: 'a\ufffd',
      options: { user: '\ufffd' },
    });
  });

  it('names its images by the field that has them', () => {
    expect(decide(generation({ image_urls: ['https://example.org/1.png'] })).images).toEqual({
      references: [{ reference: 'https://example.org/1.png', param: 'image_urls[0]' }],
      mask: undefined,
    });
    const images = [{ image_url: 'https://example.org/1.png' }];
    const fields = { prompt: 'a fox', images, mask: { image_url: 'https://example.org/2.png' } };
    expect(decide(asked({ action: 'edit', fields: Object.assign(new ImageEditRequest(), fields) })).images).toEqual({
      references: [{ reference: 'https://example.org/1.png', param: 'images[0].image_url' }],
      mask: { reference: 'https://example.org/2.png', param: 'mask.image_url' },
    });
  });
});

describe('a strict order', () => {
  it.each<[string, Asked, TaskInput, object]>([
    [
      'an unknown field',
      generation({ strict: true }, { ignored: ['seed'] }),
      PNG,
      { code: 'unsupported_parameter', param: 'seed' },
    ],
    [
      'an image that would be converted',
      edit({ strict: true }),
      { ...PNG, convert: 'gif' },
      { code: 'unsupported_image_media_type', param: 'image' },
    ],
  ])('is refused for %s', (_name, request, input, error) => {
    const order = decide(request);
    expect(() => {
      assertExact(order, [input], null, catalog);
    }).toThrow(expect.objectContaining(error) as Error);
    expect(() => {
      assertExact({ ...order, options: { ...order.options, strict: false } }, [input], null, catalog);
    }).not.toThrow();
  });
});
