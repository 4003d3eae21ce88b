import { serverId } from '#providers/provider-entry.js';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openAiCatalog, SANDBOX_CATALOG } from './built-in.js';
import { LASTING_OPENAI_MODELS } from './openai-models.js';
import { BASE_VALUES } from '#contract/accepted-values.js';
import { CatalogError, findModel, modelOf, priceAt } from './catalog.js';
import { CATALOG_SCHEMA } from './catalog-schema.js';
import { parseCatalog } from './parse-catalog.js';

const FULL = `currency: EUR
providers:
  main:
    type: openai
    base_url: https://images.example/v1/
    keys:
      - { name: first, env: FIRST_KEY }
      - { env: SECOND_KEY }
    limits: { concurrency: 4, starts_per_minute: 60 }
    interrupted: retry
  spare: { type: openai, keys: [{ env: FIRST_KEY }] }
  gpu: { type: comfyui, base_url: http://10.0.0.5:8188, options: { workflow: flux.json } }
  jobs: { type: evolink, keys: [{ env: FIRST_KEY }] }
models:
  gpt-image-2:
    kind: image
    owned_by: acme
    routes:
      - { provider: main, model: gpt-image-2-2026-04-21, weight: 3 }
      - { provider: spare, weight: 1 }
      - { provider: gpu, capabilities: { edits: false, sizes: [1024x1024] } }
    prices:
      - { from: 2026-01-01, per_image: { 1k: 0.02, 2k: { auto: 0.04, high: 0.08 }, 4k: 0.16 } }
      - { from: 2026-06-01, per_image: { 1k: 0.01, 2k: 0.02, 4k: 0.04 } }
`;
const ENV = { FIRST_KEY: 'secret-one', SECOND_KEY: 'secret-two' };

function problemsOf(text: string, env = ENV): readonly string[] {
  try {
    parseCatalog(text, 'models.yaml', env);
  } catch (error) {
    if (error instanceof CatalogError) return error.problems;
    throw error;
  }
  return [];
}

