import type { ModelSource, ProviderSource } from '../../api/catalog.ts';
import {
  keptOf,
  modelEntry,
  modelFields,
  newModelFields,
  newPrice,
  newRoute,
  tierPrice,
  tierText,
} from './model-fields.ts';
import { optionFields } from './options.ts';
import { needsKeysAgain, providerChange, providerFields } from './provider-fields.ts';

const SCHEMA = {
  required: ['workflow'],
  properties: {
    stream: { type: 'boolean' },
    total_timeout_ms: { type: 'integer' },
    response_format: { enum: ['b64_json', 'url'] },
    takes: { type: 'array', items: { enum: ['image', 'mask'] } },
    organization: { type: 'string' },
    workflow: { type: ['string', 'object'] },
  },
};
const KEY = { server: '', name: 'team', key: 'sk-new', stored: true };
const shown = { owner: 'console', problems: [], replaces_built_in: false, has_webhook_secret: false } as const;

describe('the form of a provider', () => {
  it('gives back the entry that it was filled with', () => {
    const entry: ProviderSource = {
      type: 'openai',
      base_url: 'http://a.example/v1',
      limits: { concurrency: 2 },
      interrupted: 'retry',
      free: false,
      options: {
        stream: false,
        total_timeout_ms: 500,
        response_format: 'url',
        takes: ['mask'],
        organization: 'org',
        workflow: { '6': { inputs: {} } },
      },
    };
    const fields = providerFields({ name: 'main', keys: ['team'], server_keys: [], entry, ...shown });
    expect(providerChange(fields, SCHEMA)).toEqual({ entry, keys: [{ name: 'team' }] });
  });

  it('gives back a list of servers, with the keys of each', () => {
    const entry: ProviderSource = {
      type: 'openai',
      servers: [{ name: 'sweden', base_url: 'http://a.example/v1', region: 'eu', limits: { starts_per_minute: 12 } }],
    };
    const keys = [{ server: 'sweden', name: 'team' }];
    const existing = { name: 'azure', keys: [], server_keys: keys, entry, ...shown };
    const fields = providerFields(existing);
    expect(providerChange(fields, SCHEMA)).toEqual({ entry, keys });
    expect(needsKeysAgain(fields, existing)).toBe(false);
    const moved = { ...fields, servers: fields.servers.replace('a.example', 'b.example') };
    expect(needsKeysAgain(moved, existing)).toBe(true);
    expect(() => providerChange({ ...fields, servers: '[{' }, SCHEMA)).toThrow('Enter a JSON list of servers.');
  });

  it('sends keys that were entered, and none that was left empty', () => {
    const fields = providerFields(undefined);
    expect(providerChange(fields, SCHEMA)).toEqual({ entry: { type: 'openai' }, keys: [] });
    fields.keys = [{ server: '', name: ' team ', key: ' sk-1 ', stored: true }];
    expect(providerChange(fields, SCHEMA).keys).toEqual([{ name: 'team', key: 'sk-1' }]);
  });

  it.each<[string, Partial<ReturnType<typeof providerFields>>, boolean]>([
    ['as it is stored', {}, false],
    ['with a slash at the end', { base_url: 'http://a.example/v1/' }, false],
    ['at another address', { base_url: 'http://b.example/v1' }, true],
    ['of another type', { type: 'apimart' }, true],
    ['with another address among its options', { options: { upload_url: 'http://b.example' } }, true],
    ['at another address with its keys', { base_url: 'http://b.example', keys: [KEY] }, false],
  ])('asks for stored keys again: %s', (_what, change, expected) => {
    const entry: ProviderSource = { type: 'openai', base_url: 'http://a.example/v1' };
    const existing = { name: 'main', keys: ['team'], server_keys: [], entry, ...shown };
    expect(needsKeysAgain({ ...providerFields(existing), ...change }, existing)).toBe(expected);
  });

  it('knows what an option takes by its schema, and which text is no JSON', () => {
    expect(optionFields(SCHEMA).map(({ kind, required }) => [kind, required])).toEqual([
      ...[
        ['boolean', false],
        ['number', false],
        ['choice', false],
        ['choices', false],
        ['text', false],
        ['json', true],
      ],
    ]);
    const fields = { ...providerFields(undefined), options: { workflow: '{' } };
    expect(() => providerChange(fields, SCHEMA)).toThrow('This isn’t valid JSON');
  });
});

