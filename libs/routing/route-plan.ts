import { createHash } from 'node:crypto';
import { adaptationsFor, type RequestedImage } from '#catalog/adaptations.js';
import type { Catalog, ModelEntry, Route } from '#catalog/catalog.js';
import { serverId, type ProviderEntry, type ProviderKey } from '#providers/provider-entry.js';
import { AppError } from '#contract/app-error.js';
import { REGION_HEADER } from '#contract/region.js';

/** One server of a provider, with one of its keys, that may be called. */
export interface Candidate {
  readonly provider: ProviderEntry;
  readonly key: ProviderKey | undefined;
  /** Where it generates, as the server or the route says. */
  readonly region?: string | undefined;
  /** What the provider calls the model. */
  readonly model: string;
  /** Exact `<w>x<h>` it offers; undefined means any. */
  readonly sizes: readonly string[] | undefined;
}

/** The random choices among routes by weight, and among servers and keys. */
export interface Chance {
  /** 0 <= x < 1; called for each route of a rank in turn. */
  random(): number;
  /** Which one of so many servers of the provider comes first: any whole number from 0. */
  firstServer(provider: string, count: number): number;
  /** Which one of so many keys of a server comes first: any whole number from 0; `servers`: how many are in turn. */
  firstKey(server: string, count: number, servers: number): number;
}

/** What a request requires of a route. */
export interface RouteNeeds {
  /** Number of reference images. */
  readonly images: number;
  readonly mask: boolean;
  readonly markup?: boolean | undefined;
  /** Whether it must be an SVG document. */
  readonly svg?: boolean | undefined;
  /** How many images one call must return; absent: one. */
  readonly n?: number | undefined;
  /** Set when no other provider may be called. */
  readonly onlyProvider?: string | undefined;
  /** The only region in which the image may be generated. */
  readonly region?: string | undefined;
  /** Set when nothing may be adapted or left out. */
  readonly exactly?: RequestedImage;
}

/** All candidates: the ranks in order, the routes of a rank by weight, and for each route all servers and keys. */
export function candidatesOf(ranks: ModelEntry['ranks'], catalog: Catalog, chance: Chance, pin?: string): Candidate[] {
  return ranks
    .flatMap((rank) => byWeight(rank, () => chance.random()))
    .flatMap((route) => withEachServer(route, catalog, chance, pin));
}

/** Throws AppError `invalid_value`, which names the regions, when the model has no server in the one that is pinned. */
export function assertServedIn(
  { name, ranks }: ModelEntry,
  { providers }: Catalog,
  pin: string | undefined,
  param: string = REGION_HEADER,
): void {
  if (pin === undefined) return;
  const found = ranks.flat().flatMap((route) => serversOf(route, providers).map((server) => regionOf(route, server)));
  const regions = [...new Set(found)].filter((region) => region !== undefined).sort();
  if (regions.includes(pin)) return;
  const others = regions.length === 0 ? 'it has no region' : `its regions are ${regions.join(', ')}`;
  throw new AppError('invalid_value', `${name} is not served in the region ${pin}: ${others}.`, { param });
}

/** The regions in which the model's routes call this server; empty when none does. */
export function regionsAt({ ranks }: ModelEntry, server: ProviderEntry): (string | undefined)[] {
  return ranks
    .flat()
    .filter((route) => route.provider === server.name && serves(route, server))
    .map((route) => regionOf(route, server));
}

/** Candidates in a row that are equal but for server and key, from which the limiter chooses. */
export function poolsOf<One extends Pick<Candidate, 'provider' | 'model'>>(candidates: readonly One[]): One[][] {
  const pools: One[][] = [];
  for (const candidate of candidates) {
    const last = pools.at(-1);
    const { provider, model } = last?.[0] ?? {};
    if (provider?.name === candidate.provider.name && model === candidate.model) last?.push(candidate);
    else pools.push([candidate]);
  }
  return pools;
}

/**
 * The candidates that can make the image, in the order in which to call them. The same seed gives the same order.
 * Throws AppError when no route of the model can do what is needed, or none has a server.
 */
export function routePlan(model: ModelEntry, catalog: Catalog, needs: RouteNeeds, seed: string): Candidate[] {
  const open = routesOpenTo(model, needs);
  const ranks = open.map((rank) => rank.filter((route) => canDo(route, needs)));
  if (ranks.every((rank) => rank.length === 0)) throw refusal(model, needs);
  const { exactly } = needs;
  const left =
    exactly === undefined ? ranks : ranks.map((rank) => rank.filter((route) => isExact(route, catalog, exactly)));
  if (left.every((rank) => rank.length === 0)) {
    const text = `No provider can generate exactly this request with ${model.name}, and the request is strict.`;
    throw new AppError('unsupported_parameter', text, { param: 'strict' });
  }
  let drawn = 0;
  const first = (name: string, count: number) => (count < 2 ? 0 : Math.floor(share(`${seed} ${name}`) * count));
  const chance: Chance = { random: () => share(`${seed} ${drawn++}`), firstServer: first, firstKey: first };
  const found = candidatesOf(left, catalog, chance, needs.region);
  if (found.length > 0) return found;
  if (needs.region !== undefined) {
    const text = `No provider in the region ${needs.region} can generate this request with ${model.name}.`;
    throw new AppError('unsupported_parameter', text, { param: REGION_HEADER });
  }
  // The model existed when the task was accepted, so this is not the caller's error.
  throw new AppError('interrupted', `No server of its providers can generate an image with ${model.name} anymore.`);
}

