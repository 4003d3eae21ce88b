import type { AcceptedValues } from '#contract/accepted-values.js';
import type { ExtraField } from '#contract/extra-fields.js';
import type { ClassPrices } from '#contract/token-classes.js';
import type { Provider } from '#providers/provider-entry.js';

/** What a model generates. */
export type ModelKind = 'image' | 'chat';

/** Chat fields that request more than tokens, more expensive tokens, or another model. */
export const CHAT_EXTRAS = [
  'service_tier',
  'tools',
  'web_search_options',
  'search_parameters',
  'plugins',
  'models',
  'route',
  'provider',
  'audio',
  'modalities',
  'extra_body',
  'fallbacks',
  'enable_search',
  'speed',
  'num_completions',
  'best_of',
  'mcp_servers',
  'preset',
  'providerOptions',
  'context_window_fallbacks',
  'content_policy_fallbacks',
  'web_search',
  'search_options',
  'search_settings',
  'connectors',
  'data_sources',
  'enable_code_interpreter',
  'container',
  'performance_config',
  'inference_geo',
  'deferred',
  'background',
  'prompt',
];

/** One provider that can serve a model. */
export interface Route {
  readonly provider: string;
  /** The provider's name for the model. */
  readonly model: string;
  /** Only servers of this region are called; where a server names none, it is the route's. */
  readonly region?: string | undefined;
  /** Share among the routes of its rank. */
  readonly weight: number;
  readonly edits: boolean;
  readonly masks: boolean;
  /** Whether it accepts drawing over the first image. */
  readonly markup: boolean;
  /** Whether its provider can return SVG documents. */
  readonly svg: boolean;
  /** Maximum reference images of a request. */
  readonly images: number;
  /** Maximum images that one call returns. */
  readonly maxN: number;
  /** Exact `<w>x<h>` sizes that the provider can generate; undefined means any. */
  readonly sizes: readonly string[] | undefined;
}

/** Prices in millionths of the catalog's currency unit. */
interface ImagePrices {
  /** By tier, then by quality; `auto` is the price of qualities without their own. */
  readonly perImage: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/** Prices of tokens, in millionths of the catalog's currency unit. */
export interface TokenPrices extends ClassPrices {
  /** Chat fields that are accepted although they cost extra. */
  readonly covers?: readonly string[] | undefined;
}

/** What callers pay from a day on. */
export interface PriceEntry {
  /** Midnight UTC. */
  readonly from: Date;
  readonly images: ImagePrices | undefined;
  readonly tokens: TokenPrices | undefined;
  /**
   * 0..1: share of the price charged for an image that is canceled after a provider started it; undefined = the rule in
   * docs/billing.md.
   */
  readonly cancelled: number | undefined;
}

/** An end that a model has or had, and what replaces it. */
export interface ModelEnd {
  /** First day without the model, in UTC: `2026-12-01`. */
  readonly shutdownDate: string;
  /** Names of models to use instead. */
  readonly successors: readonly string[];
}

/** A model that callers can use: its routes and its prices. */
export interface ModelEntry {
  readonly name: string;
  /** Other names for it in requests. */
  readonly aliases: readonly string[];
  readonly kind: ModelKind;
  readonly ownedBy: string;
  /** Undefined: none is known. From its day on, requests for the model are refused. */
  readonly end: ModelEnd | undefined;
  /** Values that image requests may have; not used for chats. */
  readonly accepts: AcceptedValues;
  /** Fields of image requests that only this entry knows, by name. */
  readonly extra: ReadonlyMap<string, ExtraField>;
  /** Ranks in the order in which they are tried; the routes of a rank share its work by weight. */
  readonly ranks: readonly (readonly Route[])[];
  /** Oldest first. Empty: the model is free if all its providers are free; otherwise its price is unknown. */
  readonly prices: readonly PriceEntry[];
}

/** The served models, their providers, and their prices. Immutable; a changed file creates a new catalog. */
export interface Catalog {
  /** ISO 4217. */
  readonly currency: string;
  readonly providers: ReadonlyMap<string, Provider>;
  /** By model name; use `findModel` to include aliases. */
  readonly models: ReadonlyMap<string, ModelEntry>;
}

/** A problem of an entry: its path in the catalog, and a text that follows the path. */
export interface EntryProblem {
  readonly path: readonly (string | number)[];
  readonly text: string;
}

/** All problems of a catalog, each with its line. Secret values are never included. */
export class CatalogError extends Error {
  override readonly name = 'CatalogError';
  constructor(
    readonly source: string,
    readonly problems: readonly string[],
  ) {
    super(`${source} can't be used:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
  }
}

/** The model with this name or alias, if it is served. */
export function findModel({ models }: Catalog, name: string): ModelEntry | undefined {
  return models.get(name) ?? [...models.values()].find(({ aliases }) => aliases.includes(name));
}

/** Like `findModel`, but only for models of one kind. */
export function modelOf(catalog: Catalog, kind: ModelKind, name: string): ModelEntry | undefined {
  const model = findModel(catalog, name);
  return model?.kind === kind ? model : undefined;
}

/** Names of the models of a kind that have not ended, in the catalog's order. */
export function servedNames(catalog: Catalog, kind: ModelKind, now: Date): string[] {
  const served = [...catalog.models.values()].filter((model) => model.kind === kind && !hasEnded(model.end, now));
  return served.map(({ name }) => name);
}

/** Whether the day has begun on which a model ends; false for one without an end. */
export function hasEnded(end: ModelEnd | undefined, now: Date): boolean {
  return end !== undefined && Date.parse(end.shutdownDate) <= now.getTime();
}

/** Names of the providers in image models' routes, in the catalog's order, without the sandbox. */
export function imageProvidersOf({ models, providers }: Catalog): string[] {
  const images = [...models.values()].filter(({ kind }) => kind === 'image');
  const names = new Set(images.flatMap(({ ranks }) => ranks.flat().map(({ provider }) => provider)));
  return [...providers.values()]
    .filter(({ name, type }) => names.has(name) && type !== 'sandbox')
    .map(({ name }) => name);
}

/** The latest prices that apply at `when`; price entries are listed oldest first. */
export function priceAt(model: ModelEntry, when: Date): PriceEntry | undefined {
  return model.prices.findLast(({ from }) => from <= when);
}

/** Whether all of the model's providers are free. */
export function isFree(model: ModelEntry, catalog: Catalog): boolean {
  return model.ranks.flat().every(({ provider }) => catalog.providers.get(provider)?.free === true);
}
