import { Agent, ProxyAgent, type Dispatcher } from 'undici';
import { AddressRules } from './address-rules.js';
import { checkedConnect, type Network } from './checked-connect.js';
import type { EgressConfig } from './egress.config.js';
import { proxyOptions } from './undici.js';

const MAX_HEADER_BYTES = 16_384;

/** Milliseconds. */
interface AgentTimeouts {
  /** Connecting, and waiting for the response headers. */
  readonly connectTimeoutMs: number;
  /** Between two chunks of the body. */
  readonly bodyTimeoutMs: number;
}

/** An agent for one request on its own connection. */
export interface CheckedAgent {
  readonly dispatcher: Dispatcher;
  /** Ends name resolution, the connection, and whatever still waits for them. */
  destroy(): Promise<void>;
}

/**
 * Creates an agent that connects to permitted addresses only; destroy it after its request. With EGRESS_PROXY, the proxy
 * resolves names and checks addresses; this service then only checks the text of the URL.
 */
export function checkedAgent(config: EgressConfig, network: Network, timeouts: AgentTimeouts): CheckedAgent {
  const destroyed = new AbortController();
  const dispatcher = dispatcherFor(config, network, timeouts, destroyed.signal);
  return {
    dispatcher,
    destroy: () => {
      destroyed.abort();
      return dispatcher.destroy();
    },
  };
}

function dispatcherFor(
  config: EgressConfig,
  network: Network,
  { connectTimeoutMs, bodyTimeoutMs }: AgentTimeouts,
  destroyed: AbortSignal,
): Dispatcher {
  const limits = {
    headersTimeout: connectTimeoutMs,
    bodyTimeout: bodyTimeoutMs,
    maxHeaderSize: MAX_HEADER_BYTES,
    pipelining: 0,
  };
  if (config.egressProxy === undefined) {
    const rules = new AddressRules(config);
    return new Agent({ ...limits, connect: checkedConnect(rules, network, connectTimeoutMs, destroyed) });
  }
  const proxy = proxyOptions(connectTimeoutMs);
  return new ProxyAgent({
    ...limits,
    ...proxy,
    uri: config.egressProxy,
    requestTls: { ...proxy.requestTls, ...(network.ca !== undefined && { ca: network.ca }) },
  });
}
