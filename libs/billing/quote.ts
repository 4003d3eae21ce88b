import { isFree, priceAt, type Catalog, type ModelEntry, type TokenPrices } from '#catalog/catalog.js';
import { DEFAULT_RESOLUTION, tierOfPixels, type Pixels, type Resolution } from '#contract/pixel-table.js';

/** What a task costs, as its row keeps it (`tasks.cost`). Amounts are millionths of the currency's unit. */
export interface TaskCost {
  /** What was set aside for all of its images when it was accepted; null when no price was known. */
  readonly reserved: number | null;
  /** ISO 4217. */
  readonly currency: string;
  /** Images that it is for; absent: one. Each costs the same part of what was set aside. */
  readonly n?: number;
  /** Prices per million tokens, where the image is paid by what its provider counts; `reserved` is then the most. */
  readonly tokens?: { readonly input: number; readonly output: number };
  /** 0..1: share of what was reserved that it costs when it is cancelled after a provider began it; absent = as usual. */
  readonly cancelled?: number;
  /** What it has cost in the end; written by a trigger when the task ends. */
  readonly settled?: number | null;
}

/** What the price of an image depends on. */
export interface PricedOptions {
  readonly pixels: Pixels | null;
  readonly resolution: Resolution | null;
  readonly quality: string | null;
  /** Images; absent: one. */
  readonly n?: number;
}

/** The qualities of older models, as the price book calls them where it has no price under their own name. */
const QUALITIES: Readonly<Record<string, string>> = { standard: 'medium', hd: 'high' };
const MILLION = 1_000_000n;

/** The tier an image is paid by: that of its pixels, and while only the provider knows those, that of the request. */
export function billedTier({ pixels, resolution }: PricedOptions): Resolution {
  return pixels === null ? (resolution ?? DEFAULT_RESOLUTION) : tierOfPixels(pixels);
}

/**
 * What a task's images cost that is accepted at a time; null when nothing is charged for them. `reserved` is null when the
 * price is not known. With `tokens` it is the most that they cost, else exactly what they do.
 */
export function quoteImage(catalog: Catalog, model: ModelEntry, options: PricedOptions, at: Date): TaskCost | null {
  if (isGratis(catalog, model)) return null;
  const { currency } = catalog;
  const price = priceAt(model, at);
  const byQuality = price?.images?.perImage[billedTier(options)];
  const quality = options.quality ?? 'auto';
  const ofOne = byQuality?.[quality] ?? byQuality?.[QUALITIES[quality] ?? 'auto'] ?? byQuality?.['auto'];
  if (ofOne === undefined) return { reserved: null, currency };
  const { tokens, cancelled } = price ?? {};
  const { n = 1 } = options;
  return {
    ...{ reserved: n * ofOne, currency },
    ...(n === 1 ? {} : { n }),
    ...(tokens === undefined ? {} : { tokens: { input: tokens.input, output: tokens.output } }),
    ...(cancelled === undefined ? {} : { cancelled }),
  };
}

/** The price of a chat that begins at a time; null when nothing is charged for it, undefined when it is not known. */
export function chatPrices(catalog: Catalog, model: ModelEntry, at: Date): TokenPrices | null | undefined {
  return isGratis(catalog, model) ? null : priceAt(model, at)?.tokens;
}

/** Tokens as a provider counted them; null where it said nothing. */
export interface CountedTokens {
  readonly input: number | null;
  readonly output: number | null;
  /** Of the input, what the provider had in its cache. */
  readonly cached: number | null;
}

/** What so many tokens cost in millionths, rounded up; null when the provider did not count them. */
export function tokenCost(prices: TokenPrices, { input, output, cached }: CountedTokens): number | null {
  if (input === null || output === null) return null;
  const fromCache = Math.min(cached ?? 0, input);
  const sum =
    BigInt(input - fromCache) * BigInt(prices.input) +
    BigInt(fromCache) * BigInt(prices.cachedInput ?? prices.input) +
    BigInt(output) * BigInt(prices.output);
  return Number((sum + MILLION - 1n) / MILLION);
}

/** Without a price book and without a provider that charges, nothing is charged. */
function isGratis(catalog: Catalog, model: ModelEntry): boolean {
  return model.prices.length === 0 && isFree(model, catalog);
}
