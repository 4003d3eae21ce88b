import { parseCatalog } from '#catalog/parse-catalog.js';
import { ChatPlan } from './chat-plan.js';

const CATALOG = parseCatalog(
  `providers:
  a: { type: openai, keys: [{ name: k1, env: KEY }, { name: k2, env: KEY }] }
  b: { type: openai }
  c: { type: openai }
  pool:
    type: openai
    servers:
      - { name: x, keys: [{ name: k1, env: KEY }, { name: k2, env: KEY }], region: eu }
      - { name: y, keys: [{ name: k1, env: KEY }, { name: k2, env: KEY }], region: eu }
      - { name: z, keys: [{ name: k1, env: KEY }, { name: k2, env: KEY }], region: us }
models:
  pooled: { kind: chat, routes: [{ provider: pool }, { provider: b }] }
  m: { kind: chat, routes: [{ provider: a }, { provider: b, weight: 3 }, { provider: c, weight: 1, model: other }] }
`,
  'test',
  { KEY: 'secret' },
);

describe('ChatPlan', () => {
  let now = 0;
  let plan: ChatPlan;
  let next: number[];
  beforeEach(() => {
    now = 1_000;
    next = [];
    plan = new ChatPlan(
      () => next.shift() ?? 0.5,
      () => now,
    );
  });
  const names = (): string[] =>
    plan.attempts(CATALOG.models.get('m')!, CATALOG).map(({ provider, key }) => provider.name + (key?.name ?? ''));

  it('asks ranks in their order, keys in rotation, and the routes of a rank by chance', () => {
    expect(names()).toEqual(['ak1', 'ak2', 'b', 'c']);
    next = [0.9, 0.1];
    expect(names()).toEqual(['ak2', 'ak1', 'c', 'b']);
  });

  it('asks each server with each of its keys first, equally often, also within a region', () => {
    const model = CATALOG.models.get('pooled')!;
    const firstsOf = (count: number, region?: string): string[] =>
      Array.from({ length: count }, () => plan.attempts(model, CATALOG, undefined, undefined, region)[0]!)
        .map(({ provider, key }) => `${provider.server} ${key?.name}`)
        .sort();
    expect(firstsOf(12)).toEqual(['x k1', 'x k2', 'y k1', 'y k2', 'z k1', 'z k2'].flatMap((pair) => [pair, pair]));
    expect(firstsOf(8, 'eu')).toEqual(['x k1', 'x k2', 'y k1', 'y k2'].flatMap((pair) => [pair, pair]));
  });

  it('plans every server and key, however many there are before the last route', () => {
    const planned = plan.attempts(CATALOG.models.get('pooled')!, CATALOG);
    expect(planned.map(({ provider }) => provider.name)).toEqual([...Array<string>(6).fill('pool'), 'b']);
  });

  it('gives each route of a rank its share', () => {
    const fair = new ChatPlan();
    const firsts = Array.from(
      { length: 4_000 },
      () => fair.attempts(CATALOG.models.get('m')!, CATALOG)[2]?.provider.name,
    );
    const share = firsts.filter((name) => name === 'b').length / firsts.length;
    expect(share).toBeGreaterThan(0.7);
    expect(share).toBeLessThan(0.8);
  });

  it('leaves out what is drained, however many keys it has', () => {
    const left = plan.attempts(CATALOG.models.get('m')!, CATALOG, ({ name }) => name === 'a');
    expect(left.map(({ provider }) => provider.name)).toEqual(['b', 'c']);
  });

  it('asks what rests last, and as before when its rest is over', () => {
    const [first] = plan.attempts(CATALOG.models.get('m')!, CATALOG);
    plan.coolDown(first!, 5);
    expect(names()).toEqual(['ak2', 'b', 'c', 'ak1']);
    now += 5_000;
    expect(names()).toEqual(['ak1', 'ak2', 'b', 'c']);
  });
});
