import { Agent, Pool, ProxyAgent, type Dispatcher } from 'undici';
import { AddressRules } from './address-rules.js';
import { checkedConnect, type Network } from './checked-connect.js';
import type { EgressConfig } from './egress.config.js';

const MAX_HEADER_BYTES = 16_384;

/** Milliseconds. */
interface AgentTimeouts {
  /** Connecting, and waiting for the response headers. */
  readonly connectTimeoutMs: number;
  /** Between two chunks of the body. */
  readonly bodyTimeoutMs: number;
}

/**
 * Creates an agent for one request on its own connection to a permitted address; destroy it afterwards. With
 * EGRESS_PROXY, the proxy resolves names and checks addresses; this service then only checks the text of the URL.
 */
export function checkedAgent(config: EgressConfig, network: Network, timeouts: AgentTimeouts): Dispatcher {
  const { connectTimeoutMs, bodyTimeoutMs } = timeouts;
  const limits = {
    headersTimeout: connectTimeoutMs,
    bodyTimeout: bodyTimeoutMs,
    maxHeaderSize: MAX_HEADER_BYTES,
    pipelining: 0,
  };
  if (config.egressProxy === undefined)
    return new Agent({ ...limits, connect: checkedConnect(new AddressRules(config), network, connectTimeoutMs) });
  const connect = { timeout: connectTimeoutMs };
  return new ProxyAgent({
    ...limits,
    uri: config.egressProxy,
    proxyTls: connect,
    requestTls: { ...connect, ...(network.ca !== undefined && { ca: network.ca }) },
    clientFactory: (origin, more) => new Pool(origin, { ...more, headersTimeout: connectTimeoutMs }),
  });
}
