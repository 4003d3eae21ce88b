import { modelOf, type Catalog } from '#catalog/catalog.js';
import { parseCatalog } from '#catalog/parse-catalog.js';
import { AppError } from '#contract/app-error.js';
import { serverId } from '#providers/provider-entry.js';
import { assertServedIn, poolsOf, routePlan, type RouteNeeds } from './route-plan.js';

const PROVIDERS = `providers:
  main: { type: openai, keys: [{ name: a, env: KEY }, { name: b, env: KEY }, { name: c, env: KEY }] }
  heavy: { type: openai, base_url: http://heavy.example/v1 }
  light: { type: openai, base_url: http://light.example/v1 }
models:
  poster:
    kind: image
    routes:
`;
const PLAIN: RouteNeeds = { images: 0, mask: false };

function serving(...routes: string[]): Catalog {
  const text = PROVIDERS + routes.map((route) => `      - ${route}\n`).join('');
  return parseCatalog(text, 'models.yaml', { KEY: 'secret' });
}

function plan(catalog: Catalog, needs = PLAIN, seed = 'task_1 1'): string[] {
  const model = modelOf(catalog, 'image', 'poster');
  if (model === undefined) throw new Error('no model');
  return routePlan(model, catalog, needs, seed).map(({ provider, key }) => `${provider.name}/${key?.name ?? ''}`);
}

/** How often each comes first, over many tasks. */
function firsts(catalog: Catalog): Map<string, number> {
  const counts = new Map<string, number>();
  for (let n = 0; n < 4_000; n++) {
    const [first = ''] = plan(catalog, PLAIN, `task_${n} 1`);
    counts.set(first, (counts.get(first) ?? 0) + 1);
  }
  return counts;
}

