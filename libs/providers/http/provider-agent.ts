import { Agent, EnvHttpProxyAgent, Pool, type Dispatcher } from 'undici';
import type { ProviderProxyConfig } from './proxy.config.js';

interface AgentSettings {
  readonly connectTimeoutMs: number;
  readonly headersTimeout?: number;
  readonly bodyTimeout?: number;
  readonly pipelining?: number;
}

/**
 * Connects to providers, through the configured proxy if there is one: in a tunnel, so that it can't read the traffic.
 */
export function providerAgent(
  proxy: ProviderProxyConfig | undefined,
  { connectTimeoutMs, ...options }: AgentSettings,
): Dispatcher {
  const connect = { timeout: connectTimeoutMs };
  if (proxy?.providerProxy === undefined) return new Agent({ ...options, connect });
  return new EnvHttpProxyAgent({
    ...options,
    connect,
    // Set explicitly, so that environment variables of other programs have no effect.
    httpProxy: proxy.providerProxy,
    httpsProxy: proxy.providerProxy,
    noProxy: proxy.providerNoProxy.join(','),
    ...{ proxyTls: connect, requestTls: connect },
    // The proxy's own response counts as connecting.
    clientFactory: (origin, more) => new Pool(origin, { ...more, headersTimeout: connectTimeoutMs }),
  });
}
