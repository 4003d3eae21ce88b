import { isFree, priceAt, type Catalog, type ModelEntry, type TokenPrices } from '#catalog/catalog.js';
import type { TokenCosts } from '#contract/cost-view.js';
import { DEFAULT_RESOLUTION, tierOfPixels, type Pixels, type Resolution } from '#contract/pixel-table.js';
import { classPrices, type ClassPrices } from '#contract/token-classes.js';

/** The cost of a task, as stored in `tasks.cost`. Amounts are millionths of the currency's unit. */
export interface TaskCost {
  /** What was reserved for all its images at acceptance; null when no price was known. */
  readonly reserved: number | null;
  /** ISO 4217. */
  readonly currency: string;
  /** Number of images; absent: one. Each costs the same part of `reserved`. */
  readonly n?: number;
  /**
   * For images priced by the provider's token counts; `reserved` is then the maximum, or null where the price has none.
   */
  readonly tokens?: ClassPrices;
  /** 0..1: share of `reserved` to charge when it is canceled after a provider started it; absent = the default. */
  readonly cancelled?: number;
  /** The final cost; written by a trigger when the task ends. */
  readonly settled?: number | null;
  /** What the provider counted, and what it costs at `tokens`; written with `settled`, which is less if the maximum is. */
  readonly tokenCosts?: TokenCosts;
}

/** Options that affect the price of an image. */
export interface PricedOptions {
  readonly pixels: Pixels | null;
  readonly resolution: Resolution | null;
  readonly quality: string | null;
  /** Number of images; absent: one. */
  readonly n?: number;
}

/** The price book's names for the qualities of older models, used when it has no price under the original name. */
const QUALITIES: Readonly<Record<string, string>> = { standard: 'medium', hd: 'high' };
const MILLION = 1_000_000n;

/** The tier that sets an image's price: by its pixels, or by the request while only the provider knows them. */
export function billedTier({ pixels, resolution }: PricedOptions): Resolution {
  return pixels === null ? (resolution ?? DEFAULT_RESOLUTION) : tierOfPixels(pixels);
}

/**
 * The cost of a task accepted at a time; null when its images are free. `reserved` is null when the price, or the maximum
 * of one by tokens, is unknown. With `tokens` it is the maximum, otherwise the exact cost.
 */
export function quoteImage(catalog: Catalog, model: ModelEntry, options: PricedOptions, at: Date): TaskCost | null {
  if (isFreeModel(catalog, model)) return null;
  const { currency } = catalog;
  const price = priceAt(model, at);
  const byQuality = price?.images?.perImage[billedTier(options)];
  const quality = options.quality ?? 'auto';
  const ofOne = byQuality?.[quality] ?? byQuality?.[QUALITIES[quality] ?? 'auto'] ?? byQuality?.['auto'];
  const { tokens, cancelled } = price ?? {};
  if (ofOne === undefined && tokens === undefined) return { reserved: null, currency };
  const { n = 1 } = options;
  return {
    reserved: ofOne === undefined ? null : n * ofOne,
    currency,
    ...(n === 1 ? {} : { n }),
    ...(tokens === undefined ? {} : { tokens: classPrices(tokens) }),
    ...(cancelled === undefined ? {} : { cancelled }),
  };
}

/**
 * The lowest price of an image of these models in millionths, 0 if one of them is free; undefined if none has a known
 * price that limits it.
 */
export function cheapestImage(catalog: Catalog, models: readonly ModelEntry[], at: Date): number | undefined {
  const prices = models.flatMap((model) => {
    if (isFreeModel(catalog, model)) return [0];
    const tiers = Object.values(priceAt(model, at)?.images?.perImage ?? {});
    return tiers.flatMap((byQuality) => Object.values(byQuality));
  });
  return prices.length === 0 ? undefined : prices.reduce((least, price) => Math.min(least, price));
}

/** The price of a chat that starts at a time; null when it is free, undefined when the price is unknown. */
export function chatPrices(catalog: Catalog, model: ModelEntry, at: Date): TokenPrices | null | undefined {
  return isFreeModel(catalog, model) ? null : priceAt(model, at)?.tokens;
}

/** Token counts of a provider; null where it reported none. */
export interface CountedTokens {
  readonly input: number | null;
  readonly output: number | null;
  /** Input tokens from the provider's cache. */
  readonly cached: number | null;
}

/** The cost of these tokens in millionths, rounded up; null when the provider did not count them. */
export function tokenCost(prices: TokenPrices, { input, output, cached }: CountedTokens): number | null {
  if (input === null || output === null) return null;
  const fromCache = Math.min(cached ?? 0, input);
  const sum =
    BigInt(input - fromCache) * BigInt(prices.input) +
    BigInt(fromCache) * BigInt(prices.cached_input ?? prices.input) +
    BigInt(output) * BigInt(prices.output);
  return Number((sum + MILLION - 1n) / MILLION);
}

/** Free: no price book, and no provider that charges. */
function isFreeModel(catalog: Catalog, model: ModelEntry): boolean {
  return model.prices.length === 0 && isFree(model, catalog);
}