describe('a catalog', () => {
  it('says who makes what, in which order and share, and with whose keys', () => {
    const { currency, providers, models } = parseCatalog(FULL, 'models.yaml', ENV);
    expect(currency).toBe('EUR');
    const main = { name: 'main', type: 'openai', interrupted: 'retry', free: false, options: {} };
    expect(providers.get('main')).toEqual({
      ...main,
      servers: [
        {
          ...main,
          baseUrl: 'https://images.example/v1',
          keys: [
            { name: 'first', secret: 'secret-one' },
            { name: 'second_key', secret: 'secret-two' },
          ],
          limits: { concurrency: 4, startsPerMinute: 60 },
        },
      ],
    });
    expect(providers.get('spare')).toMatchObject({
      interrupted: 'fail',
      servers: [{ baseUrl: 'https://api.openai.com/v1', interrupted: 'fail' }],
    });
    expect(providers.get('gpu')).toMatchObject({
      free: true,
      interrupted: 'retry',
      options: { workflow: 'flux.json' },
    });
    expect(providers.get('jobs')).toMatchObject({ servers: [{ baseUrl: 'https://api.evolink.ai/v1' }], free: false });
    const model = models.get('gpt-image-2');
    expect(model?.ownedBy).toBe('acme');
    expect(
      model?.ranks.map((rank) => rank.map(({ provider, model: name, weight }) => [provider, name, weight])),
    ).toEqual([
      [
        ['main', 'gpt-image-2-2026-04-21', 3],
        ['spare', 'gpt-image-2', 1],
      ],
      [['gpu', 'gpt-image-2', 1]],
    ]);
    expect(model?.ranks[1]?.[0]).toMatchObject({
      edits: false,
      masks: false,
      markup: false,
      svg: false,
      images: 16,
      maxN: 1,
      sizes: ['1024x1024'],
    });
    expect(model?.ranks[0]?.map(({ maxN }) => maxN)).toEqual([10, 10]);
  });

  it('takes OPENAI_INTERRUPTED for the entries of type openai that say nothing of their own', () => {
    const { providers } = parseCatalog(FULL.replace('interrupted: retry', 'interrupted: fail'), 'models.yaml', {
      ...ENV,
      OPENAI_INTERRUPTED: 'retry',
    });
    expect([...providers.values()].map(({ name, interrupted }) => [name, interrupted])).toEqual([
      ['main', 'fail'],
      ['spare', 'retry'],
      ['gpu', 'retry'],
      ['jobs', 'fail'],
    ]);
  });

  it('has the price of a day, in millionths', () => {
    const model = parseCatalog(FULL, 'models.yaml', ENV).models.get('gpt-image-2');
    if (model === undefined) throw new Error('no model');
    expect(priceAt(model, new Date('2025-12-31T23:59:59Z'))).toBeUndefined();
    expect(priceAt(model, new Date('2026-05-31T23:59:59Z'))?.images?.perImage).toEqual({
      '1k': { auto: 20_000 },
      '2k': { auto: 40_000, high: 80_000 },
      '4k': { auto: 160_000 },
    });
    expect(priceAt(model, new Date('2026-06-01T00:00:00Z'))?.images?.perImage['2k']).toEqual({ auto: 20_000 });
  });

  it('is built in for OpenAI and for the sandbox', () => {
    const env = { OPENAI_API_KEY: 'k' };
    const before = new Date('2026-11-30T23:59:59Z');
    const after = new Date('2026-12-01T00:00:00Z');
    const ending = ['gpt-image-1.5', 'gpt-image-1.5-2025-12-16', 'gpt-image-1-mini', 'chatgpt-image-latest'];
    const lasting = [
      ...['gpt-image-2', 'gpt-image-2-2026-04-21', 'gpt-image-2.6-sunburst', 'gpt-image-2.6-flare'],
      ...['gpt-image-2.5-sunburst', 'gpt-image-2.5-sunburst-2026-09-08'],
      ...['gpt-image-2.5-flare', 'gpt-image-2.5-flare-2026-09-08'],
    ];
    const chats = ['gpt-5.5', 'gpt-5.4'];
    for (const [text, names] of [
      [SANDBOX_CATALOG, ['gpt-image-2', ...chats]],
      [openAiCatalog(before), [...lasting, ...ending, ...chats]],
      [openAiCatalog(after), [...lasting, ...chats]],
      [openAiCatalog(after, { baseUrl: 'http://10.0.0.5/v1', imageModel: 'flux' }), ['gpt-image-2', ...chats]],
    ] as const) {
      const catalog = parseCatalog(text, 'built in', env);
      expect([...catalog.models.keys()]).toEqual(names);
      expect(modelOf(catalog, 'image', 'gpt-image-2')).toBeDefined();
      expect(modelOf(catalog, 'chat', 'gpt-image-2')).toBeUndefined();
    }
    const sandbox = parseCatalog(SANDBOX_CATALOG, 'built in', env);
    expect(lasting.map((name) => findModel(sandbox, name)?.name)).toEqual(lasting.map(() => 'gpt-image-2'));
    const openai = parseCatalog(openAiCatalog(before), 'built in', env).models;
    expect(openai.get('gpt-image-1-mini')).toMatchObject({
      end: { shutdownDate: '2026-12-01', successors: ['gpt-image-2.6-sunburst', 'gpt-image-2.6-flare'] },
      accepts: { inputFidelities: ['low'], maxN: 10 },
      ranks: [[{ model: 'gpt-image-1-mini', sizes: ['1024x1024', '1536x1024', '1024x1536'] }]],
    });
    expect(openai.get('gpt-image-2')).toMatchObject({
      end: undefined,
      accepts: { ...BASE_VALUES, inputFidelities: [] },
    });
  });

  it('has the prices of the models that OpenAI itself serves and has not ended, and of no other server', () => {
    const env = { OPENAI_API_KEY: 'k' };
    const day = new Date('2026-11-28');
    const priced = (server: Parameters<typeof openAiCatalog>[1]): string[] => {
      const { models } = parseCatalog(openAiCatalog(day, server), 'built in', env);
      return [...models.values()].filter((model) => priceAt(model, day) !== undefined).map(({ name }) => name);
    };
    expect(priced({})).toEqual(LASTING_OPENAI_MODELS);
    expect(priced({ baseUrl: 'https://api.openai.com/v1' })).toEqual(LASTING_OPENAI_MODELS);
    expect(priced({ imageModel: 'gpt-image-2.5-flare' })).toEqual(['gpt-image-2']);
    expect(priced({ imageModel: 'flux' })).toEqual([]);
    expect(priced({ baseUrl: 'https://api.openai.com.example/v1' })).toEqual([]);
    expect(priced({ baseUrl: 'http://10.0.0.5/v1', imageModel: 'gpt-image-2.5-flare' })).toEqual([]);
    const { models } = parseCatalog(openAiCatalog(day), 'built in', env);
    expect(models.get('gpt-image-2.6-flare')?.prices).toMatchObject([
      { images: undefined, tokens: { input: 5_000_000, cached_image_input: 2_000_000, output: 30_000_000 } },
    ]);
  });

  it('is refused with every problem and its line', () => {
    expect(
      problemsOf(`providers:
  main: { type: openia }
  bare: { type: openai, keys: [{ env: NOT_SET }], color: red }
models:
  gpt-image-2:
    kind: picture
    routes: []
`),
    ).toEqual([
      expect.stringMatching(
        /^line 2: providers\.main\.type must be equal to one of the allowed values: sandbox, openai/,
      ),
      'line 3: providers.bare.color is unknown',
      expect.stringMatching(
        /^line 6: models\.gpt-image-2\.kind must be equal to one of the allowed values: image, chat/,
      ),
      expect.stringMatching(/^line 7: models\.gpt-image-2\.routes must NOT have fewer than 1 items/),
    ]);
    expect(
      problemsOf(
        `providers:
  gpu: { type: comfyui }
  far: { type: toapis }
  bare: { type: openai, keys: [{ env: NOT_SET }, { env: NOT_SET }] }
models:
  draw:
    kind: image
    routes: [{ provider: nobody }, { provider: gpu, capabilities: { markup: true } }]
    accepts: { output_formats: [png, svg] }
    prices:
      - { from: 2026-02-30x, per_image: { 1k: 1, 2k: 1, 4k: 1 } }
  talk:
    kind: chat
    routes: [{ provider: gpu }]
    prices:
      - { from: 2026-02-01, per_million_tokens: { input: 1, output: 2 } }
      - { from: 2026-01-01, cancelled: 0.5, per_million_tokens: { input: 1, output: 2, image_input: 3 } }
      - { from: 2026-03-01 }
`.replace('2026-02-30x', '2026-13-01'),
      ),
    ).toEqual([
      'line 2: providers.gpu needs a base_url',
      'line 3: providers.far needs keys',
      'line 4: providers.bare.keys.0 names the environment variable NOT_SET, which is not set',
      'line 4: providers.bare.keys.1 names the environment variable NOT_SET, which is not set',
      'line 4: providers.bare.keys has two keys of the same name',
      'line 8: models.draw.routes.0 names the provider nobody, which is not listed',
      'line 8: models.draw.routes.1.capabilities.markup is true, but providers of type comfyui take no markup',
      'line 9: models.draw.accepts.output_formats.1 is svg, which none of its providers generates',
      'line 11: models.draw.prices.0.from is not a valid date',
      'line 14: models.talk.routes.0 goes to gpu, which does not support chats',
      'line 17: models.talk.prices.1.per_million_tokens.image_input applies to image models only',
      'line 17: models.talk.prices.1.cancelled applies to image models only',
      'line 18: models.talk.prices.2 needs per_million_tokens',
      'line 15: models.talk.prices must be listed from the oldest day to the newest',
    ]);
    expect(
      problemsOf(`providers: { s: { type: sandbox } }
models: { draw: { kind: image, routes: [{ provider: s }], prices: [{ from: 2026-01-01 }] } }
`),
    ).toEqual(['line 2: models.draw.prices.0 needs per_image or per_million_tokens']);
    expect(problemsOf('providers: [')).toEqual([expect.stringMatching(/^line 1: /)]);
    expect(problemsOf('')).toEqual(['line 1: the file must be object']);
  });

  it('says what a model accepts: what its entry lists, and for the rest what its providers do', () => {
    const accepts = (lines: string) =>
      parseCatalog(FULL.replace('    owned_by: acme\n', `    accepts: ${lines}\n`), 'models.yaml', ENV).models.get(
        'gpt-image-2',
      )?.accepts;
    expect(parseCatalog(FULL, 'models.yaml', ENV).models.get('gpt-image-2')?.accepts).toEqual(BASE_VALUES);
    expect(accepts('{ qualities: [high, xhigh] }')).toEqual({
      ...BASE_VALUES,
      qualities: ['high', 'xhigh'],
      editQualities: ['high', 'xhigh'],
    });
    expect(accepts('{ edit_qualities: [max], output_formats: [webp], sizes: [1:1], pixel_sizes: false }')).toEqual({
      qualities: BASE_VALUES.qualities,
      editQualities: ['max'],
      outputFormats: ['webp'],
      sizes: ['1:1'],
      pixelSizes: false,
      maxN: 1,
      complexities: [],
      inputFidelities: ['high', 'low'],
    });
    expect(accepts('{ complexities: [low, high], input_fidelities: [] }')).toEqual({
      ...BASE_VALUES,
      complexities: ['low', 'high'],
      inputFidelities: [],
    });
    expect(accepts('{ max_n: 4, output_formats: [gif] }')).toEqual({ ...BASE_VALUES, maxN: 4, outputFormats: ['gif'] });
  });

  it('bounds every field that only it knows', () => {
    const withExtra = (extra: string): string => FULL.replace('    owned_by: acme\n', `    extra: ${extra}\n`);
    const good =
      '{ seed: { type: integer, min: 0, max: 9 }, sampler: { type: string, enum: [a] }, tiling: { type: boolean } }';
    const model = parseCatalog(withExtra(good), 'models.yaml', ENV).models.get('gpt-image-2');
    expect([...(model?.extra ?? [])]).toEqual([
      ['seed', { type: 'integer', min: 0, max: 9 }],
      ['sampler', { type: 'string', enum: ['a'] }],
      ['tiling', { type: 'boolean' }],
    ]);
    for (const [extra, problem] of [
      ['{ seed: { type: integer, min: 0 } }', 'seed needs min and max, in this order'],
      ['{ seed: { type: integer, min: 2, max: 1 } }', 'seed needs min and max, in this order'],
      ['{ steps: { type: number, min: 0, max: 1, max_length: 2 } }', 'steps may only have min and max'],
      ['{ style: { type: string } }', 'style needs enum or max_length'],
      ['{ style: { type: string, max_length: 2, min: 1 } }', 'style may not have min and max'],
      ['{ fast: { type: boolean, enum: [a] } }', 'fast may have no bounds'],
      ['{ markup: { type: boolean } }', 'markup is a field of every image request'],
    ] as const)
      expect(problemsOf(withExtra(extra))).toEqual([expect.stringContaining(`models.gpt-image-2.extra.${problem}`)]);
    expect(problemsOf(withExtra('{ Seed: { type: boolean } }'))).toEqual([
      expect.stringContaining('must be up to 64 lowercase letters, digits and _'),
      expect.stringContaining('extra'),
    ]);
  });

  it('prices every quality that a model accepts, and no other', () => {
    const text = FULL.replace('high: 0.08', 'xhigh: 0.09');
    expect(problemsOf(text)).toEqual([
      'line 23: models.gpt-image-2.prices.0.per_image has a price for xhigh, which the model does not accept',
    ]);
    const accepting = text.replace('    owned_by: acme\n', '    accepts: { qualities: [xhigh] }\n');
    const price = parseCatalog(accepting, 'models.yaml', ENV).models.get('gpt-image-2')?.prices[0];
    expect(price?.images?.perImage['2k']).toEqual({ auto: 40_000, xhigh: 90_000 });
  });

  it('refuses values that cannot be delivered, and those of chat models', () => {
    const model = (accepts: string, kind = 'image'): string => `providers: { own: { type: sandbox } }
models: { m: { kind: ${kind}, accepts: ${accepts}, routes: [{ provider: own }] } }
`;
    expect(problemsOf(model('{ output_formats: [tiff] }'))).toEqual([
      expect.stringMatching(/^line 2: models\.m\.accepts\.output_formats\.0 must .*: png, jpeg, webp, gif, svg$/),
    ]);
    expect(problemsOf(model('{ sizes: [7:3] }'))).toEqual([expect.stringMatching(/sizes\.0 must .*: auto, 1:1, /)]);
    expect(problemsOf(model('{ qualities: [Best] }'))).toEqual([
      expect.stringMatching(/qualities\.0 must be up to 32 lowercase letters/),
    ]);
    expect(problemsOf(model('{ qualities: [] }'))).toEqual([expect.stringMatching(/qualities must NOT have fewer/)]);
    expect(problemsOf(model('{ qualities: [low] }', 'chat'))).toEqual([
      'line 2: models.m.accepts applies to image models only',
    ]);
  });

  it('allows no more images at once than one of the providers returns from a call', () => {
    const text = (accepts: string, routes: string): string => `providers:
  gpu: { type: comfyui, base_url: 'http://10.0.0.5:8188' }
  drawn: { type: sandbox }
  gemini: { type: google, keys: [{ env: FIRST_KEY }] }
models:
  m: { kind: image, accepts: { max_n: ${accepts} }, routes: [${routes}] }
`;
    const own = (capabilities: string): string => `{ provider: drawn, capabilities: { max_n: ${capabilities} } }`;
    const counts = (routes: string): unknown =>
      parseCatalog(text('2', routes), 'models.yaml', ENV)
        .models.get('m')
        ?.ranks.flat()
        .map(({ maxN }) => maxN);
    expect(counts('{ provider: gpu }, { provider: drawn }')).toEqual([1, 10]);
    expect(counts(`${own('3')}, { provider: gemini, model: imagen-4.0-generate-001 }, { provider: gemini }`)).toEqual([
      ...[3, 4, 1],
    ]);
    expect(problemsOf(text('2', '{ provider: gpu }, { provider: gemini, model: gemini-3-pro-image }'))).toEqual([
      'line 6: models.m.accepts.max_n is 2, but its providers return one image from a call',
    ]);
    expect(problemsOf(text('4', own('3')))).toEqual([
      'line 6: models.m.accepts.max_n is 4, but its providers return at most 3 images from a call',
    ]);
    expect(problemsOf(text('1', '{ provider: gpu, capabilities: { max_n: 2 } }'))).toEqual([
      'line 6: models.m.routes.0.capabilities.max_n is 2, but gpu returns one image from a call',
    ]);
    expect(problemsOf(text('11', '{ provider: drawn }'))).toEqual([expect.stringMatching(/max_n must be <= 10$/)]);
    expect(problemsOf(text('0', '{ provider: drawn }'))).toEqual([expect.stringMatching(/max_n must be >= 1$/)]);
  });

  it('knows a model by other names, each of which is of one model', () => {
    const named = (a: string, b: string): string => `providers: { own: { type: sandbox } }
models:
  first: { kind: image, aliases: [${a}], routes: [{ provider: own }] }
  second: { kind: chat, aliases: [${b}], routes: [{ provider: own }] }
`;
    const catalog = parseCatalog(named('one, uno', 'two'), 'models.yaml', {});
    expect(['first', 'uno', 'two', 'three'].map((name) => findModel(catalog, name)?.name)).toEqual([
      ...['first', 'first', 'second'],
      undefined,
    ]);
    expect(modelOf(catalog, 'image', 'one')?.name).toBe('first');
    expect(modelOf(catalog, 'image', 'two')).toBeUndefined();
    expect([...catalog.models.keys()]).toEqual(['first', 'second']);
    expect(problemsOf(named('second, first', 'one, first'))).toEqual([
      'line 3: models.first.aliases.0 is second, which already means second',
      'line 3: models.first.aliases.1 is first, which already means first',
      'line 4: models.second.aliases.1 is first, which already means first',
    ]);
    expect(problemsOf(named('one', 'two, one'))).toEqual([
      'line 4: models.second.aliases.1 is one, which already means first',
    ]);
  });

  it('never tells a secret', () => {
    const text = FULL.replace('type: openai', 'type: nothing').replace('kind: image', 'kind: FIRST_KEY');
    expect(problemsOf(text).join('\n')).not.toMatch(/secret/);
  });

  it('has providers with a list of equal servers', () => {
    const text = `providers:
  azure:
    type: openai
    interrupted: retry
    servers:
      - { name: sweden, base_url: https://a.example/v1/, keys: [{ env: FIRST_KEY }], region: eu, limits: { starts_per_minute: 12 } }
      - { name: east, base_url: https://b.example/v1, keys: [{ env: SECOND_KEY }], region: us }
models:
  poster: { kind: image, routes: [{ provider: azure }] }
`;
    const azure = parseCatalog(text, 'models.yaml', ENV).providers.get('azure');
    expect(azure?.servers).toMatchObject([
      {
        name: 'azure',
        server: 'sweden',
        region: 'eu',
        baseUrl: 'https://a.example/v1',
        keys: [{ name: 'first_key', secret: 'secret-one' }],
        limits: { startsPerMinute: 12 },
        interrupted: 'retry',
      },
      { name: 'azure', server: 'east', region: 'us', limits: { startsPerMinute: undefined }, interrupted: 'retry' },
    ]);
    expect(azure?.servers.map(serverId)).toEqual(['azure/sweden', 'azure/east']);
  });

  it('says what is wrong with a list of servers', () => {
    const text = `providers:
  azure:
    type: comfyui
    base_url: http://a.example
    servers:
      - { name: one, keys: [{ name: k, env: FIRST_KEY }, { name: k, env: NOT_SET }] }
      - { name: one, base_url: http://b.example }
models:
  poster: { kind: image, routes: [{ provider: azure }] }
`;
    expect(problemsOf(text)).toEqual([
      'line 6: providers.azure.servers.0 needs a base_url',
      'line 6: providers.azure.servers.0.keys.1 names the environment variable NOT_SET, which is not set',
      'line 6: providers.azure.servers.0.keys has two keys of the same name',
      'line 4: providers.azure.base_url belongs to each of the servers',
      'line 5: providers.azure.servers has two servers of the same name',
    ]);
    expect(problemsOf(text.replace('name: one, base_url', 'name: a/b, base_url'))).toContain(
      'line 7: providers.azure.servers.1.name must be up to 100 letters, digits, and . _ : -, and begin with a letter or digit',
    );
  });

  it('may have a secret for webhooks of a provider that sends them', () => {
    const secret = `whsec_${'a'.repeat(32)}`;
    const text = (type: string) => `providers:
  main: { type: ${type}, keys: [{ env: K }], webhook_secret: { env: W } }
models:
  m: { kind: image, routes: [{ provider: main }] }
`;
    const read = (type: string, env: Record<string, string>) => parseCatalog(text(type), 'f', { K: 'k', ...env });
    expect(read('openai', { W: secret }).providers.get('main')?.webhookSecret).toBe(secret);
    expect(() => read('openai', {})).toThrow('webhook_secret names the environment variable W, which is not set');
    expect(() => read('openai', { W: 'plain' })).toThrow('webhook_secret must begin with whsec_');
    expect(() => read('google', { W: secret })).toThrow('google sends no webhooks about end users');
  });

  it('refuses a route to a region where its provider has no server', () => {
    const text = `providers:
  azure:
    type: openai
    servers:
      - { name: east, base_url: https://a.example/v1, region: us }
      - { name: west, base_url: https://b.example/v1, region: us }
  lone: { type: openai, base_url: https://c.example/v1 }
models:
  poster: { kind: image, routes: [{ provider: azure, region: eu }, { provider: azure, region: us }, { provider: lone, region: eu }] }
  talk: { kind: chat, routes: [{ provider: azure, region: asia }] }
`;
    expect(problemsOf(text)).toEqual([
      'line 9: models.poster.routes.0.region is eu, where azure has no server',
      'line 10: models.talk.routes.0.region is asia, where azure has no server',
    ]);
  });

  it('has its schema in a file for editors', () => {
    const file = readFileSync(join(import.meta.dirname, '../../models.schema.json'), 'utf8');
    expect(JSON.parse(file)).toEqual(CATALOG_SCHEMA);
  });
});
