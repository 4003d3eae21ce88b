import { Ajv, type ErrorObject } from 'ajv';
import { isCollection, isMap, LineCounter, parseDocument, type Document, type Node } from 'yaml';
import { DESCRIPTORS } from '#providers/descriptors.js';
import type { ProviderDescriptor } from '#providers/provider-descriptor.js';
import type { ProviderEntry } from '#providers/provider-entry.js';
import { acceptedBy, uselessPrice } from './accepted-by.js';
import { CatalogueError, type Catalogue, type ModelEntry, type Route } from './catalogue.js';
import {
  CATALOGUE_SCHEMA,
  type CatalogueFile,
  type ModelSource,
  type PriceSource,
  type ProviderSource,
  type RouteSource,
} from './catalogue-schema.js';

type Environment = Readonly<Record<string, string | undefined>>;
type Path = readonly (string | number)[];

const matchesSchema = new Ajv({ allErrors: true, allowUnionTypes: true }).compile<CatalogueFile>(CATALOGUE_SCHEMA);

const MICROS = 1_000_000;

/**
 * Reads a catalogue; `source` is what errors call it, `env` holds the secrets that it names. Where none is needed, one
 * that is not set is empty. Throws CatalogueError with every problem and its line.
 */
export function parseCatalogue(text: string, source: string, env: Environment, needsSecrets = true): Catalogue {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const at = (path: Path): string => lineOf(document, lines, path);
  if (document.errors.length > 0) {
    const problems = document.errors.map(({ pos, message }) => `line ${lines.linePos(pos[0]).line}: ${message}`);
    throw new CatalogueError(source, problems);
  }
  const file: unknown = document.toJS();
  if (!matchesSchema(file)) throw new CatalogueError(source, schemaProblems(matchesSchema.errors ?? [], at));
  const problems = contradictions(file, needsSecrets ? env : undefined).map(
    ({ path, text: problem }) => `${at(path)}${problem}`,
  );
  if (problems.length > 0) throw new CatalogueError(source, problems);
  return {
    currency: file.currency ?? 'USD',
    providers: new Map(Object.entries(file.providers).map(([name, entry]) => [name, toProvider(name, entry, env)])),
    models: new Map(Object.entries(file.models).map(([name, entry]) => [name, toModel(name, entry, file)])),
  };
}

/** `line 12: `, of the node or the nearest one around it. */
function lineOf(document: Document, lines: LineCounter, path: Path): string {
  for (let length = path.length; length > 0; length--) {
    const container = document.getIn(path.slice(0, length - 1), true) as Node | undefined;
    const key = isMap(container)
      ? container.items.find(({ key: k }) => String(k) === String(path[length - 1]))
      : undefined;
    const node = (key?.key ?? document.getIn(path.slice(0, length), true)) as Node | undefined;
    if (node?.range) return `line ${lines.linePos(node.range[0]).line}: `;
  }
  return isCollection(document.contents) ? '' : 'line 1: ';
}

function schemaProblems(errors: readonly ErrorObject[], at: (path: Path) => string): string[] {
  const told = errors.filter(({ keyword }) => keyword !== 'anyOf' && keyword !== 'if');
  const problems = told.map((error) => {
    const path = error.instancePath.split('/').slice(1).map(unescape);
    const extra = (error.params as { additionalProperty?: string }).additionalProperty;
    const allowed = (error.params as { allowedValues?: readonly string[] }).allowedValues;
    const place = [...path, ...(extra === undefined ? [] : [extra])];
    const what = extra === undefined ? error.message : 'is not known here';
    return `${at(place)}${place.join('.') || 'the file'} ${what}${allowed ? `: ${allowed.join(', ')}` : ''}`;
  });
  return [...new Set(problems)];
}