describe('the form of a model', () => {
  it.each<[string, ModelSource]>([
    [
      'an image model',
      {
        kind: 'image',
        aliases: ['photo'],
        owned_by: 'acme',
        shutdown_date: '2027-01-01',
        successors: ['n'],
        extra: { seed: { type: 'integer', min: 0, max: 9 } },
        accepts: {
          ...{ qualities: ['low'], output_formats: ['png'], sizes: ['1:1'], pixel_sizes: false, max_n: 2 },
          ...{ complexities: ['low'], input_fidelities: [] },
        },
        routes: [
          { provider: 'a', weight: 3, capabilities: { edits: false, sizes: ['512x512'] } },
          { provider: 'b', model: 'theirs', weight: 1, capabilities: { masks: false, images: 2, max_n: 2 } },
        ],
        prices: [
          { from: '2026-01-01', per_image: { '1k': 0.02, '2k': { auto: 0.04, low: 0.01 }, '4k': 1 }, cancelled: 0.07 },
          {
            from: '2026-02-01',
            per_image: { '1k': 0, '2k': 0, '4k': 0 },
            per_million_tokens: { input: 1, cached_input: 0.1, output: 2 },
          },
          {
            from: '2026-03-01',
            per_million_tokens: {
              ...{ input: 5, cached_input: 1.25, image_input: 8, cached_image_input: 2 },
              ...{ output: 30, text_output: 10, svg_input: 2.5, svg_output: 15 },
            },
          },
        ],
      },
    ],
    [
      'a chat model',
      {
        kind: 'chat',
        routes: [{ provider: 'a' }],
        prices: [{ from: '2026-01-01', per_million_tokens: { input: 1, output: 2, covers: ['tools'] } }],
      },
    ],
  ])('gives back %s', (_what, entry) => {
    expect(modelEntry(modelFields({ name: 'm', entry }), entry)).toEqual(entry);
  });

  it('shows what a canceled image costs in percent of its price', () => {
    const entry = {
      kind: 'image',
      routes: [{ provider: 'a' }],
      prices: [{ from: '2026-01-01', cancelled: 0.07 }],
    } as const;
    expect(modelFields({ name: 'm', entry }).prices[0]?.cancelled_percent).toBe(7);
  });

  it('replaces a model of the installation without its other names, its end and its prices, which are of its provider', () => {
    const entry = {
      kind: 'image',
      aliases: ['other'],
      shutdown_date: '2026-12-01',
      successors: ['n'],
      accepts: { input_fidelities: [] },
      routes: [{ provider: 'openai' }],
      prices: [{ from: '2026-11-28', per_million_tokens: { input: 5, output: 30 } }],
    } as const;
    const replaced = { name: 'm', owner: 'built-in', entry, problems: [], replaces_built_in: false } as const;
    const fields = newModelFields('main', { ...replaced, problems: [] });
    expect(modelEntry(fields, keptOf({ ...replaced, problems: [] }))).toEqual({
      kind: 'image',
      accepts: { input_fidelities: [] },
      routes: [{ provider: 'main' }],
    });
  });

  it('begins with one route, and adds rows with places of their own', () => {
    const fields = newModelFields('main');
    expect(modelEntry(fields, undefined)).toEqual({ kind: 'image', routes: [{ provider: 'main' }] });
    expect(new Set([...fields.routes, newRoute('main'), newPrice()].map(({ id }) => id)).size).toBe(3);
  });

  it.each([
    ['0.02', 0.02],
    ['auto 0.02, HIGH 0.08', { auto: 0.02, high: 0.08 }],
    ['auto: 1', { auto: 1 }],
    ['', undefined],
    ['free', undefined],
    ['auto 1, high', undefined],
  ])('reads the price %j', (text, price) => {
    expect(tierPrice(text)).toEqual(price);
    if (price !== undefined) expect(tierPrice(tierText(price))).toEqual(price);
  });
});
