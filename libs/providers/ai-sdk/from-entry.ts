import type { ProviderProxyConfig } from '../http/proxy.config.js';
import type { ProviderEntry, ProviderKey } from '../provider-entry.js';
import type { ImageFetcher } from '../provider-descriptor.js';
import { readOptions } from '../provider-options.js';
import { AiSdkProvider } from './ai-sdk-provider.js';
import { fal } from './fal.js';
import { google } from './google.js';
import type { LibraryVendor } from './library-vendor.js';
import { AI_SDK_OPTIONS, type AiSdkOptions } from './options.js';

const VENDORS = { fal, google } as const satisfies Record<string, LibraryVendor>;

/** Creates the provider of an entry of type fal or google. Throws ProviderOptionsError. */
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
  const options = readOptions<AiSdkOptions>(entry, AI_SDK_OPTIONS[type]);
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
    // The time limit of the whole generation: the response starts when the image is ready.
    firstByteTimeoutMs: options.first_byte_timeout_ms ?? 600_000,
    idleTimeoutMs: options.idle_timeout_ms ?? 60_000,
    totalTimeoutMs: options.total_timeout_ms ?? 840_000,
  };
  return new AiSdkProvider(settings, fetcher);
}

function isVendor(type: string): type is keyof typeof VENDORS {
  return Object.hasOwn(VENDORS, type);
}
