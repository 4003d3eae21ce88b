import { TOKEN_CLASSES, type ClassPrices, type TokenClass } from '#contract/token-classes.js';
import type { CatalogModel, ModelSource, PriceSource, RouteSource, TierPrice } from '../../api/catalog.ts';
import { tokenClassesOf } from '../../parts/token-classes.ts';

type Num = number | string;

/** Values of the form; an empty number field is ''. */
export interface ModelFields {
  name: string;
  kind: 'image' | 'chat';
  aliases: string[];
  routes: RouteFields[];
  prices: PriceFields[];
  qualities: string[];
  edit_qualities: string[];
  output_formats: string[];
  sizes: string[];
  pixel_sizes: '' | 'yes' | 'no';
  max_n: Num;
}

export interface RouteFields {
  /** Identifies the row when rows are reordered. */
  id: number;
  provider: string;
  model: string;
  region: string;
  weight: Num;
  edits: boolean;
  masks: boolean;
  markup: boolean;
  images: Num;
  max_n: Num;
  sizes: string[];
}

export interface PriceFields {
  id: number;
  from: string;
  tiers: Record<Tier, string>;
  /** Percent of the image price. */
  cancelled_percent: Num;
  tokens: Record<TokenClass, Num>;
  covers: readonly string[];
}

export const TIERS = ['1k', '2k', '4k'] as const;
type Tier = (typeof TIERS)[number];

let lastId = 0;
const nextId = (): number => ++lastId;

export function newRoute(provider: string): RouteFields {
  return routeFields({ provider });
}

export function newPrice(): PriceFields {
  return priceFields({ from: new Date().toISOString().slice(0, 10) });
}

/**
 * Fields of a new model: like `replaced`, if given, but with a route only to `provider`, and without the prices of its
 * own. Without other names, too: the sandbox draws the same for all of them, but a provider sells different models under
 * these.
 */
export function newModelFields(provider: string, replaced?: CatalogModel): ModelFields {
  const { name = '', entry } = replaced ?? {};
  return modelFields({
    name,
    entry: { ...(entry ?? { kind: 'image' }), aliases: [], routes: [{ provider }], prices: [] },
  });
}

/** What a model keeps with another provider: not when its own provider ends it. */
export function keptOf(replaced: CatalogModel | undefined): ModelSource | undefined {
  if (replaced === undefined) return undefined;
  const { shutdown_date: _end, successors: _successors, ...kept } = replaced.entry;
  return kept;
}

export function modelFields({ name, entry }: Pick<CatalogModel, 'name' | 'entry'>): ModelFields {
  const { accepts = {} } = entry;
  return {
    name,
    kind: entry.kind,
    aliases: [...(entry.aliases ?? [])],
    routes: entry.routes.map(routeFields),
    prices: (entry.prices ?? []).map(priceFields),
    qualities: [...(accepts.qualities ?? [])],
    edit_qualities: [...(accepts.edit_qualities ?? [])],
    output_formats: [...(accepts.output_formats ?? [])],
    sizes: [...(accepts.sizes ?? [])],
    pixel_sizes: accepts.pixel_sizes === undefined ? '' : accepts.pixel_sizes ? 'yes' : 'no',
    max_n: accepts.max_n ?? '',
  };
}

function routeFields({ provider, model = '', region = '', weight, capabilities = {} }: RouteSource): RouteFields {
  const { edits = true, masks = edits, markup = false, images, max_n: maxN, sizes = [] } = capabilities;
  return {
    id: nextId(),
    provider,
    model,
    region,
    weight: weight ?? '',
    edits,
    masks,
    markup,
    images: images ?? '',
    max_n: maxN ?? '',
    sizes: [...sizes],
  };
}

function priceFields({ from, per_image: images, cancelled, per_million_tokens: tokens }: PriceSource): PriceFields {
  const tier = (name: Tier): string => (images === undefined ? '' : tierText(images[name]));
  return {
    id: nextId(),
    from,
    tiers: { '1k': tier('1k'), '2k': tier('2k'), '4k': tier('4k') },
    // 0.07 * 100 is not an integer.
    cancelled_percent: cancelled === undefined ? '' : Number((cancelled * 100).toFixed(6)),
    tokens: Object.fromEntries(TOKEN_CLASSES.map((name) => [name, tokens?.[name] ?? ''])) as Record<TokenClass, Num>,
    covers: tokens?.covers ?? [],
  };
}

/** Whether any class of tokens has a price; then input and output need one. */
export function hasTokens({ tokens }: PriceFields, kind: ModelFields['kind']): boolean {
  return tokenClassesOf(kind).some(([name]) => tokens[name] !== '');
}

/** Whether images have prices: they need them unless tokens have some. */
export function hasTiers({ tiers }: PriceFields): boolean {
  return TIERS.some((name) => tiers[name].trim() !== '');
}

