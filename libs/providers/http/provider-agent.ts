import { Agent, EnvHttpProxyAgent, type Dispatcher } from 'undici';
import { proxyOptions } from '#egress/undici.js';
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
    ...proxyOptions(connectTimeoutMs),
  });
}
