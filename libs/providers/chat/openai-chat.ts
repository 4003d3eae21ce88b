import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { decodedBody } from '#egress/decoded-body.js';
import { providerAgent } from '../http/provider-agent.js';
import type { ProviderProxyConfig } from '../http/proxy.config.js';
import { credentialsOf } from '../openai/credentials.js';
import { EntraTokens } from '../openai/entra-tokens.js';
import type { ProviderEntry } from '../provider-entry.js';
import { ChatNotSent, type ChatResponse, type ChatCall, type ChatProvider } from './chat-provider.js';

/** Errors after which nothing was sent on the connection. */
const BEFORE_SENDING = new Set([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'],
  // Errors of a proxy that refused the connection or has the wrong certificate; an aborted call throws its signal's
  // reason instead.
  ...['UND_ERR_ABORTED', 'UND_ERR_PRX_TLS', 'TUNNEL_FAILED'],
]);
const TLS_FAILURE = /^(?:ERR_TLS|ERR_SSL|CERT_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO)/;

/** Bytes per piece of a body. */
const PIECE_BYTES = 65_536;

interface Endpoint {
  readonly origin: string;
  readonly path: string;
}

/** Chat completions and Responses of OpenAI and every compatible server. */
export class OpenAiChat implements ChatProvider {
  private readonly agent: Dispatcher;
  private readonly tokens: EntraTokens;
  /** Weak, because entries live only as long as their catalog. */
  private readonly bases = new WeakMap<ProviderEntry, Endpoint>();

  /** `connectMs`: time limit for connecting. */
  constructor(connectMs: number, proxy?: ProviderProxyConfig) {
    // A model may pause between tokens as long as the whole call may take; the call's signal limits that.
    this.tokens = new EntraTokens(proxy);
    this.agent = providerAgent(proxy, { connectTimeoutMs: connectMs, bodyTimeout: 0 });
  }

  async call(provider: ProviderEntry, call: ChatCall): Promise<ChatResponse> {
    const { credentials, shown } = await this.credentialsFor(provider, call);
    const { statusCode, headers, body } = await this.agent
      .request({
        ...this.endpointOf(provider, call.path),
        method: call.method,
        headers: {
          ...(call.body.length === 0
            ? {}
            : { 'content-type': 'application/json', 'content-length': String(lengthOf(call.body)) }),
          accept: call.streamed ? 'text/event-stream' : 'application/json',
          // The body is passed on unchanged, so the caller must be able to read it, and so must we for its usage.
          'accept-encoding': 'identity',
          'user-agent': 'darkroom',
          ...shown,
        },
        body: call.body.length === 0 ? null : bodyOf(call.body),
        headersTimeout: call.firstByteMs,
        signal: call.signal,
      })
      .catch((error: unknown) => {
        call.signal.throwIfAborted();
        throw wasNeverSent(error) ? new ChatNotSent('the provider could not be reached', { cause: error }) : error;
      });
    if (statusCode === 401) credentials.rejected(shown);
    const sent = Object.values(shown).map((value) => value.replace(/^Bearer /, ''));
    // Callers get the response as they asked for it, and its usage is read.
    const { 'content-encoding': encoding, ...rest } = headers;
    if (encoding === undefined) return { status: statusCode, headers, body, credentials: sent };
    const { 'content-length': _encodedLength, ...plain } = rest;
    return { status: statusCode, headers: plain, body: decodedBody(body, encoding), credentials: sent };
  }

  async close(): Promise<void> {
    await this.agent.destroy();
  }

  /** Throws ChatNotSent when there are none now. */
  private async credentialsFor(provider: ProviderEntry, { key, signal }: ChatCall) {
    try {
      const credentials = credentialsOf(provider, key, this.tokens);
      return { credentials, shown: await credentials.headers(signal) };
    } catch (error) {
      signal.throwIfAborted();
      throw new ChatNotSent('there are no credentials for the provider', { cause: error });
    }
  }

  private endpointOf(provider: ProviderEntry, path: string): Endpoint {
    let base = this.bases.get(provider);
    if (base === undefined) {
      const url = new URL(provider.baseUrl ?? '');
      base = { origin: url.origin, path: url.pathname.replace(/\/$/, '') };
      this.bases.set(provider, base);
    }
    return { origin: base.origin, path: base.path + path };
  }
}

/** Sends small bodies at once, and streams large ones as fast as the provider accepts them. */
function bodyOf(pieces: readonly Buffer[]): Buffer | Readable {
  return lengthOf(pieces) <= PIECE_BYTES ? Buffer.concat(pieces) : Readable.from(slices(pieces), { objectMode: false });
}

function* slices(pieces: readonly Buffer[]): Generator<Buffer> {
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; at += PIECE_BYTES) yield piece.subarray(at, at + PIECE_BYTES);
  }
}

function lengthOf(pieces: readonly Buffer[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0);
}

function wasNeverSent(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code = '', syscall } = error as NodeJS.ErrnoException;
  return syscall === 'connect' || BEFORE_SENDING.has(code) || TLS_FAILURE.test(code);
}
