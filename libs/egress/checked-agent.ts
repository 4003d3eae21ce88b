import { Agent } from 'undici';
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

/** For one request on a connection of its own to a permitted address; to be destroyed afterwards. */
export function checkedAgent(config: EgressConfig, network: Network, timeouts: AgentTimeouts): Agent {
  const { connectTimeoutMs, bodyTimeoutMs } = timeouts;
  return new Agent({
    connect: checkedConnect(new AddressRules(config), network, connectTimeoutMs),
    headersTimeout: connectTimeoutMs,
    bodyTimeout: bodyTimeoutMs,
    maxHeaderSize: MAX_HEADER_BYTES,
    pipelining: 0,
  });
}
