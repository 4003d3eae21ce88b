import { Pool, request, type buildConnector, type Dispatcher, type ProxyAgent } from 'undici';
import { untilAborted } from './until-aborted.js';

type Options = NonNullable<Parameters<typeof request<null>>[1]> & { readonly signal: AbortSignal };

/** After one of these codes, undici keeps the requests of a failed connection, and connects again at once and forever. */
const RETRIED_FOREVER = new Set(['UND_ERR_SOCKET', 'UND_ERR_INFO']);

/** The proxy broke the connection before anything was sent through it. */
class TunnelFailed extends Error {
  override readonly name = 'TunnelFailed';
  readonly code = 'TUNNEL_FAILED';
}

/** undici's `request`, which by itself ignores the signal while it waits for its connection. */
export function abortableRequest(url: string | URL, options: Options): Promise<Dispatcher.ResponseData> {
  return untilAborted(request(url, options), options.signal);
}

/** Options of undici's proxy agents; a connection that fails ends its request, and all waits have this limit. */
export function proxyOptions(
  connectTimeoutMs: number,
): Required<Pick<ProxyAgent.Options, 'clientFactory' | 'factory' | 'proxyTls' | 'requestTls'>> {
  const connect = { timeout: connectTimeoutMs };
  return {
    proxyTls: connect,
    requestTls: connect,
    factory: finalPool,
    // The proxy's own response counts as connecting.
    clientFactory: (origin, more) => finalPool(origin, { ...more, headersTimeout: connectTimeoutMs }),
  };
}

function finalPool(origin: URL | string, options: Pool.Options): Pool {
  const { connect } = options;
  const isConnector = typeof connect === 'function';
  return new Pool(new URL(origin), isConnector ? { ...options, connect: finalConnect(connect) } : options);
}

function finalConnect(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) => {
    connect(options, (...[error, socket]) => {
      if (error !== null) {
        const { code = '' } = error as NodeJS.ErrnoException;
        return callback(RETRIED_FOREVER.has(code) ? failed(error) : error, null);
      }
      // undici takes a server that is gone, or speaks first, for such an error.
      if (!socket.destroyed && socket.readableLength === 0) return callback(null, socket);
      socket.on('error', () => undefined).destroy();
      return callback(failed(socket.errored), null);
    });
  };
}

function failed(cause: Error | null): TunnelFailed {
  return new TunnelFailed('the proxy broke the connection', { cause });
}
