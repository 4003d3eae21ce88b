import type { CatalogProvider, ProviderSource } from '../../api/catalog.ts';
import { OptionError, optionsOf, textsOf, type OptionTexts } from './options.ts';

/** Values of the form; an empty number field is ''. */
export interface ProviderFields {
  name: string;
  type: string;
  base_url: string;
  /** As JSON; empty: a single server. */
  servers: string;
  region: string;
  keys: KeyFields[];
  /** Empty keeps the stored one. */
  webhook_secret: string;
  concurrency: number | string;
  starts_per_minute: number | string;
  interrupted: '' | 'fail' | 'retry';
  free: '' | 'yes' | 'no';
  options: OptionTexts;
}

interface KeyFields {
  /** Empty where there is no list of servers. */
  server: string;
  name: string;
  /** Empty keeps the stored key. */
  key: string;
  stored: boolean;
}

/** The request body for the API. */
export interface ProviderChange {
  readonly entry: ProviderSource;
  readonly webhook_secret?: string;
  readonly keys: readonly { readonly server?: string; readonly name: string; readonly key?: string }[];
}

export function providerFields(existing: CatalogProvider | undefined): ProviderFields {
  const entry: ProviderSource = existing?.entry ?? { type: 'openai' };
  return {
    name: existing?.name ?? '',
    type: entry.type,
    base_url: entry.base_url ?? '',
    servers: entry.servers === undefined ? '' : JSON.stringify(entry.servers, null, 2),
    region: entry.region ?? '',
    keys: existing === undefined ? [{ server: '', name: 'main', key: '', stored: false }] : storedKeys(existing),
    webhook_secret: '',
    concurrency: entry.limits?.concurrency ?? '',
    starts_per_minute: entry.limits?.starts_per_minute ?? '',
    interrupted: entry.interrupted ?? '',
    free: entry.free === undefined ? '' : entry.free ? 'yes' : 'no',
    options: textsOf(entry.options ?? {}),
  };
}

function storedKeys({ keys, server_keys: ofServers }: CatalogProvider): KeyFields[] {
  return [...keys.map((name) => ({ server: '', name })), ...ofServers].map((key) => ({
    ...key,
    key: '',
    stored: true,
  }));
}

/** Whether stored keys have to be entered again: they are sent only to the address they were entered for. */
export function needsKeysAgain(fields: ProviderFields, existing: CatalogProvider | undefined): boolean {
  if (existing === undefined || !fields.keys.some(({ key, stored }) => stored && key.trim() === '')) return false;
  return addressesOf(fields) !== addressesOf(providerFields(existing));
}

function addressesOf({ type, base_url: baseUrl, servers, options }: ProviderFields): string {
  const others = Object.entries(options).filter(([name, text]) => name.endsWith('_url') && String(text).trim() !== '');
  const urls = [...servers.matchAll(/"base_url":\s*"([^"]*)"/g)].map(([, url]) => url);
  return JSON.stringify([type, baseUrl.trim().replace(/\/+$/, ''), urls, others.sort()]);
}

/** Throws OptionError. */
export function providerChange(fields: ProviderFields, schema: unknown): ProviderChange {
  const { type, base_url: baseUrl, concurrency, starts_per_minute: starts, interrupted, free } = fields;
  const limits = {
    ...(concurrency === '' ? {} : { concurrency: Number(concurrency) }),
    ...(starts === '' ? {} : { starts_per_minute: Number(starts) }),
  };
  const options = optionsOf(fields.options, schema);
  const servers = serversOf(fields.servers);
  return {
    entry: {
      type,
      ...(servers === undefined ? {} : { servers }),
      ...(baseUrl.trim() === '' ? {} : { base_url: baseUrl.trim() }),
      ...(fields.region.trim() === '' ? {} : { region: fields.region.trim() }),
      ...(Object.keys(limits).length === 0 ? {} : { limits }),
      ...(interrupted === '' ? {} : { interrupted }),
      ...(free === '' ? {} : { free: free === 'yes' }),
      ...(Object.keys(options).length === 0 ? {} : { options }),
    },
    ...(fields.webhook_secret.trim() === '' ? {} : { webhook_secret: fields.webhook_secret.trim() }),
    // A row that was never filled in is ignored.
    keys: fields.keys
      .filter(({ key, stored }) => stored || key.trim() !== '')
      .map(({ server, name, key }) => ({
        ...(server.trim() === '' ? {} : { server: server.trim() }),
        name: name.trim(),
        ...(key.trim() === '' ? {} : { key: key.trim() }),
      })),
  };
}

/** The API checks what is in the list. Throws OptionError. */
function serversOf(text: string): ProviderSource['servers'] {
  if (text.trim() === '') return undefined;
  try {
    return JSON.parse(text) as ProviderSource['servers'];
  } catch {
    throw new OptionError('servers', 'Enter a JSON list of servers.');
  }
}
