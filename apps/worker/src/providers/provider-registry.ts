import { BASE_VALUES } from '#contract/accepted-values.js';
import { isDeepStrictEqual } from 'node:util';
import type { Catalog, ModelEntry } from '#catalog/catalog.js';
import { longestCall, type LongestCall, type MakeProvider } from '#providers/descriptors.js';
import {
  serverId,
  soleServer,
  type Provider,
  type ProviderEntry,
  type ProviderKey,
} from '#providers/provider-entry.js';
import type { ImageProvider } from '#providers/image-provider.js';

interface Adapter {
  readonly entry: ProviderEntry;
  readonly provider: ImageProvider;
}

/** The adapters of the current catalog: one per server and key, reused until the provider's entry changes. */
export class ProviderRegistry {
  private readonly adapters = new Map<string, Adapter>();
  private seen: Catalog | undefined;

  /** `refresh` loads the console's latest changes. */
  constructor(
    private readonly source: { readonly current: Catalog },
    private readonly make: MakeProvider,
    private readonly refresh = (): Promise<void> => Promise.resolve(),
  ) {}

  /** A registry in which each provider serves the one model it is keyed by, whatever the settings say. */
  static of(providers: ReadonlyMap<string, ImageProvider>): ProviderRegistry {
    const models = [...providers].map(([model, provider]) => [model, modelServedBy(model, provider)] as const);
    const entries = [...providers.values()].map((provider) => [provider.name, entryOf(provider)] as const);
    const current = { currency: 'USD', providers: new Map(entries), models: new Map(models) };
    const byName = new Map([...providers.values()].map((provider) => [provider.name, provider]));
    return new ProviderRegistry({ current }, ({ name }) => byName.get(name) as ImageProvider);
  }

  get catalog(): Catalog {
    return this.source.current;
  }

  /** The catalog, reloaded first if it lacks what is needed: another process may already use a newer one. */
  async catalogWith(hasWhatIsNeeded: (catalog: Catalog) => boolean): Promise<Catalog> {
    const known = this.catalog;
    if (hasWhatIsNeeded(known)) return known;
    await this.refresh();
    return this.catalog;
  }

  imageProvider(entry: ProviderEntry, key: ProviderKey | undefined): ImageProvider {
    this.forgetOld();
    const id = `${serverId(entry)}\n${key?.name ?? ''}`;
    const known = this.adapters.get(id);
    if (known !== undefined && (known.entry === entry || isDeepStrictEqual(known.entry, entry))) return known.provider;
    const provider = this.make(entry, key);
    this.adapters.set(id, { entry, provider });
    return provider;
  }

  /** The longest call of the catalog's providers; undefined when each call ends as soon as it is aborted. */
  longestCall(): LongestCall | undefined {
    return longestCall(this.catalog.providers.values(), (entry, key) => this.imageProvider(entry, key));
  }

  /** Drops the adapters of providers that the current catalog no longer has. */
  private forgetOld(): void {
    const { current } = this.source;
    if (this.seen === current) return;
    this.seen = current;
    for (const [id, { entry }] of this.adapters) {
      const servers = current.providers.get(entry.name)?.servers ?? [];
      if (!servers.some(({ server }) => server === entry.server)) this.adapters.delete(id);
    }
  }
}

function entryOf({ name, free, interrupted }: ImageProvider): Provider {
  const limits = { concurrency: undefined, startsPerMinute: undefined };
  return soleServer({ name, type: 'sandbox', baseUrl: undefined, keys: [], limits, interrupted, free, options: {} });
}

function modelServedBy(name: string, provider: ImageProvider): ModelEntry {
  const route = {
    provider: provider.name,
    model: name,
    weight: 1,
    edits: true,
    masks: true,
    markup: true,
    svg: true,
    images: 16,
    maxN: 10,
  };
  return {
    name,
    aliases: [],
    kind: 'image',
    ownedBy: 'darkroom',
    end: undefined,
    accepts: BASE_VALUES,
    extra: new Map(),
    ranks: [[{ ...route, sizes: undefined }]],
    prices: [],
  };
}
