import { classPrices } from '#contract/token-classes.js';
import type { Provider } from '#providers/provider-entry.js';
import { acceptedBy } from './accepted-by.js';
import type { Catalog, ModelEntry, Route } from './catalog.js';
import type { CatalogFile, ModelSource, PriceSource, ProviderSource, RouteSource } from './catalog-schema.js';
import { descriptorOf, descriptorsOf, keyName, providerOf, serversOf, type SecretOf } from './entry-problems.js';

type Environment = Readonly<Record<string, string | undefined>>;

const MICROS = 1_000_000;

/** Converts entries without problems to a catalog. Secrets that are not set are empty. */
export function toCatalog(file: CatalogFile, env: Environment, secretOf: SecretOf): Catalog {
  const toProvider = providerMaker(env, secretOf);
  return {
    currency: file.currency ?? 'USD',
    providers: new Map(Object.entries(file.providers).map(([name, entry]) => [name, toProvider(name, entry)])),
    models: new Map(Object.entries(file.models).map(([name, entry]) => [name, toModel(name, entry, file)])),
  };
}

function providerMaker(env: Environment, secretOf: SecretOf): (name: string, entry: ProviderSource) => Provider {
  return (name, entry) => {
    const { baseUrl, free: isFreeType, interruptedSetting = '' } = descriptorOf(entry);
    const free = entry.free ?? isFreeType;
    const shared = {
      name,
      type: entry.type,
      interrupted: entry.interrupted ?? (free || env[interruptedSetting] === 'retry' ? 'retry' : 'fail'),
      free,
      options: entry.options ?? {},
    } as const;
    const servers = serversOf(entry).map((server) => ({
      ...shared,
      ...(server.name !== undefined && { server: server.name }),
      ...(server.region !== undefined && { region: server.region }),
      baseUrl: (server.base_url ?? baseUrl)?.replace(/\/+$/, ''),
      keys: (server.keys ?? []).map((key) => ({ name: keyName(key), secret: secretOf(key) ?? '' })),
      limits: { concurrency: server.limits?.concurrency, startsPerMinute: server.limits?.starts_per_minute },
    }));
    const webhookSecret = entry.webhook_secret && secretOf(entry.webhook_secret);
    return { ...shared, servers, ...(webhookSecret && { webhookSecret }) };
  };
}

function toModel(name: string, entry: ModelSource, file: CatalogFile): ModelEntry {
  return {
    name,
    aliases: entry.aliases ?? [],
    kind: entry.kind,
    ownedBy: entry.owned_by ?? 'darkroom',
    end: entry.shutdown_date ? { shutdownDate: entry.shutdown_date, successors: entry.successors ?? [] } : undefined,
    accepts: acceptedBy(entry, descriptorsOf(entry, file)),
    extra: new Map(Object.entries(entry.extra ?? {})),
    ranks: ranksOf(entry.routes).map((rank) => rank.map((route) => toRoute(name, route, file))),
    prices: (entry.prices ?? []).map(toPrice),
  };
}

/** A route without a weight is a rank of its own; adjacent routes with weights form one rank. */
function ranksOf(routes: readonly RouteSource[]): RouteSource[][] {
  const ranks: RouteSource[][] = [];
  for (const route of routes) {
    const last = ranks.at(-1);
    if (route.weight !== undefined && last?.[0]?.weight !== undefined) last.push(route);
    else ranks.push([route]);
  }
  return ranks;
}

function toRoute(name: string, source: RouteSource, file: CatalogFile): Route {
  const { provider, model = name, region, weight = 1, capabilities = {} } = source;
  const entry = providerOf(file, provider);
  const usual = entry === undefined ? 1 : descriptorOf(entry).maxN(model);
  const { edits = true, masks = edits, markup = false, images = 16, max_n: maxN = usual, sizes } = capabilities;
  const svg = entry !== undefined && descriptorOf(entry).takes.svg;
  const capable = { edits, masks, markup, svg, images, maxN, sizes };
  return { provider, model, ...(region !== undefined && { region }), weight, ...capable };
}

function toPrice({ from, per_image: images, per_million_tokens: tokens, cancelled }: PriceSource) {
  return {
    from: new Date(from),
    cancelled,
    images: images && {
      perImage: Object.fromEntries(Object.entries(images).map(([tier, price]) => [tier, byQuality(price)])),
    },
    tokens: tokens && { ...classPrices(tokens, micros), covers: tokens.covers },
  };
}

function byQuality(price: number | Record<string, number>): Record<string, number> {
  const entries = Object.entries(typeof price === 'number' ? { auto: price } : price);
  return Object.fromEntries(entries.map(([quality, value]) => [quality, micros(value)]));
}

function micros(value: number): number {
  return Math.round(value * MICROS);
}
