import { queryOptions } from '@tanstack/react-query';
import type { ClassPrices } from '#contract/token-classes.js';
import { get, send } from './request.ts';
import type { Schema } from './generated/schema.ts';

type Catalog = Schema['CatalogView'];
export type ProviderType = Catalog['types'][number];
/** The result of testing a provider's address and keys. */
export type Connection = Schema['ConnectionView'];
export type Owner = Catalog['models'][number]['owner'];

/** A provider as in models.yaml. */
export interface ProviderSource {
  readonly type: string;
  readonly base_url?: string;
  readonly limits?: { readonly concurrency?: number; readonly starts_per_minute?: number };
  readonly region?: string;
  /** Several equal servers instead of one, without their keys. */
  readonly servers?: readonly (Pick<ProviderSource, 'base_url' | 'limits' | 'region'> & { readonly name: string })[];
  readonly interrupted?: 'fail' | 'retry';
  readonly free?: boolean;
  readonly options?: Readonly<Record<string, unknown>>;
}

export interface RouteSource {
  readonly provider: string;
  readonly model?: string;
  readonly region?: string;
  readonly weight?: number;
  readonly capabilities?: {
    readonly edits?: boolean;
    readonly masks?: boolean;
    readonly markup?: boolean;
    readonly images?: number;
    readonly max_n?: number;
    readonly sizes?: readonly string[];
  };
}

export type TierPrice = number | Readonly<Record<string, number>>;

export interface PriceSource {
  readonly from: string;
  readonly per_image?: Readonly<Record<'1k' | '2k' | '4k', TierPrice>>;
  readonly cancelled?: number;
  readonly per_million_tokens?: ClassPrices & { readonly covers?: readonly string[] };
}

/** A model as in models.yaml. */
export interface ModelSource {
  readonly kind: 'image' | 'chat';
  readonly aliases?: readonly string[];
  readonly owned_by?: string;
  readonly shutdown_date?: string;
  readonly successors?: readonly string[];
  readonly extra?: Readonly<Record<string, object>>;
  readonly accepts?: {
    readonly qualities?: readonly string[];
    readonly edit_qualities?: readonly string[];
    readonly output_formats?: readonly string[];
    readonly sizes?: readonly string[];
    readonly pixel_sizes?: boolean;
    readonly complexities?: readonly string[];
    readonly input_fidelities?: readonly string[];
    readonly max_n?: number;
  };
  readonly routes: readonly RouteSource[];
  readonly prices?: readonly PriceSource[];
}

type Listed<Section extends 'providers' | 'models', Source> = Omit<Catalog[Section][number], 'entry'> & {
  readonly entry: Source;
};
export type CatalogProvider = Listed<'providers', ProviderSource>;
export type CatalogModel = Listed<'models', ModelSource>;

/** The catalog with typed entries; the OpenAPI document describes entries only as objects. */
export type ReadCatalog = Omit<Catalog, 'providers' | 'models'> & {
  readonly providers: readonly CatalogProvider[];
  readonly models: readonly CatalogModel[];
};

export const catalogQuery = queryOptions({
  queryKey: ['catalog', 'entries'],
  queryFn: ({ signal }) => get<ReadCatalog>('/catalog', {}, signal),
});

export const revisionsQuery = queryOptions({
  queryKey: ['catalog', 'revisions'],
  queryFn: ({ signal }) => get<Schema['RevisionListView']>('/catalog/revisions', {}, signal),
});

/** The models that a provider lists, for free; only with keys stored in the console. None if it does not respond. */
export function listedModelsQuery({ providers, types }: ReadCatalog, name: string) {
  const provider = providers.find((one) => one.name === name && one.owner === 'console');
  const lists = types.some(({ type, lists_models: can }) => can && type === provider?.entry.type);
  const body = { name, entry: provider?.entry, keys: provider?.keys.map((key) => ({ name: key })) };
  return queryOptions({
    queryKey: ['provider-models', body],
    queryFn: async () => (await send<Connection>('POST', '/catalog/connection', body)).models,
    enabled: lists,
    retry: false,
    staleTime: 300_000,
  });
}

/** Everything that shows models or providers. */
export const CATALOG_VIEWS = [['catalog'], ['models'], ['operation', 'providers']].map((queryKey) => ({ queryKey }));
