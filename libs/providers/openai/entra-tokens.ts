import { createHash } from 'node:crypto';
import { untilAborted } from '#egress/until-aborted.js';
import { readJson, textAt, valueAt } from '../http/json-value.js';
import type { ProviderProxyConfig } from '../http/proxy.config.js';
import { Upstream } from '../http/upstream.js';
import { ProviderError } from '../provider-error.js';

/** Time limit of one request for a token, in ms. */
const TIMEOUT_MS = 10_000;
const MAX_BYTES = 100_000;
/** A token is replaced this long before it expires, or after half of a shorter life, in ms. */
const REPLACED_BEFORE_MS = 300_000;
/** The longest time for which a token is used, in ms, whatever its issuer says. */
const LONGEST_MS = 86_400_000;
/** When to try again to replace a token that is still valid, in ms. */
const RETRY_MS = 30_000;
/** Clients whose tokens are kept; the one that was used least recently is forgotten. */
const MOST_CLIENTS = 200;

/** Who asks Microsoft Entra for a token, and for what. */
export interface EntraClient {
  /** Where tokens are issued: `https://login.microsoftonline.com/<tenant>/oauth2/v2.0/token`. */
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly secret: string;
  readonly scope: string;
}

interface Token {
  readonly text: string;
  /** By `now`, in ms. */
  readonly expiresAt: number;
  replaceAt: number;
}

interface Known {
  token: Token | undefined;
  /** The only request in progress. */
  pending: Promise<Token> | undefined;
}

/** Access tokens for clients of Microsoft Entra: kept until shortly before they expire, and requested once at a time. */
export class EntraTokens {
  /** By a digest, because this map outlives the catalogs that have the secrets. */
  private readonly clients = new Map<string, Known>();

  constructor(
    private readonly proxy: ProviderProxyConfig | undefined,
    private readonly now: () => number = Date.now,
  ) {}

  /**
   * A valid token. Throws ProviderError, which says that nothing was charged, when none is issued, and the signal's reason
   * when it aborts; the request goes on for others.
   */
  async get(client: EntraClient, signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    const known = this.knownOf(client);
    const { token } = known;
    if (token === undefined || token.expiresAt <= this.now()) {
      return (await untilAborted(this.request(client, known), signal)).text;
    }
    // A failure matters only once the token has expired.
    if (token.replaceAt <= this.now()) {
      token.replaceAt = this.now() + RETRY_MS;
      this.request(client, known).catch(() => undefined);
    }
    return token.text;
  }

  /** Forgets a token that a server rejected. */
  rejected(client: EntraClient, text: string): void {
    const known = this.knownOf(client);
    if (known.token?.text === text) known.token = undefined;
  }

  private knownOf(client: EntraClient): Known {
    const { tokenUrl, clientId, secret, scope } = client;
    const id = createHash('sha256')
      .update(JSON.stringify([tokenUrl, clientId, secret, scope]))
      .digest('base64');
    const known = this.clients.get(id) ?? { token: undefined, pending: undefined };
    this.clients.delete(id);
    this.clients.set(id, known);
    const [oldest] = this.clients.keys();
    if (this.clients.size > MOST_CLIENTS && oldest !== undefined) this.clients.delete(oldest);
    return known;
  }

  private async request(client: EntraClient, known: Known): Promise<Token> {
    known.pending ??= this.issue(client)
      .then((token) => (known.token = token))
      .finally(() => (known.pending = undefined));
    return known.pending;
  }

  private async issue({ tokenUrl, clientId, secret, scope }: EntraClient): Promise<Token> {
    const fields = { grant_type: 'client_credentials', client_id: clientId, client_secret: secret, scope };
    const bytes = Buffer.from(new URLSearchParams(fields).toString());
    const upstream = new Upstream({
      baseUrl: tokenUrl,
      proxy: this.proxy,
      connectTimeoutMs: TIMEOUT_MS,
      firstByteTimeoutMs: TIMEOUT_MS,
      idleTimeoutMs: TIMEOUT_MS,
      totalTimeoutMs: TIMEOUT_MS,
    });
    const call = {
      path: tokenUrl,
      body: { contentType: 'application/x-www-form-urlencoded', bytes: bytes.length, pieces: [bytes] },
      accept: 'application/json',
      signal: new AbortController().signal,
      maxBytes: MAX_BYTES,
    };
    const began = this.now();
    try {
      return await upstream.call(call, async ({ status, body }) => {
        const answer = await readJson(body);
        if (status !== 200) throw refused(status, answer);
        const text = textAt(answer, 'access_token');
        const seconds = Number(valueAt(answer, 'expires_in'));
        if (text === undefined || !/^[\x21-\x7e]+$/.test(text) || !(seconds > 0)) throw noToken();
        const lifeMs = Math.min(seconds * 1_000, LONGEST_MS);
        const replaceAt = began + Math.max(lifeMs / 2, lifeMs - REPLACED_BEFORE_MS);
        return { text, expiresAt: began + lifeMs, replaceAt };
      });
    } catch (error) {
      // Nothing was ordered yet, so a response that broke off has cost nothing.
      throw error instanceof SignInFailed ? error : noToken(error);
    }
  }
}

/** Sign-in failed before the provider was called. */
class SignInFailed extends ProviderError {}

const NO_TOKEN = 'Microsoft Entra issued no access token for the provider.';

function noToken(cause?: unknown): SignInFailed {
  return new SignInFailed('upstream_error', NO_TOKEN, { retryable: true, charged: 'no', cause });
}

/** The client or its secret is wrong, or Entra is busy. Its text names ids, so only its codes are kept. */
function refused(status: number, answer: unknown): SignInFailed {
  const [number] = /AADSTS\d+/.exec(textAt(answer, 'error_description') ?? '') ?? [];
  const [code] = /^[a-z_]{1,60}$/.exec(textAt(answer, 'error') ?? '') ?? [];
  const said = ['Entra sign-in failed', code ?? [], number ?? []].flat().join(' ');
  return new SignInFailed('upstream_error', NO_TOKEN, {
    retryable: status === 429 || status >= 500,
    charged: 'no',
    keyRefused: status < 500,
    status,
    providerMessage: said,
    cause: new Error(`${said} (${status})`),
  });
}
