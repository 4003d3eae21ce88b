import { KNOWN_FIELDS, type ExtraField } from '#contract/extra-fields.js';
import { TOKEN_CLASSES } from '#contract/token-classes.js';
import { DESCRIPTORS } from '#providers/descriptors.js';
import type { ProviderDescriptor } from '#providers/provider-descriptor.js';
import { acceptedBy, unusedPrice } from './accepted-by.js';
import type { EntryProblem } from './catalog.js';
import type { CatalogFile, KeySource, ModelSource, ProviderSource, ServerSource } from './catalog-schema.js';

/** What a header carries as it is; the message never contains the key. */
const HEADER_TEXT = /^[\x21-\x7e]+$/;
/** As Standard Webhooks writes secrets: base64 of 24 bytes or more. */
const WEBHOOK_SECRET = /^whsec_[A-Za-z0-9+/]{32,}={0,2}$/;

/** The secret of a key; undefined when it is not set or can't be decrypted. */
export type SecretOf = (key: KeySource) => string | undefined;

/** What each server of a list has for itself, so that its provider can't have it, too. */
const OF_A_SERVER = ['base_url', 'keys', 'limits', 'region'] as const;

/** Problems that a schema can't express; without `secretOf`, missing secrets are not reported. */
export function entryProblems(file: CatalogFile, secretOf: SecretOf | undefined): EntryProblem[] {
  const named = new Map(Object.keys(file.models).map((name) => [name, name]));
  return [
    ...Object.entries(file.providers).flatMap(([name, provider]) => providerProblems(name, provider, secretOf)),
    ...Object.entries(file.models).flatMap(([name, model]) => modelProblems(name, model, file, named)),
  ];
}

function providerProblems(name: string, provider: ProviderSource, secretOf: SecretOf | undefined): EntryProblem[] {
  const problems: EntryProblem[] = [];
  const path = ['providers', name];
  const say = (at: EntryProblem['path'], text: string): void => void problems.push({ path: [...path, ...at], text });
  for (const [index, server] of serversOf(provider).entries()) {
    const at = provider.servers === undefined ? [] : ['servers', index];
    for (const field of descriptorOf(provider).needs) {
      if (server[field] === undefined) say(at, field === 'keys' ? 'needs keys' : `needs a ${field}`);
    }
    for (const [keyIndex, key] of (server.keys ?? []).entries()) {
      if (secretOf === undefined) continue;
      const secret = secretOf(key);
      if (!secret) say([...at, 'keys', keyIndex], missingSecret(key));
      else if (!HEADER_TEXT.test(secret))
        say([...at, 'keys', keyIndex], 'has a key with spaces, line breaks or characters outside ASCII');
    }
    const names = (server.keys ?? []).map(keyName);
    if (new Set(names).size < names.length) say([...at, 'keys'], 'has two keys of the same name');
  }
  if (provider.webhook_secret !== undefined) {
    const secret = secretOf?.(provider.webhook_secret);
    if (descriptorOf(provider).loadCases === undefined)
      say(['webhook_secret'], `is for providers of other types: ${provider.type} sends no webhooks about end users`);
    else if (secretOf !== undefined && !secret) say(['webhook_secret'], missingSecret(provider.webhook_secret));
    else if (secret && !WEBHOOK_SECRET.test(secret))
      say(['webhook_secret'], 'must begin with whsec_, as the provider shows it');
  }
  for (const field of provider.servers === undefined ? [] : OF_A_SERVER) {
    if (provider[field] !== undefined) say([field], 'belongs to each of the servers');
  }
  const servers = (provider.servers ?? []).map((server) => server.name);
  if (new Set(servers).size < servers.length) say(['servers'], 'has two servers of the same name');
  return problems;
}

function missingSecret(key: KeySource): string {
  return 'env' in key
    ? `names the environment variable ${key.env}, which is not set`
    : 'was encrypted with a SECRET_KEY that is no longer set; enter it again';
}

/** `named` maps the names seen so far to their models; the model's aliases are added to it. */
function modelProblems(
  name: string,
  model: ModelSource,
  file: CatalogFile,
  named: Map<string, string>,
): EntryProblem[] {
  const problems: EntryProblem[] = [];
  const path = ['models', name];
  const say = (at: EntryProblem['path'], text: string): void => void problems.push({ path: [...path, ...at], text });
  for (const [index, alias] of (model.aliases ?? []).entries()) {
    const other = named.get(alias);
    if (other !== undefined) say(['aliases', index], `is ${alias}, which already means ${other}`);
    else named.set(alias, name);
  }
  for (const [index, route] of model.routes.entries()) {
    const provider = providerOf(file, route.provider);
    if (provider === undefined) say(['routes', index], `names the provider ${route.provider}, which is not listed`);
    else if (model.kind === 'chat' && !descriptorOf(provider).chat)
      say(['routes', index], `goes to ${route.provider}, which does not support chats`);
    else if (route.capabilities?.markup === true && !descriptorOf(provider).takes.markup)
      say(
        ['routes', index, 'capabilities', 'markup'],
        `is true, but providers of type ${provider.type} take no markup`,
      );
    if (provider !== undefined && !hasServerIn(provider, route.region))
      say(['routes', index, 'region'], `is ${route.region}, where ${route.provider} has no server`);
  }
  if (Number.isNaN(Date.parse(model.shutdown_date ?? '1970-01-01'))) say(['shutdown_date'], 'is not a valid date');
  if (model.successors && model.shutdown_date === undefined) say(['successors'], 'needs a shutdown_date');
  if (model.kind === 'chat' && model.accepts) say(['accepts'], 'applies to image models only');
  const svg = (model.accepts?.output_formats ?? []).indexOf('svg');
  if (svg >= 0 && !model.routes.some(({ provider }) => canSvg(providerOf(file, provider))))
    say(['accepts', 'output_formats', svg], 'is svg, which none of its providers generates');
  if (model.kind === 'chat' && model.extra) say(['extra'], 'applies to image models only');
  for (const [field, bounds] of Object.entries(model.extra ?? {})) {
    const text = extraFieldProblem(field, bounds);
    if (text !== undefined) say(['extra', field], text);
  }
  return [...problems, ...tooManyImages(name, model, file), ...priceProblems(name, model, file)];
}