describe('the plan of a task', () => {
  it('asks rank after rank, and the same way every time', () => {
    const catalog = serving('{ provider: heavy }', '{ provider: light, model: theirs }');
    expect(plan(catalog)).toEqual(['heavy/', 'light/']);
    const model = catalog.models.get('poster');
    if (model === undefined) throw new Error('no model');
    expect(routePlan(model, catalog, PLAIN, 's').map((candidate) => candidate.model)).toEqual(['poster', 'theirs']);
    const weighted = serving('{ provider: heavy, weight: 3 }', '{ provider: light, weight: 1 }');
    expect(plan(weighted, PLAIN, 'task_7 2')).toEqual(plan(weighted, PLAIN, 'task_7 2'));
  });

  it('asks one provider alone where it is said, and says so when that has no route', () => {
    const catalog = serving('{ provider: heavy }', '{ provider: light }', '{ provider: main }');
    expect(plan(catalog, { ...PLAIN, onlyProvider: 'light' })).toEqual(['light/']);
    expect(plan(catalog, { ...PLAIN, onlyProvider: 'main' }).sort()).toEqual(['main/a', 'main/b', 'main/c']);
    expect(() => plan(serving('{ provider: heavy }'), { ...PLAIN, onlyProvider: 'light' })).toThrow(
      'light no longer serves poster.',
    );
  });

  it('stays in the region of a pin, and says so when nobody is there', () => {
    const text = `providers:
  azure:
    type: openai
    servers:
      - { name: sweden, base_url: http://a.example, region: eu }
      - { name: east, base_url: http://b.example, region: us }
      - { name: anywhere, base_url: http://c.example }
  lone: { type: openai, base_url: http://d.example, region: eu }
models:
  poster:
    kind: image
    routes: [{ provider: azure, region: us }, { provider: azure, model: other }, { provider: lone }]
`;
    const catalog = parseCatalog(text, 'models.yaml', {});
    const model = modelOf(catalog, 'image', 'poster')!;
    const found = (region?: string) =>
      routePlan(model, catalog, { ...PLAIN, region }, 'task_1 1')
        .map(({ provider, model: name, region: where }) => [serverId(provider), name, where].join(' '))
        .sort();
    expect(found('eu')).toEqual(['azure/sweden other eu', 'lone poster eu']);
    const onlyUs = { ...model, ranks: model.ranks.slice(0, 1) };
    expect(() => assertServedIn(onlyUs, catalog, 'eu')).toThrow(
      'poster is not served in the region eu: its regions are us.',
    );
    // A route's region is that of the servers which name none.
    expect(found('us')).toEqual(['azure/anywhere poster us', 'azure/east other us', 'azure/east poster us']);
    expect(found()).toHaveLength(6);
    expect(() => found('asia')).toThrow('No provider in the region asia can generate this request with poster.');
    expect(() => assertServedIn(model, catalog, 'asia')).toThrow(
      'poster is not served in the region asia: its regions are eu, us.',
    );
    expect(() => assertServedIn(model, catalog, 'eu')).not.toThrow();
    const plain = serving('{ provider: heavy }');
    expect(() => assertServedIn(modelOf(plain, 'image', 'poster')!, plain, 'eu')).toThrow(
      'poster is not served in the region eu: it has no region.',
    );
  });

  it('says so when a route has no server in its region', () => {
    const catalog = serving('{ provider: heavy }');
    const heavy = catalog.providers.get('heavy')!;
    const moved = { ...heavy, servers: heavy.servers.map((server) => ({ ...server, region: 'us' })) };
    const model = modelOf(catalog, 'image', 'poster')!;
    const inEurope = { ...model, ranks: model.ranks.map((rank) => rank.map((route) => ({ ...route, region: 'eu' }))) };
    const providers = new Map(catalog.providers).set('heavy', moved);
    expect(() => routePlan(inEurope, { ...catalog, providers }, PLAIN, 'task_1 1')).toThrow(
      'No server of its providers can generate an image with poster anymore.',
    );
  });

  it('calls each server with one key before any with the next', () => {
    const text = `providers:
  pool:
    type: openai
    servers:
      - { name: x, base_url: http://a.example, keys: [{ name: a, env: KEY }, { name: b, env: KEY }] }
      - { name: y, base_url: http://b.example, keys: [{ name: c, env: KEY }] }
models:
  poster: { kind: image, routes: [{ provider: pool }] }
`;
    const catalog = parseCatalog(text, 'models.yaml', { KEY: 'secret' });
    const all = routePlan(modelOf(catalog, 'image', 'poster')!, catalog, PLAIN, 'task_1 1');
    expect(
      all
        .map(({ provider }) => provider.server)
        .slice(0, 2)
        .sort(),
    ).toEqual(['x', 'y']);
    expect(all.map(({ key }) => key?.name).sort()).toEqual(['a', 'b', 'c']);
    expect(poolsOf(all)).toEqual([all]);
  });

  it('leaves out for a strict request who would adapt it, and says so when that is everybody', () => {
    const small = '{ provider: light, capabilities: { sizes: [1024x1024] } }';
    const exactly = {
      action: 'generation' as const,
      pixels: { width: 2048, height: 1152 },
      images: 0,
      mask: false,
      background: null,
      quality: null,
      moderation: null,
      inputFidelity: null,
    };
    expect(plan(serving(small, '{ provider: heavy }'), PLAIN)).toEqual(['light/', 'heavy/']);
    expect(plan(serving(small, '{ provider: heavy }'), { ...PLAIN, exactly })).toEqual(['heavy/']);
    const nobody = (): unknown => plan(serving(small), { ...PLAIN, exactly });
    expect(nobody).toThrow(AppError);
    expect(nobody).toThrow(/exactly/);
  });

  it('shares the work of a rank by weight, and leaves nobody out', () => {
    const catalog = serving('{ provider: heavy, weight: 3 }', '{ provider: light, weight: 1 }');
    const share = (firsts(catalog).get('heavy/') ?? 0) / 4_000;
    expect(share).toBeGreaterThan(0.71);
    expect(share).toBeLessThan(0.79);
    expect(new Set(plan(catalog))).toEqual(new Set(['heavy/', 'light/']));
  });

  it('asks all keys of a provider before the next one, and begins with each as often', () => {
    const catalog = serving('{ provider: main }', '{ provider: light }');
    expect(plan(catalog).slice(0, 3).sort()).toEqual(['main/a', 'main/b', 'main/c']);
    expect(plan(catalog)[3]).toBe('light/');
    for (const key of ['a', 'b', 'c']) {
      const share = (firsts(catalog).get(`main/${key}`) ?? 0) / 4_000;
      expect(share).toBeGreaterThan(0.3);
      expect(share).toBeLessThan(0.37);
    }
  });

  it('leaves out the routes that can’t do the request', () => {
    const catalog = serving(
      '{ provider: heavy, capabilities: { edits: false } }',
      '{ provider: main, capabilities: { masks: false } }',
      '{ provider: light, capabilities: { images: 2, max_n: 2 } }',
    );
    const providers = (needs: RouteNeeds): string[] => [
      ...new Set(plan(catalog, needs).map((name) => name.slice(0, name.indexOf('/')))),
    ];
    expect(providers(PLAIN)).toEqual(['heavy', 'main', 'light']);
    expect(providers({ images: 1, mask: false })).toEqual(['main', 'light']);
    expect(providers({ images: 1, mask: true })).toEqual(['light']);
    expect(providers({ images: 3, mask: false })).toEqual(['main']);
    expect(() => providers({ images: 1, mask: false, markup: true })).toThrow('does not support markup');
    const drawn = serving('{ provider: main }', '{ provider: light, capabilities: { markup: true } }');
    expect(plan(drawn, { images: 1, mask: false, markup: true })).toEqual(['light/']);
    expect(providers({ images: 1, mask: false, n: 2 })).toEqual(['main', 'light']);
    expect(providers({ images: 1, mask: false, n: 3 })).toEqual(['main']);
  });

  it.each([
    [
      '{ provider: heavy, capabilities: { edits: false } }',
      { images: 1, mask: false },
      'unsupported_parameter',
      'image',
    ],
    ['{ provider: heavy, capabilities: { masks: false } }', { images: 1, mask: true }, 'unsupported_parameter', 'mask'],
    [
      '{ provider: heavy, capabilities: { max_n: 2 } }',
      { images: 0, mask: false, n: 3 },
      'integer_above_max_value',
      'n',
    ],
    ['{ provider: heavy, capabilities: { images: 2 } }', { images: 3, mask: false }, 'array_above_max_length', 'image'],
  ])('says what nobody can do: %s', (route, needs, code, param) => {
    let refused: unknown;
    try {
      plan(serving(route), needs);
    } catch (error) {
      refused = error;
    }
    expect(refused).toBeInstanceOf(AppError);
    expect(refused).toMatchObject({ code, param, status: 400 });
  });
});
