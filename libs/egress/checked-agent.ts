import { Agent, Pool, ProxyAgent, type Dispatcher } from 'undici';
import { AddressRules } from './address-rules.js';
import { checkedConnect, type Network } from './checked-connect.js';
import type { EgressConfig } from './egress.config.js';

const MAX_HEADER_BYTES = 16_384;

/** Milliseconds. */
interface AgentTimeouts {
  /** Connecting, and waiting for the head of the answer. */
  readonly connectTimeoutMs: number;
  /** Between two pieces of the body. */
  readonly bodyTimeoutMs: number;
}

/**
 * For one request on a connection of its own to a permitted address; to be destroyed afterwards. With EGRESS_PROXY the
 * names are the proxy's to resolve, and so are the addresses its to check: here only the text of the URL is.
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
