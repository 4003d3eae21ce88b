import type { CatalogProvider, ProviderSource } from '../../api/catalog.ts';
import { optionsOf, textsOf, type OptionTexts } from './options.ts';

/** Values of the form; an empty number field is ''. */
export interface ProviderFields {
  name: string;
  type: string;
  base_url: string;
  keys: KeyFields[];
  concurrency: number | string;
  starts_per_minute: number | string;
  interrupted: '' | 'fail' | 'retry';
  free: '' | 'yes' | 'no';
  options: OptionTexts;
}

interface KeyFields {
  name: string;
  /** Empty keeps the stored key. */
  key: string;
  stored: boolean;
}

/** The request body for the API. */
export interface ProviderChange {
  readonly entry: ProviderSource;
  readonly keys: readonly { readonly name: string; readonly key?: string }[];
}

export function providerFields(existing: CatalogProvider | undefined): ProviderFields {
  const entry: ProviderSource = existing?.entry ?? { type: 'openai' };
  return {
    name: existing?.name ?? '',
    type: entry.type,
    base_url: entry.base_url ?? '',
    keys: existing?.keys.map((name) => ({ name, key: '', stored: true })) ?? [{ name: 'main', key: '', stored: false }],
    concurrency: entry.limits?.concurrency ?? '',
    starts_per_minute: entry.limits?.starts_per_minute ?? '',
    interrupted: entry.interrupted ?? '',
    free: entry.free === undefined ? '' : entry.free ? 'yes' : 'no',
    options: textsOf(entry.options ?? {}),
  };
}

/** Whether stored keys have to be entered again: they are sent only to the address they were entered for. */
export function needsKeysAgain(fields: ProviderFields, existing: CatalogProvider | undefined): boolean {
  if (existing === undefined || !fields.keys.some(({ key, stored }) => stored && key.trim() === '')) return false;
  return addressesOf(fields) !== addressesOf(providerFields(existing));
}

function addressesOf({ type, base_url: baseUrl, options }: ProviderFields): string {
  const others = Object.entries(options).filter(([name, text]) => name.endsWith('_url') && String(text).trim() !== '');
  return JSON.stringify([type, baseUrl.trim().replace(/\/+$/, ''), others.sort()]);
}

/** Throws OptionError. */
export function providerChange(fields: ProviderFields, schema: unknown): ProviderChange {
  const { type, base_url: baseUrl, concurrency, starts_per_minute: starts, interrupted, free } = fields;
  const limits = {
    ...(concurrency === '' ? {} : { concurrency: Number(concurrency) }),
    ...(starts === '' ? {} : { starts_per_minute: Number(starts) }),
  };
  const options = optionsOf(fields.options, schema);
  return {
    entry: {
      type,
      ...(baseUrl.trim() === '' ? {} : { base_url: baseUrl.trim() }),
      ...(Object.keys(limits).length === 0 ? {} : { limits }),
      ...(interrupted === '' ? {} : { interrupted }),
      ...(free === '' ? {} : { free: free === 'yes' }),
      ...(Object.keys(options).length === 0 ? {} : { options }),
    },
    // A row that was never filled in is ignored.
    keys: fields.keys
      .filter(({ key, stored }) => stored || key.trim() !== '')
      .map(({ name, key }) => ({ name: name.trim(), ...(key.trim() === '' ? {} : { key: key.trim() }) })),
  };
}