function unescape(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** What a schema can't say; without `env` nothing of secrets. */
function contradictions(file: CatalogueFile, env: Environment | undefined): { path: Path; text: string }[] {
  const problems: { path: Path; text: string }[] = [];
  const say = (path: Path, text: string): void => void problems.push({ path, text: `${path.join('.')} ${text}` });
  for (const [name, provider] of Object.entries(file.providers)) {
    const path = ['providers', name];
    for (const field of descriptorOf(provider).needs) {
      if (provider[field] === undefined) say(path, field === 'keys' ? 'needs keys' : `needs a ${field}`);
    }
    for (const [index, key] of (provider.keys ?? []).entries()) {
      if (env && !env[key.env])
        say([...path, 'keys', index], `names the environment variable ${key.env}, which is not set`);
    }
    const names = (provider.keys ?? []).map(keyName);
    if (new Set(names).size < names.length) say([...path, 'keys'], 'has two keys of one name');
  }
  const named = new Map(Object.keys(file.models).map((name) => [name, name]));
  for (const [name, model] of Object.entries(file.models)) {
    for (const [index, alias] of (model.aliases ?? []).entries()) {
      const other = named.get(alias);
      if (other !== undefined) say(['models', name, 'aliases', index], `is ${alias}, which already means ${other}`);
      else named.set(alias, name);
    }
    for (const [index, route] of model.routes.entries()) {
      const path = ['models', name, 'routes', index];
      const provider = file.providers[route.provider];
      if (provider === undefined) say(path, `names the provider ${route.provider}, which is not listed`);
      else if (model.kind === 'chat' && !descriptorOf(provider).chat)
        say(path, `goes to ${route.provider}, which has no chat`);
    }
    if (model.kind === 'chat' && model.accepts) say(['models', name, 'accepts'], 'is only for images');
    for (const { path, text } of tooManyImages(name, model, file)) say(path, text);
    for (const [index, price] of (model.prices ?? []).entries()) {
      const path = ['models', name, 'prices', index];
      if (Number.isNaN(Date.parse(price.from))) say([...path, 'from'], 'is no day of the calendar');
      if (model.kind === 'image' ? price.per_image === undefined : price.per_million_tokens === undefined)
        say(path, model.kind === 'image' ? 'needs per_image' : 'needs per_million_tokens');
      const useless = uselessPrice(acceptedBy(model, providersOf(model, file)), price.per_image ?? {});
      if (useless !== undefined)
        say([...path, 'per_image'], `has a price for ${useless}, which the model does not accept`);
      if (model.kind === 'chat' && price.cancelled !== undefined) say([...path, 'cancelled'], 'is only for images');
    }
    const days = (model.prices ?? []).map(({ from }) => from);
    if (days.some((day, index) => index > 0 && day <= (days[index - 1] ?? '')))
      say(['models', name, 'prices'], 'must be listed from the oldest day to the newest');
  }
  return problems;
}

/** More images of one call than the providers of a model return. */
function tooManyImages(name: string, model: ModelSource, file: CatalogueFile): { path: Path; text: string }[] {
  const found: { path: Path; text: string }[] = [];
  const counts = model.routes.flatMap((route, index) => {
    const provider = file.providers[route.provider];
    if (provider === undefined) return [];
    const most = descriptorOf(provider).maxN(route.model ?? name);
    const own = route.capabilities?.max_n ?? most;
    const path = ['models', name, 'routes', index, 'capabilities', 'max_n'];
    if (own > most) found.push({ path, text: `is ${own}, but ${route.provider} returns ${atMost(most)}` });
    return Math.min(own, most);
  });
  const most = Math.max(0, ...counts);
  const asked = model.accepts?.max_n ?? 1;
  if (most > 0 && asked > most) {
    const path = ['models', name, 'accepts', 'max_n'];
    found.push({ path, text: `is ${asked}, but its providers return ${atMost(most)}` });
  }
  return found;
}

function atMost(images: number): string {
  return `${images === 1 ? 'one image' : `at most ${images} images`} from a call`;
}

function keyName({ name, env }: { name?: string; env: string }): string {
  return name ?? env.toLowerCase();
}

function toProvider(name: string, entry: ProviderSource, env: Environment): ProviderEntry {
  const { concurrency, starts_per_minute: startsPerMinute } = entry.limits ?? {};
  const { baseUrl, free: isFreeType, interruptedSetting = '' } = descriptorOf(entry);
  const free = entry.free ?? isFreeType;
  return {
    name,
    type: entry.type,
    baseUrl: (entry.base_url ?? baseUrl)?.replace(/\/+$/, ''),
    keys: (entry.keys ?? []).map((key) => ({ name: keyName(key), secret: env[key.env] ?? '' })),
    limits: { concurrency, startsPerMinute },
    interrupted: entry.interrupted ?? (free || env[interruptedSetting] === 'retry' ? 'retry' : 'fail'),
    free,
    options: entry.options ?? {},
  };
}

/** The schema knows no other types. */
function descriptorOf({ type }: ProviderSource): ProviderDescriptor {
  return DESCRIPTORS[type] as ProviderDescriptor;
}

/** Descriptors of the listed providers among those of its routes. */
function providersOf({ routes }: ModelSource, { providers }: CatalogueFile): ProviderDescriptor[] {
  return routes.flatMap(({ provider }) => providers[provider] ?? []).map(descriptorOf);
}

function toModel(name: string, entry: ModelSource, file: CatalogueFile): ModelEntry {
  return {
    name,
    aliases: entry.aliases ?? [],
    kind: entry.kind,
    ownedBy: entry.owned_by ?? 'darkroom',
    accepts: acceptedBy(entry, providersOf(entry, file)),
    ranks: ranksOf(entry.routes).map((rank) => rank.map((route) => toRoute(name, route, file))),
    prices: (entry.prices ?? []).map(toPrice),
  };
}

/** A route without a weight stands alone; weighted ones next to each other are one rank. */
function ranksOf(routes: readonly RouteSource[]): RouteSource[][] {
  const ranks: RouteSource[][] = [];
  for (const route of routes) {
    const last = ranks.at(-1);
    if (route.weight !== undefined && last?.[0]?.weight !== undefined) last.push(route);
    else ranks.push([route]);
  }
  return ranks;
}

function toRoute(name: string, source: RouteSource, { providers }: CatalogueFile): Route {
  const { provider, model = name, weight = 1, capabilities = {} } = source;
  const entry = providers[provider];
  const usual = entry === undefined ? 1 : descriptorOf(entry).maxN(model);
  const { edits = true, masks = edits, images = 16, max_n: maxN = usual, sizes } = capabilities;
  return { provider, model, weight, edits, masks, images, maxN, sizes };
}

function toPrice({ from, per_image: images, per_million_tokens: tokens, cancelled }: PriceSource) {
  return {
    from: new Date(from),
    cancelled,
    images: images && {
      perImage: Object.fromEntries(Object.entries(images).map(([tier, price]) => [tier, byQuality(price)])),
    },
    tokens: tokens && {
      input: micros(tokens.input),
      cachedInput: tokens.cached_input === undefined ? undefined : micros(tokens.cached_input),
      output: micros(tokens.output),
      covers: tokens.covers,
    },
  };
}

function byQuality(price: number | Record<string, number>): Record<string, number> {
  const entries = Object.entries(typeof price === 'number' ? { auto: price } : price);
  return Object.fromEntries(entries.map(([quality, value]) => [quality, micros(value)]));
}

function micros(value: number): number {
  return Math.round(value * MICROS);
}
