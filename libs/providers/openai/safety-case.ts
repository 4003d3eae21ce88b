import type { ReadSafetyCase } from '../provider-descriptor.js';
import { ProviderError } from '../provider-error.js';
import { readOptions } from '../provider-options.js';
import { readJson, textAt } from '../http/json-value.js';
import { ProviderProxyConfig } from '../http/proxy.config.js';
import { Upstream } from '../http/upstream.js';
import { credentialsOf } from './credentials.js';
import { EntraTokens } from './entra-tokens.js';
import { OPENAI_OPTIONS, type OpenAiOptions } from './options.js';

/** Of one key; the next one may have the case. */
const TIMEOUT_MS = 5_000;
const MAX_BYTES = 65_536;
/** Characters of a reason, and of an identifier, that are kept. */
const MAX_TEXT = 500;
/** No row can have some of them, and no identifier has any. */
const CONTROLS = /\p{C}/gu;

/** Reads a case (`GET /safety/cases/{id}` below the base URL). */
export const readSafetyCase: ReadSafetyCase = async (entry, key, caseId, { settings }, signal) => {
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
  const path = `/safety/cases/${encodeURIComponent(caseId)}`;
  return await upstream.call({ path, accept: 'application/json', signal, maxBytes: MAX_BYTES }, async (answer) => {
    if (answer.status === 404) return undefined;
    if (answer.status !== 200) throw unreadable(answer.status);
    const body = await readJson(answer.body);
    const endUser = textAt(body, 'entity_identifier');
    if (endUser === undefined) throw unreadable(answer.status);
    const reason = textAt(body, 'reason');
    return { endUser: kept(endUser), reason: reason && kept(reason) };
  });
};

function kept(text: string): string {
  return text.slice(0, MAX_TEXT).replace(CONTROLS, '\u{fffd}');
}

function unreadable(status: number): ProviderError {
  const text = `The provider answered ${status}, without the case.`;
  return new ProviderError('upstream_error', text, { retryable: true, charged: 'no', status });
}
