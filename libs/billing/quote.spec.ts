import { parseCatalog } from '#catalog/parse-catalog.js';
import type { ModelEntry } from '#catalog/catalog.js';
import { chatPrices, cheapestImage, quoteImage, tokenCost } from './quote.js';

const CATALOG = parseCatalog(
  `currency: EUR
providers:
  paid: { type: openai, keys: [{ env: KEY }] }
  gpu: { type: comfyui, base_url: http://10.0.0.5:8188, free: true }
  sandbox: { type: sandbox }
models:
  priced:
    kind: image
    routes: [{ provider: paid }]
    prices:
      - { from: 2026-02-01, per_image: { 1k: 0.02, 2k: { auto: 0.04, medium: 0.05, high: 0.08 }, 4k: 0.16 } }
      - { from: 2026-06-01, per_image: { 1k: 0, 2k: 0.03, 4k: 0.1 }, per_million_tokens: { input: 5, output: 30 } }
  metered:
    kind: image
    routes: [{ provider: paid }]
    prices: [{ from: 2026-02-01, cancelled: 0, per_million_tokens: { input: 5, cached_input: 1.25, image_input: 8, output: 30, covers: [tools] } }]
  free: { kind: image, routes: [{ provider: gpu }, { provider: sandbox }] }
  mixed: { kind: image, routes: [{ provider: gpu }, { provider: paid }] }
  sold: { kind: image, routes: [{ provider: gpu }], prices: [{ from: 2026-06-01, per_image: { 1k: 1, 2k: 1, 4k: 1 } }] }
  talk:
    kind: chat
    routes: [{ provider: paid }]
    prices: [{ from: 2026-02-01, per_million_tokens: { input: 1.25, cached_input: 0.125, output: 10 } }]
  unpriced-talk: { kind: chat, routes: [{ provider: paid }] }
  free-talk: { kind: chat, routes: [{ provider: sandbox }] }
`,
  'test',
  { KEY: 'k' },
);
const BEFORE = new Date('2026-01-31T23:59:59Z');
const SPRING = new Date('2026-05-31T23:59:59Z');
const SUMMER = new Date('2026-06-01T00:00:00Z');
const ASKED = { pixels: { width: 2048, height: 1152 }, resolution: '2k', quality: null } as const;
const modelOf = (name: string): ModelEntry => CATALOG.models.get(name) as ModelEntry;
const quote = (name: string, at: Date, changes: Partial<Parameters<typeof quoteImage>[2]> = {}) =>
  quoteImage(CATALOG, modelOf(name), { ...ASKED, ...changes }, at);

describe('the cheapest image', () => {
  const cheapest = (names: readonly string[], at = SPRING) => cheapestImage(CATALOG, names.map(modelOf), at);

  it('is the lowest price of any tier and quality of the models', () => {
    expect(cheapest(['priced'])).toBe(20_000);
    expect(cheapest(['priced', 'metered'])).toBe(20_000);
    expect(cheapest(['sold'], SUMMER)).toBe(1_000_000);
  });

  it('is free with a free model, and unknown where no price limits any of them', () => {
    expect(cheapest(['priced', 'free'])).toBe(0);
    expect(cheapest(['metered', 'mixed'])).toBeUndefined();
    expect(cheapest(['priced'], BEFORE)).toBeUndefined();
    expect(cheapest([])).toBeUndefined();
  });
});

describe('the quote of an image', () => {
  it.each([
    ['the tier of its pixels', {}, 40_000],
    ['a quality of its own price', { quality: 'high' }, 80_000],
    ['an older name of that quality', { quality: 'hd' }, 80_000],
    ['another older name', { quality: 'standard' }, 50_000],
    ['a quality that is not listed', { quality: 'low' }, 40_000],
    ['the pixels rather than the tier that is named beside them', { pixels: { width: 3840, height: 2160 } }, 160_000],
    ['the tier that is named for auto', { pixels: null, resolution: '4k' as const }, 160_000],
    ['the usual tier for auto without one', { pixels: null, resolution: null }, 40_000],
  ])('goes by %s', (_name, changes, reserved) => {
    expect(quote('priced', SPRING, changes)).toEqual({ reserved, currency: 'EUR' });
  });

  it('changes with the day, and is the most where tokens decide', () => {
    const tokens = { input: 5_000_000, output: 30_000_000 };
    expect(quote('priced', SUMMER)).toEqual({ reserved: 30_000, currency: 'EUR', tokens });
  });

  it('is unknown, but not its price, where tokens decide without a maximum', () => {
    const tokens = { input: 5_000_000, cached_input: 1_250_000, image_input: 8_000_000, output: 30_000_000 };
    expect(quote('metered', SPRING, { n: 2 })).toEqual({ reserved: null, currency: 'EUR', n: 2, tokens, cancelled: 0 });
    expect(quote('metered', BEFORE)).toEqual({ reserved: null, currency: 'EUR' });
  });

  it('is for all images together', () => {
    expect(quote('priced', SPRING, { quality: 'high', n: 3 })).toEqual({ reserved: 240_000, currency: 'EUR', n: 3 });
    expect(quote('priced', SPRING, { n: 1 })).toEqual(quote('priced', SPRING));
    expect(quote('mixed', SPRING, { n: 3 })).toEqual({ reserved: null, currency: 'EUR' });
    expect(quote('free', SPRING, { n: 3 })).toBeNull();
  });

  it('is a known zero where the price book says so', () => {
    expect(quote('priced', SUMMER, { pixels: { width: 1024, height: 1024 } })).toMatchObject({ reserved: 0 });
  });

  it('is unknown where a provider charges and no price is in force', () => {
    const unknown = { reserved: null, currency: 'EUR' };
    expect(quote('priced', BEFORE)).toEqual(unknown);
    expect(quote('mixed', SUMMER)).toEqual(unknown);
    expect(quote('sold', SPRING)).toEqual(unknown);
  });

  it('is none where nothing is charged', () => {
    expect(quote('free', SUMMER)).toBeNull();
  });
});

describe('the price of a chat', () => {
  it('is known, unknown, or nothing', () => {
    expect(chatPrices(CATALOG, modelOf('talk'), SUMMER)).toEqual({
      input: 1_250_000,
      cached_input: 125_000,
      output: 10_000_000,
    });
    expect(chatPrices(CATALOG, modelOf('talk'), BEFORE)).toBeUndefined();
    expect(chatPrices(CATALOG, modelOf('unpriced-talk'), SUMMER)).toBeUndefined();
    expect(chatPrices(CATALOG, modelOf('free-talk'), SUMMER)).toBeNull();
  });

  it.each([
    [{ input: 1_000_000, output: 1_000_000, cached: 0 }, 11_250_000],
    [{ input: 1_000_000, output: 0, cached: 400_000 }, 800_000],
    [{ input: 1, output: 0, cached: null }, 2],
    [{ input: 2_147_483_647, output: 2_147_483_647, cached: 0 }, 24_159_191_029],
    [{ input: 5, output: 0, cached: 9 }, 1],
    [{ input: null, output: 5, cached: null }, null],
    [{ input: 5, output: null, cached: null }, null],
  ])('of %j is %s millionths', (tokens, cost) => {
    expect(tokenCost({ input: 1_250_000, cached_input: 125_000, output: 10_000_000 }, tokens)).toBe(cost);
  });
});
