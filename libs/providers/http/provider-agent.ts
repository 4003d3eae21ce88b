import { Agent, EnvHttpProxyAgent, Pool, type Dispatcher } from 'undici';
import type { ProviderProxyConfig } from './proxy.config.js';

interface AgentSettings {
  readonly connectTimeoutMs: number;
  readonly headersTimeout?: number;
  readonly bodyTimeout?: number;
  readonly pipelining?: number;
}

/** Connects to providers: by the proxy of the settings, if there is one, in a tunnel that it can't look into. */
export function providerAgent(
  proxy: ProviderProxyConfig | undefined,
  { connectTimeoutMs, ...options }: AgentSettings,
): Dispatcher {
  const connect = { timeout: connectTimeoutMs };
  if (proxy?.providerProxy === undefined) return new Agent({ ...options, connect });
  return new EnvHttpProxyAgent({
    ...options,
    connect,
    // Named here, so that nothing is taken from variables of other programs.
    httpProxy: proxy.providerProxy,
    httpsProxy: proxy.providerProxy,
    noProxy: proxy.providerNoProxy.join(','),
    ...{ proxyTls: connect, requestTls: connect },
    // The proxy's own answer counts as connecting.
    clientFactory: (origin, more) => new Pool(origin, { ...more, headersTimeout: connectTimeoutMs }),
  });
}
