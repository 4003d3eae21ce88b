import { queryOptions } from '@tanstack/react-query';
import { queryClient } from './queries.ts';
import { get, send } from './request.ts';
import type { Schema } from './generated/schema.ts';

type Catalog = Schema['CatalogView'];
export type ProviderType = Catalog['types'][number];
/** What came of trying a provider's address and keys. */
export type Connection = Schema['ConnectionView'];
export type Owner = Catalog['models'][number]['owner'];

/** A provider as models.yaml says it. */
export interface ProviderSource {
  readonly type: string;
  readonly base_url?: string;
  readonly limits?: { readonly concurrency?: number; readonly starts_per_minute?: number };
  readonly interrupted?: 'fail' | 'retry';
  readonly free?: boolean;
  readonly options?: Readonly<Record<string, unknown>>;
}

export interface RouteSource {
  readonly provider: string;
  readonly model?: string;
  readonly weight?: number;
  readonly capabilities?: {
    readonly edits?: boolean;
    readonly masks?: boolean;
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
  readonly per_million_tokens?: {
    readonly input: number;
    readonly cached_input?: number;
    readonly output: number;
    readonly covers?: readonly string[];
  };
}

/** A model as models.yaml says it. */
export interface ModelSource {
  readonly kind: 'image' | 'chat';
  readonly aliases?: readonly string[];
  readonly owned_by?: string;
  readonly accepts?: {
    readonly qualities?: readonly string[];
    readonly edit_qualities?: readonly string[];
    readonly output_formats?: readonly string[];
    readonly sizes?: readonly string[];
    readonly pixel_sizes?: boolean;
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

/** What the pages know of the catalog: its document describes entries as objects only. */
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

/** The models that a provider lists, which is free; only of those whose keys are stored for the console. None if it does not answer. */
export function listedModelsQuery({ providers, types }: ReadCatalog, name: string) {
  const provider = providers.find((one) => one.name === name && one.owner === 'console');
  const lists = types.some(({ type, lists_models: can }) => can && type === provider?.entry.type);
  const body = { name, entry: provider?.entry, keys: provider?.keys.map((key) => ({ name: key })) };
  return queryOptions({
    queryKey: ['provider-models', body],
    queryFn: async () => (await send<Connection>('POST', '/catalog/connection', body)).models,
    enabled: lists,
    ...{ retry: false, staleTime: 300_000 },
  });
}

/** After a change: everything that shows models or providers. */
export async function refreshCatalog(): Promise<void> {
  const stale = [['catalog'], ['models'], ['operation', 'providers']];
  await Promise.all(stale.map((queryKey) => queryClient.invalidateQueries({ queryKey })));
}
