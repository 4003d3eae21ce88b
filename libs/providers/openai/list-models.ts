import type { ProviderEntry, ProviderKey } from '../provider-entry.js';
import { ProviderError } from '../provider-error.js';
import type { ListedModels, ListModels } from '../provider-descriptor.js';
import { readOptions } from '../provider-options.js';
import { errorBody } from '../http/error-body.js';
import { readJson, textAt, valueAt } from '../http/json-value.js';
import { ProviderProxyConfig } from '../http/proxy.config.js';
import { Upstream, type UpstreamResponse } from '../http/upstream.js';
import { credentialsOf } from './credentials.js';
import { EntraTokens } from './entra-tokens.js';
import { OPENAI_OPTIONS, type OpenAiOptions } from './options.js';

/** Short, because a user waits for this in a form. */
const TIMEOUT_MS = 15_000;
const MAX_BYTES = 4_000_000;

/**
 * Asks an OpenAI-compatible server for the models that a key may use (`GET /models` below its base URL), which costs
 * nothing. Problems are returned, not thrown. Throws ProviderOptionsError, and the signal's reason.
 */
export async function listModels(
  entry: ProviderEntry,
  key: ProviderKey | undefined,
  { settings }: Parameters<ListModels>[2],
  signal: AbortSignal,
): Promise<ListedModels> {
  const { organization, project } = readOptions<OpenAiOptions>(entry, OPENAI_OPTIONS);
  const proxy = settings(ProviderProxyConfig);
  const upstream = new Upstream({
    credentials: credentialsOf(entry, key, new EntraTokens(proxy)),
    baseUrl: entry.baseUrl ?? '',
    organization,
    project,
    proxy,
    connectTimeoutMs: TIMEOUT_MS,
    firstByteTimeoutMs: TIMEOUT_MS,
    idleTimeoutMs: TIMEOUT_MS,
    totalTimeoutMs: TIMEOUT_MS,
  });
  const call = { path: '/models', accept: 'application/json', signal, maxBytes: MAX_BYTES };
  try {
    return await upstream.call(call, async (answer) => {
      if (answer.status === 200) return await modelsIn(answer);
      const { value } = await errorBody(answer.body);
      const said = upstream.messageIn(value);
      return { problem: `${refusalText(answer.status)}${said === undefined ? '' : ` The server said: ${said}`}` };
    });
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    return { problem: error.providerMessage ?? unreachableText(error) };
  }
}

async function modelsIn({ body }: UpstreamResponse): Promise<ListedModels> {
  const unusable = { problem: 'The server responded, but not with a list of models. Check the base URL.' };
  const answer = await readJson(body).catch((error: unknown) => {
    if (error instanceof ProviderError) throw error;
    return undefined;
  });
  const listed = valueAt(answer, 'data');
  if (!Array.isArray(listed)) return unusable;
  const ids = listed.map((model: unknown) => textAt(model, 'id')).filter((id) => id !== undefined);
  return { models: [...new Set(ids)].sort() };
}

function refusalText(status: number): string {
  if (status === 401 || status === 403) return `The server is reachable, but rejected the key (${status}).`;
  if (status === 404)
    return 'The server is reachable, but has no list of models at this URL (404). Does the base URL need /v1?';
  return `The server is reachable, but returned ${status} for its list of models.`;
}

/** Operators may see the error code, which callers may not. */
function unreachableText({ cause }: ProviderError): string {
  const code = /[A-Z][A-Z0-9_]+$/.exec(cause instanceof Error ? cause.message : '')?.[0];
  if (code === undefined) return 'The server could not be reached.';
  if (code.endsWith('TIMEOUT')) return `The server did not respond within ${TIMEOUT_MS / 1_000} seconds.`;
  if (code === 'ENOTFOUND') return 'The server could not be reached: host not found (ENOTFOUND).';
  if (code === 'ECONNREFUSED')
    return 'The server could not be reached: connection refused (ECONNREFUSED). Is it running?';
  return `The server could not be reached (${code}).`;
}
