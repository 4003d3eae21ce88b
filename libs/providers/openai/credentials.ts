import type { ChangingCredentials } from '../http/upstream.js';
import type { ProviderEntry, ProviderKey } from '../provider-entry.js';
import { ProviderOptionsError } from '../provider-options.js';
import type { EntraClient, EntraTokens } from './entra-tokens.js';
import type { OpenAiOptions } from './options.js';

const LOGIN_URL = 'https://login.microsoftonline.com';
const SCOPE = 'https://cognitiveservices.azure.com/.default';

/** How an entry's server wants its key, by its options. Throws ProviderOptionsError when something is missing. */
export function credentialsOf(
  entry: ProviderEntry,
  key: ProviderKey | undefined,
  tokens: EntraTokens,
): ChangingCredentials {
  const { auth = 'bearer', tenant, client_id, login_url, scope } = entry.options as OpenAiOptions;
  if (auth !== 'entra') {
    if (key === undefined) return fixed({});
    return fixed(auth === 'api_key' ? { 'api-key': key.secret } : { authorization: `Bearer ${key.secret}` });
  }
  if (tenant === undefined || client_id === undefined) {
    throw new ProviderOptionsError([`options.${tenant === undefined ? 'tenant' : 'client_id'} is needed for entra`]);
  }
  if (key === undefined) throw new ProviderOptionsError(['keys must have the secret of the client, for entra']);
  return ofEntra(tokens, {
    tokenUrl: `${(login_url ?? LOGIN_URL).replace(/\/+$/, '')}/${tenant}/oauth2/v2.0/token`,
    clientId: client_id,
    secret: key.secret,
    scope: scope ?? SCOPE,
  });
}

function fixed(headers: Readonly<Record<string, string>>): ChangingCredentials {
  return { headers: () => Promise.resolve(headers), rejected: () => undefined };
}

function ofEntra(tokens: EntraTokens, client: EntraClient): ChangingCredentials {
  return {
    headers: async (signal) => ({ authorization: `Bearer ${await tokens.get(client, signal)}` }),
    rejected: ({ authorization = '' }) => tokens.rejected(client, authorization.slice('Bearer '.length)),
  };
}