/** The routes of `onlyProvider`, if that is set, else all. Throws AppError when it has no route of the model. */
function routesOpenTo({ name, ranks }: ModelEntry, { onlyProvider }: RouteNeeds): ModelEntry['ranks'] {
  if (onlyProvider === undefined) return ranks;
  const open = ranks.map((rank) => rank.filter(({ provider }) => provider === onlyProvider));
  if (open.some((rank) => rank.length > 0)) return open;
  throw new AppError('model_not_found', `${onlyProvider} no longer serves ${name}.`, { param: 'model' });
}

function canDo(route: Route, { images, mask, markup = false, svg = false, n = 1 }: RouteNeeds): boolean {
  const { edits, masks, images: most, maxN } = route;
  if (svg && !route.svg) return false;
  return (images === 0 || (edits && images <= most)) && (!mask || masks) && (!markup || route.markup) && n <= maxN;
}

function isExact(route: Route, { providers }: Catalog, exactly: RequestedImage): boolean {
  return adaptationsFor(route, providers.get(route.provider), exactly).length === 0;
}

/**
 * The error for what no route can do: `n` images in one call, any reference image, a mask or markup, or that many
 * references.
 */
function refusal({ name, ranks }: ModelEntry, { images, mask, markup, svg, n = 1 }: RouteNeeds): AppError {
  // A route without SVG can do nothing that is asked for here.
  const routes = ranks.flat().filter((route) => svg !== true || route.svg);
  if (routes.length === 0)
    return new AppError('unsupported_parameter', `${name} does not generate SVG.`, { param: 'output_format' });
  const able = routes.filter((route) => canDo(route, { images, mask, markup }));
  const most = Math.max(0, ...able.map(({ maxN }) => maxN));
  if (most > 0) {
    const text = `${name} can generate at most ${most} of the ${n} images per request.`;
    return new AppError('integer_above_max_value', text, { param: 'n' });
  }
  if (!routes.some((route) => canDo(route, { images: 1, mask: false }))) {
    return new AppError('unsupported_parameter', `${name} does not accept reference images.`, { param: 'image' });
  }
  if (mask && !routes.some((route) => canDo(route, { images: 1, mask }))) {
    return new AppError('unsupported_parameter', `${name} does not support masks.`, { param: 'mask' });
  }
  if (markup === true && !routes.some((route) => canDo(route, { images: 1, mask: false, markup }))) {
    return new AppError('unsupported_parameter', `${name} does not support markup.`, { param: 'markup' });
  }
  const text = `${name} does not accept ${images} reference images${mask ? ' and a mask' : ''}${markup === true ? ' and markup' : ''}.`;
  return new AppError('array_above_max_length', text, { param: 'image' });
}

/** Shuffles the routes; each comes first with a probability proportional to its weight. */
function byWeight(rank: readonly Route[], random: () => number): readonly Route[] {
  if (rank.length < 2) return rank;
  return rank
    .map((route) => ({ route, place: -Math.log(1 - random()) / route.weight }))
    .sort((a, b) => a.place - b.place)
    .map(({ route }) => route);
}

/** Each server with one key, then each with its next key: after a failure, another server is more likely to work. */
function withEachServer(route: Route, catalog: Catalog, chance: Chance, pin: string | undefined): Candidate[] {
  const { provider: name, model, sizes } = route;
  // Those that are not called take no turns.
  const usable = serversOf(route, catalog.providers).filter(
    (server) => pin === undefined || regionOf(route, server) === pin,
  );
  if (usable.length === 0) return [];
  const servers = rotated(usable, chance.firstServer(name, usable.length));
  const calls = servers.map((server) => ({ server, keys: keysInTurn(server, chance, usable.length) }));
  const rounds = Math.max(...calls.map(({ keys }) => keys.length));
  return Array.from({ length: rounds }, (_, round) => round).flatMap((round) =>
    calls.flatMap(({ server, keys }) =>
      round < keys.length
        ? [{ provider: server, key: keys[round], region: regionOf(route, server), model, sizes }]
        : [],
    ),
  );
}

/** The servers that the route may use: those of its region, or all where it names none. */
function serversOf(route: Route, providers: Catalog['providers']): readonly ProviderEntry[] {
  const all = providers.get(route.provider)?.servers ?? [];
  return all.filter((server) => serves(route, server));
}

function serves(route: Route, server: ProviderEntry): boolean {
  return route.region === undefined || regionOf(route, server) === route.region;
}

function regionOf(route: Route, server: ProviderEntry): string | undefined {
  return server.region ?? route.region;
}

function keysInTurn(server: ProviderEntry, chance: Chance, servers: number): readonly (ProviderKey | undefined)[] {
  if (server.keys.length === 0) return [undefined];
  return rotated(server.keys, chance.firstKey(serverId(server), server.keys.length, servers));
}

function rotated<T>(all: readonly T[], first: number): T[] {
  const at = first % all.length;
  return [...all.slice(at), ...all.slice(0, at)];
}

/** Hashes a text to a number 0 <= x < 1, evenly distributed. */
function share(text: string): number {
  return createHash('sha256').update(text).digest().readUIntBE(0, 6) / 2 ** 48;
}
