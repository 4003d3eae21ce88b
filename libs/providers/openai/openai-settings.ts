import type { ProviderEntry, ProviderKey } from '#catalogue/catalogue.js';
import type { OpenAiConfig } from './openai.config.js';
import type { OpenAiSettings } from './openai-provider.js';

/** What an entry of type `openai` may say under `options`; what it leaves out is as the settings OPENAI_... say. */
interface OpenAiOptions {
  readonly stream?: boolean;
  readonly response_format?: 'b64_json' | 'url';
  readonly organization?: string;
  readonly project?: string;
  readonly connect_timeout_ms?: number;
  readonly first_byte_timeout_ms?: number;
  readonly idle_timeout_ms?: number;
  readonly total_timeout_ms?: number;
}

/** How one server that speaks OpenAI's Images API is used. */
export function openAiSettings(
  entry: ProviderEntry,
  key: ProviderKey | undefined,
  config: OpenAiConfig,
): OpenAiSettings {
  const options = entry.options as OpenAiOptions;
  return {
    apiKey: key?.secret ?? '',
    baseUrl: entry.baseUrl ?? config.baseUrl,
    organization: options.organization ?? config.organization,
    project: options.project ?? config.project,
    imageSizes: config.imageSizes,
    stream: options.stream ?? config.stream,
    responseFormat: options.response_format ?? config.responseFormat,
    interrupted: entry.interrupted,
    connectTimeoutMs: options.connect_timeout_ms ?? config.connectTimeoutMs,
    firstByteTimeoutMs: options.first_byte_timeout_ms ?? config.firstByteTimeoutMs,
    idleTimeoutMs: options.idle_timeout_ms ?? config.idleTimeoutMs,
    totalTimeoutMs: options.total_timeout_ms ?? config.totalTimeoutMs,
  };
}
