import type { ProviderProxyConfig } from '../http/proxy.config.js';
import type { ProviderEntry, ProviderKey } from '../provider-entry.js';
import type { OpenAiConfig } from './openai.config.js';
import type { OpenAiSettings } from './openai-provider.js';

/** What an entry of type `openai` may say under `options`; what it leaves out is as the settings OPENAI_... say. */
interface OpenAiOptions {
  readonly stream?: boolean;
  readonly response_format?: 'b64_json' | 'url';
  readonly masks?: 'inpainting';
  readonly organization?: string;
  readonly project?: string;
  readonly connect_timeout_ms?: number;
  readonly first_byte_timeout_ms?: number;
  readonly idle_timeout_ms?: number;
  readonly total_timeout_ms?: number;
  /** Of chats alone. */
  readonly stream_usage?: boolean;
}

type Rule = readonly [(value: unknown) => boolean, string];

const LONGEST_MS = 3_600_000;
const YES_OR_NO: Rule = [(value) => typeof value === 'boolean', 'true or false'];
const NAME: Rule = [
  (value) => typeof value === 'string' && /^[\x21-\x7e]+$/.test(value),
  'visible ASCII without spaces',
];
const TIMEOUT: Rule = [
  (value) => Number.isInteger(value) && Number(value) >= 50 && Number(value) <= LONGEST_MS,
  `a whole number of ms from 50 to ${LONGEST_MS}`,
];
const RULES: Record<keyof OpenAiOptions, Rule> = {
  stream: YES_OR_NO,
  response_format: [(value) => value === 'b64_json' || value === 'url', 'b64_json or url'],
  masks: [(value) => value === 'inpainting', 'inpainting'],
  organization: NAME,
  project: NAME,
  connect_timeout_ms: TIMEOUT,
  first_byte_timeout_ms: TIMEOUT,
  idle_timeout_ms: TIMEOUT,
  total_timeout_ms: TIMEOUT,
  stream_usage: YES_OR_NO,
};

/** How one server that speaks OpenAI's Images API is used. Throws Error for the first option that is wrong. */
export function openAiSettings(
  entry: ProviderEntry,
  key: ProviderKey | undefined,
  config: OpenAiConfig,
  proxy?: ProviderProxyConfig,
): OpenAiSettings {
  const options = checked(entry.options);
  // The account that the settings name is one of that server alone.
  const { organization, project } = entry.baseUrl === config.baseUrl.replace(/\/+$/, '') ? config : {};
  return {
    apiKey: key?.secret ?? '',
    baseUrl: entry.baseUrl ?? config.baseUrl,
    organization: options.organization ?? organization,
    project: options.project ?? project,
    imageSizes: config.imageSizes,
    masks: options.masks,
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

function checked(options: Readonly<Record<string, unknown>>): OpenAiOptions {
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(RULES, name)) throw new Error(`options.${name} is not known to the type openai`);
    const [isRight, text] = RULES[name as keyof OpenAiOptions];
    if (!isRight(value)) throw new Error(`options.${name} must be ${text}`);
  }
  return options;
}
