import type { ProviderProxyConfig } from '../http/proxy.config.js';
import type { ProviderEntry, ProviderKey } from '../provider-entry.js';
import type { ImageFetcher } from '../provider-descriptor.js';
import { readOptions } from '../provider-options.js';
import { AiSdkProvider } from './ai-sdk-provider.js';
import { fal } from './fal.js';
import { google } from './google.js';
import type { LibraryVendor, ModelInput } from './library-vendor.js';

interface Options {
  takes?: ModelInput[];
  connect_timeout_ms?: number;
  first_byte_timeout_ms?: number;
  idle_timeout_ms?: number;
  total_timeout_ms?: number;
}

const VENDORS = { fal, google } as const satisfies Record<string, LibraryVendor>;

const TIMEOUT = { type: 'integer', minimum: 50, maximum: 3_600_000 };

function optionsOf({ inputs }: LibraryVendor): object {
  return {
    type: 'object',
    additionalProperties: false,
    properties: {
      ...(inputs.length === 0 ? {} : { takes: { type: 'array', items: { enum: inputs } } }),
      connect_timeout_ms: TIMEOUT,
      first_byte_timeout_ms: TIMEOUT,
      idle_timeout_ms: TIMEOUT,
      total_timeout_ms: TIMEOUT,
    },
  };
}

/** The provider of an entry of type fal or google. Throws ProviderOptionsError. */
export function aiSdkProvider(
  entry: ProviderEntry,
  key: ProviderKey | undefined,
  fetcher: ImageFetcher,
  proxy?: ProviderProxyConfig,
): AiSdkProvider {
  const { name, type, baseUrl, free, interrupted } = entry;
  if (key === undefined) throw new Error('keys: at least one is needed');
  if (baseUrl === undefined || !isVendor(type)) throw new Error(`provider ${name} is of another family`);
  const vendor: LibraryVendor = VENDORS[type];
  const options = readOptions<Options>(entry, optionsOf(vendor));
  const settings = {
    name,
    free,
    interrupted,
    vendor,
    takes: options.takes ?? [],
    baseUrl,
    proxy,
    headers: vendor.keyHeaders(key.secret),
    connectTimeoutMs: options.connect_timeout_ms ?? 10_000,
    // The whole generation: the answer begins when the image is there.
    firstByteTimeoutMs: options.first_byte_timeout_ms ?? 600_000,
    idleTimeoutMs: options.idle_timeout_ms ?? 60_000,
    totalTimeoutMs: options.total_timeout_ms ?? 840_000,
  };
  return new AiSdkProvider(settings, fetcher);
}

function isVendor(type: string): type is keyof typeof VENDORS {
  return Object.hasOwn(VENDORS, type);
}
