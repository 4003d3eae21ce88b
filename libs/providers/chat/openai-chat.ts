import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { providerAgent } from '../http/provider-agent.js';
import type { ProviderProxyConfig } from '../http/proxy.config.js';
import type { ProviderEntry } from '../provider-entry.js';
import { ChatNotSent, type ChatAnswer, type ChatCall, type ChatProvider } from './chat-provider.js';

/** Nothing is written to a connection that failed in one of these ways. */
const BEFORE_SENDING = new Set([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'],
  // Of a proxy, which refused or has the wrong certificate: a call that was aborted throws its signal's reason.
  ...['UND_ERR_ABORTED', 'UND_ERR_PRX_TLS'],
]);
const TLS_FAILURE = /^(?:ERR_TLS|ERR_SSL|CERT_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO)/;

/** A body is sent in pieces of as many bytes. */
const PIECE_BYTES = 65_536;

interface Endpoint {
  readonly origin: string;
  readonly path: string;
}

/** OpenAI's chat completions, of OpenAI itself and of every server that speaks them. */
export class OpenAiChat implements ChatProvider {
  private readonly agent: Dispatcher;
  /** Entries live as long as their catalog. */
  private readonly endpoints = new WeakMap<ProviderEntry, Endpoint>();

  /** `connectMs`: how long a connection may take to be made. */
  constructor(connectMs: number, proxy?: ProviderProxyConfig) {
    // Between two tokens a model may think as long as the whole call may take, which its signal limits.
    this.agent = providerAgent(proxy, { connectTimeoutMs: connectMs, bodyTimeout: 0 });
  }

  async call(provider: ProviderEntry, call: ChatCall): Promise<ChatAnswer> {
    const { statusCode, headers, body } = await this.agent
      .request({
        ...this.endpointOf(provider),
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'content-length': String(lengthOf(call.body)),
          accept: call.streamed ? 'text/event-stream' : 'application/json',
          // What is passed on byte for byte must be readable by whoever asked, and by us for its usage.
          'accept-encoding': 'identity',
          'user-agent': 'darkroom',
          ...(call.key === undefined ? {} : { authorization: `Bearer ${call.key.secret}` }),
        },
        body: bodyOf(call.body),
        headersTimeout: call.firstByteMs,
        signal: call.signal,
      })
      .catch((error: unknown) => {
        call.signal.throwIfAborted();
        throw wasNeverSent(error) ? new ChatNotSent('the provider could not be reached', { cause: error }) : error;
      });
    return { status: statusCode, headers, body };
  }

  async close(): Promise<void> {
    await this.agent.destroy();
  }

  private endpointOf(provider: ProviderEntry): Endpoint {
    let endpoint = this.endpoints.get(provider);
    if (endpoint === undefined) {
      const url = new URL(`${provider.baseUrl ?? ''}/chat/completions`);
      endpoint = { origin: url.origin, path: url.pathname };
      this.endpoints.set(provider, endpoint);
    }
    return endpoint;
  }
}

/** Small bodies go out at once; of large ones no more is on its way than the provider takes. */
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
