import type { ProviderProxyConfig } from '../http/proxy.config.js';
import type { ProviderEntry, ProviderKey } from '../provider-entry.js';
import type { ImageFetcher } from '../provider-descriptor.js';
import { ProviderOptionsError, readOptions } from '../provider-options.js';
import { DIALECTS } from './dialects.js';
import { SUBMIT_POLL_OPTIONS, type SubmitPollOptions } from './options.js';
import { SubmitPollProvider } from './submit-poll-provider.js';

const CONNECT_TIMEOUT_MS = 10_000;
/** Time limit of one call, in ms: a submit responds before the generation starts. */
const TIMEOUT_MS = 60_000;

/** Creates the provider of an entry of type apimart, evolink, or toapis. Throws ProviderOptionsError. */
export function submitPollProvider(
  entry: ProviderEntry,
  key: ProviderKey | undefined,
  fetcher: ImageFetcher,
  proxy?: ProviderProxyConfig,
): SubmitPollProvider {
  const options = readOptions<SubmitPollOptions>(entry, SUBMIT_POLL_OPTIONS);
  const { accepts, upload_url: uploadUrl, timeout_ms: timeoutMs = TIMEOUT_MS } = options;
  const { name, type, baseUrl, free, interrupted } = entry;
  if (key === undefined) throw new Error('keys: at least one is needed');
  if (baseUrl === undefined || !isFamily(type)) throw new Error(`provider ${name} is of another family`);
  const dialect = DIALECTS[type];
  if (uploadUrl === undefined && isForeign(dialect.uploadPath, baseUrl)) {
    throw new ProviderOptionsError(["options.upload_url is needed where base_url is not the vendor's own"]);
  }
  const settings = {
    name,
    free,
    interrupted,
    dialect,
    accepts,
    uploadUrl,
    apiKey: key.secret,
    baseUrl,
    proxy,
    connectTimeoutMs: Math.min(CONNECT_TIMEOUT_MS, timeoutMs),
    firstByteTimeoutMs: timeoutMs,
    idleTimeoutMs: timeoutMs,
    totalTimeoutMs: 2 * timeoutMs,
  };
  return new SubmitPollProvider(settings, fetcher);
}

function isFamily(type: string): type is keyof typeof DIALECTS {
  return Object.hasOwn(DIALECTS, type);
}

/** Whether uploads would send one server's key to another server. */
function isForeign(uploadPath: string, baseUrl: string): boolean {
  const domain = (url: string): string => new URL(url).hostname.split('.').slice(-2).join('.');
  return URL.canParse(uploadPath) && domain(uploadPath) !== domain(baseUrl);
}
