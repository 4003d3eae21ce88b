import type { AcceptedValues } from '#contract/accepted-values.js';
import type { ProviderEntry } from '#providers/provider-entry.js';

/** What a caller may ask a model for. */
export type ModelKind = 'image' | 'chat';

/** Fields of a chat that order more than tokens, dearer tokens, or another model. */
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
];

/** One way to have a model's work done. */
export interface Route {
  readonly provider: string;
  /** What the provider calls the model. */
  readonly model: string;
  /** Share among the routes of its rank. */
  readonly weight: number;
  readonly edits: boolean;
  readonly masks: boolean;
  /** Most reference images a request may have. */
  readonly images: number;
  /** Most images that one call returns. */
  readonly maxN: number;
  /** Exact `<w>x<h>` the provider can make; undefined means any. */
  readonly sizes: readonly string[] | undefined;
}

/** Amounts of money in millionths of the catalog's currency unit. */
interface ImagePrices {
  /** By tier, then by quality; `auto` is what an unlisted quality costs. */
  readonly perImage: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/** What tokens cost, in units of the catalog's currency. */
export interface TokenPrices {
  /** Per million tokens. */
  readonly input: number;
  readonly cachedInput: number | undefined;
  readonly output: number;
  /** Fields of a chat that cost extra and may be used all the same. */
  readonly covers?: readonly string[] | undefined;
}

/** What callers pay from a day on. */
export interface PriceEntry {
  /** Midnight UTC. */
  readonly from: Date;
  readonly images: ImagePrices | undefined;
  readonly tokens: TokenPrices | undefined;
  /** 0..1: share of its price that an image costs which is cancelled after a provider began it; undefined = as docs/billing.md says. */
  readonly cancelled: number | undefined;
}

/** A model that callers may name: who makes it, and what it costs. */
export interface ModelEntry {
  readonly name: string;
  /** Other names that callers may use for it. */
  readonly aliases: readonly string[];
  readonly kind: ModelKind;
  readonly ownedBy: string;
  /** What image requests may say to it; means nothing for chats. */
  readonly accepts: AcceptedValues;
  /** Ranks in the order they are tried; the routes of one rank share the work by weight. */
  readonly ranks: readonly (readonly Route[])[];
  /** Oldest first; empty means that it is free where all its providers are, and that nobody knows where they are not. */
  readonly prices: readonly PriceEntry[];
}

/** Which models are served, by whom, and what they cost. Never changes; a changed file makes another one. */
export interface Catalog {
  /** ISO 4217. */
  readonly currency: string;
  readonly providers: ReadonlyMap<string, ProviderEntry>;
  /** By their own names; `findModel` knows the aliases too. */
  readonly models: ReadonlyMap<string, ModelEntry>;
}

/** Something wrong with an entry: where it stands in the catalog, and what is wrong, to follow that place. */
export interface EntryProblem {
  readonly path: readonly (string | number)[];
  readonly text: string;
}

/** All that is wrong with a catalog, each with its line. Values of secrets are never part of it. */
export class CatalogError extends Error {
  override readonly name = 'CatalogError';
  constructor(
    readonly source: string,
    readonly problems: readonly string[],
  ) {
    super(`${source} can't be used:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
  }
}

/** The model that callers mean by its name or an alias, if it is served. */
export function findModel({ models }: Catalog, name: string): ModelEntry | undefined {
  return models.get(name) ?? [...models.values()].find(({ aliases }) => aliases.includes(name));
}

/** Like `findModel`, for models of that kind only. */
export function modelOf(catalog: Catalog, kind: ModelKind, name: string): ModelEntry | undefined {
  const model = findModel(catalog, name);
  return model?.kind === kind ? model : undefined;
}

/** Names of the image models, in the catalog's order. */
export function imageModelsOf(catalog: Catalog): string[] {
  return [...catalog.models.values()].filter(({ kind }) => kind === 'image').map(({ name }) => name);
}

/** Names of the providers that image models have routes of, in the catalog's order; what is drawn by the sandbox has none. */
export function imageProvidersOf({ models, providers }: Catalog): string[] {
  const images = [...models.values()].filter(({ kind }) => kind === 'image');
  const names = new Set(images.flatMap(({ ranks }) => ranks.flat().map(({ provider }) => provider)));
  return [...providers.values()]
    .filter(({ name, type }) => names.has(name) && type !== 'sandbox')
    .map(({ name }) => name);
}

/** The prices in force at a time, by the catalog's order. */
export function priceAt(model: ModelEntry, when: Date): PriceEntry | undefined {
  return model.prices.findLast(({ from }) => from <= when);
}

/** Whether nothing that can be asked to serve the model ever charges. */
export function isFree(model: ModelEntry, catalog: Catalog): boolean {
  return model.ranks.flat().every(({ provider }) => catalog.providers.get(provider)?.free === true);
}