/** Whether a route of the region has a server; it stands for those that name no region. */
function hasServerIn(provider: ProviderSource, region: string | undefined): boolean {
  return region === undefined || serversOf(provider).some((server) => (server.region ?? region) === region);
}

function canSvg(provider: ProviderSource | undefined): boolean {
  return provider !== undefined && descriptorOf(provider).takes.svg;
}

/** What is wrong with a field of `extra`: whatever callers send must have a bound. */
function extraFieldProblem(name: string, { type, min, max, enum: texts, max_length: length }: ExtraField) {
  if (KNOWN_FIELDS.includes(name)) return 'is a field of every image request';
  const isNumber = type === 'integer' || type === 'number';
  if (isNumber ? texts !== undefined || length !== undefined : min !== undefined || max !== undefined)
    return isNumber ? 'may only have min and max' : 'may not have min and max';
  if (isNumber && (min === undefined || max === undefined || min > max)) return 'needs min and max, in this order';
  if (type === 'string' && texts === undefined && length === undefined) return 'needs enum or max_length';
  return type === 'boolean' && (texts !== undefined || length !== undefined) ? 'may have no bounds' : undefined;
}

/** Classes of tokens that no chat uses. */
const IMAGE_CLASSES = TOKEN_CLASSES.filter((name) => !['input', 'cached_input', 'output'].includes(name));

function priceProblems(name: string, model: ModelSource, file: CatalogFile): EntryProblem[] {
  const problems: EntryProblem[] = [];
  const path = ['models', name, 'prices'];
  const say = (at: EntryProblem['path'], text: string): void => void problems.push({ path: [...path, ...at], text });
  for (const [index, price] of (model.prices ?? []).entries()) {
    if (Number.isNaN(Date.parse(price.from))) say([index, 'from'], 'is not a valid date');
    if (price.per_million_tokens === undefined && (model.kind === 'chat' || price.per_image === undefined))
      say([index], model.kind === 'image' ? 'needs per_image or per_million_tokens' : 'needs per_million_tokens');
    if (model.kind === 'chat')
      for (const name of IMAGE_CLASSES.filter((one) => price.per_million_tokens?.[one] !== undefined))
        say([index, 'per_million_tokens', name], 'applies to image models only');
    const useless = unusedPrice(acceptedBy(model, descriptorsOf(model, file)), price.per_image ?? {});
    if (useless !== undefined) say([index, 'per_image'], `has a price for ${useless}, which the model does not accept`);
    if (model.kind === 'chat' && price.cancelled !== undefined)
      say([index, 'cancelled'], 'applies to image models only');
  }
  const days = (model.prices ?? []).map(({ from }) => from);
  if (days.some((day, index) => index > 0 && day <= (days[index - 1] ?? '')))
    say([], 'must be listed from the oldest day to the newest');
  return problems;
}

/** Reports image counts that exceed what the model's providers return per call. */
function tooManyImages(name: string, model: ModelSource, file: CatalogFile): EntryProblem[] {
  const found: EntryProblem[] = [];
  const counts = model.routes.flatMap((route, index) => {
    const provider = providerOf(file, route.provider);
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

/** The key's name in logs and timelines. */
export function keyName(key: KeySource): string {
  return key.name ?? ('env' in key ? key.env.toLowerCase() : '');
}

/** A provider's servers, as in the file; one without a list is a server without a name. */
export function serversOf(provider: ProviderSource): readonly (Omit<ServerSource, 'name'> & { name?: string })[] {
  if (provider.servers !== undefined) return provider.servers;
  const { base_url, keys, limits, region } = provider;
  return [
    {
      ...(base_url !== undefined && { base_url }),
      ...(keys && { keys }),
      ...(limits && { limits }),
      ...(region !== undefined && { region }),
    },
  ];
}

/** The schema allows only types that have a descriptor. */
export function descriptorOf({ type }: ProviderSource): ProviderDescriptor {
  return DESCRIPTORS[type] as ProviderDescriptor;
}

/** A listed provider; `hasOwn`, because names such as `constructor` exist on every object. */
export function providerOf({ providers }: CatalogFile, name: string): ProviderSource | undefined {
  return Object.hasOwn(providers, name) ? providers[name] : undefined;
}

/** Descriptors of the route's providers, without those that are not listed. */
export function descriptorsOf({ routes }: ModelSource, file: CatalogFile): ProviderDescriptor[] {
  return routes.flatMap(({ provider }) => providerOf(file, provider) ?? []).map(descriptorOf);
}