/** "0.02", or "auto 0.02, high 0.08" when qualities differ. */
export function tierText(price: TierPrice): string {
  if (typeof price === 'number') return String(price);
  return Object.entries(price)
    .map(([quality, amount]) => `${quality} ${amount}`)
    .join(', ');
}

/** Undefined if the text is not a price. */
export function tierPrice(text: string): TierPrice | undefined {
  const parts = text.split(',').map((part) => part.trim().split(/[\s:=]+/));
  const amount = (part = ''): number => (/^\d+(\.\d+)?$/.test(part) ? Number(part) : NaN);
  if (parts.length === 1 && parts[0]?.length === 1) {
    const one = amount(parts[0][0]);
    return Number.isNaN(one) ? undefined : one;
  }
  const entries = parts.map(([quality = '', price]) => [quality.toLowerCase(), amount(price)] as const);
  return entries.some(([, price]) => Number.isNaN(price)) ? undefined : Object.fromEntries(entries);
}

/** The model as in models.yaml; settings without a field are copied from `before`. */
export function modelEntry(fields: ModelFields, before: ModelSource | undefined): ModelSource {
  const { kind, aliases, pixel_sizes: pixelSizes } = fields;
  const {
    owned_by: owner,
    shutdown_date: end,
    successors,
    accepts: { complexities, input_fidelities: fidelities } = {},
  } = before ?? {};
  const accepts = {
    ...listed(fields, 'qualities', 'edit_qualities', 'output_formats', 'sizes'),
    ...(pixelSizes === '' ? {} : { pixel_sizes: pixelSizes === 'yes' }),
    ...numbers(fields, 'max_n'),
    ...(complexities === undefined ? {} : { complexities }),
    ...(fidelities === undefined ? {} : { input_fidelities: fidelities }),
  };
  return {
    kind,
    ...(aliases.length === 0 ? {} : { aliases }),
    ...(owner === undefined ? {} : { owned_by: owner }),
    ...(end === undefined ? {} : { shutdown_date: end }),
    ...(successors === undefined ? {} : { successors }),
    ...(before?.extra === undefined || kind === 'chat' ? {} : { extra: before.extra }),
    ...(kind === 'chat' || Object.keys(accepts).length === 0 ? {} : { accepts }),
    routes: fields.routes.map((route) => routeSource(route, kind)),
    ...(fields.prices.length === 0 ? {} : { prices: fields.prices.map((price) => priceSource(price, kind)) }),
  };
}

function routeSource(route: RouteFields, kind: ModelFields['kind']): RouteSource {
  const { provider, model, region, edits, masks, markup } = route;
  const capabilities = {
    ...(edits ? {} : { edits }),
    ...(masks === edits ? {} : { masks }),
    ...(markup ? { markup } : {}),
    ...numbers(route, 'images', 'max_n'),
    ...listed(route, 'sizes'),
  };
  return {
    provider,
    ...(model.trim() === '' ? {} : { model: model.trim() }),
    ...(region.trim() === '' ? {} : { region: region.trim() }),
    ...numbers(route, 'weight'),
    ...(kind === 'chat' || Object.keys(capabilities).length === 0 ? {} : { capabilities }),
  };
}

function priceSource(price: PriceFields, kind: ModelFields['kind']): PriceSource {
  const { from, tiers, covers, tokens, cancelled_percent: percent } = price;
  const tier = (name: Tier): TierPrice => tierPrice(tiers[name]) ?? 0;
  const classes = tokenClassesOf(kind).map(([name]) => name);
  const perMillion: ClassPrices = {
    input: Number(tokens.input),
    output: Number(tokens.output),
    ...numbers(tokens, ...classes),
  };
  return {
    from,
    ...(kind === 'chat' || !hasTiers(price)
      ? {}
      : { per_image: { '1k': tier('1k'), '2k': tier('2k'), '4k': tier('4k') } }),
    ...(kind === 'chat' || percent === '' ? {} : { cancelled: Number(percent) / 100 }),
    ...(hasTokens(price, kind)
      ? { per_million_tokens: { ...perMillion, ...(covers.length === 0 ? {} : { covers }) } }
      : {}),
  };
}

/** The given fields that hold a number. */
function numbers<Name extends string>(
  fields: Readonly<Record<Name, Num>>,
  ...names: Name[]
): Partial<Record<Name, number>> {
  const given = names.filter((name) => fields[name] !== '').map((name) => [name, Number(fields[name])]);
  return Object.fromEntries(given) as Partial<Record<Name, number>>;
}

/** The given fields whose list is not empty. */
function listed<Name extends string>(
  fields: Readonly<Record<Name, readonly string[]>>,
  ...names: Name[]
): Partial<Record<Name, readonly string[]>> {
  const given = names.filter((name) => fields[name].length > 0).map((name) => [name, fields[name]]);
  return Object.fromEntries(given) as Partial<Record<Name, readonly string[]>>;
}
