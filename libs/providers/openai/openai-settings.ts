import type { ProviderProxyConfig } from '../http/proxy.config.js';
import type { ProviderEntry, ProviderKey } from '../provider-entry.js';
import { readOptions } from '../provider-options.js';
import { credentialsOf } from './credentials.js';
import { EntraTokens } from './entra-tokens.js';
import type { OpenAiConfig } from './openai.config.js';
import { OPENAI_OPTIONS, type OpenAiOptions } from './options.js';
import type { OpenAiSettings } from './openai-provider.js';

/** Settings for an OpenAI-compatible server. Throws ProviderOptionsError. */
export function openAiSettings(
  entry: ProviderEntry,
  key: ProviderKey | undefined,
  config: OpenAiConfig,
  proxy?: ProviderProxyConfig,
  tokens = new EntraTokens(proxy),
): OpenAiSettings {
  const options = readOptions<OpenAiOptions>(entry, OPENAI_OPTIONS);
  // The configured organization and project apply only to the configured server.
  const { organization, project } = entry.baseUrl === config.baseUrl.replace(/\/+$/, '') ? config : {};
  return {
    credentials: credentialsOf(entry, key, tokens),
    baseUrl: entry.baseUrl ?? config.baseUrl,
    organization: options.organization ?? organization,
    project: options.project ?? project,
    imageSizes: config.imageSizes,
    masks: options.masks,
    autoSize: options.auto_size,
    extra: options.extra,
    stream: options.stream ?? config.stream,
    responseFormat: options.response_format ?? config.responseFormat,
    interrupted: entry.interrupted,
    proxy,
    connectTimeoutMs: options.connect_timeout_ms ?? config.connectTimeoutMs,
    firstByteTimeoutMs: options.first_byte_timeout_ms ?? config.firstByteTimeoutMs,
    idleTimeoutMs: options.idle_timeout_ms ?? config.idleTimeoutMs,
    totalTimeoutMs: options.total_timeout_ms ?? config.totalTimeoutMs,
  };
}
