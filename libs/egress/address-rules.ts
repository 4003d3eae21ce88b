import ipaddr, { type IPv4, type IPv6 } from 'ipaddr.js';
import type { EgressConfig } from './egress.config.js';

type Address = IPv4 | IPv6;

/**
 * Always blocked, whatever the settings say: these ranges name no single host, or are another way to reach this host.
 */
const NEVER = new Set(['unspecified', 'broadcast', 'multicast', 'deprecatedSiteLocal', 'discard', 'rfc6145', 'teredo']);
/** This machine and its local link: reachable only if the settings allow it, and never in production. */
const LOCAL = new Set(['loopback', 'linkLocal']);
/** A public address that the host of a virtual machine serves: Azure's metadata service. */
const METADATA = new Set(['168.63.129.16']);
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');
const SIX_TO_FOUR = ipaddr.IPv6.parseCIDR('2002::/16');

/**
 * Decides which addresses may be reached: public ones, and those in EGRESS_ALLOW_CIDRS. An IPv4 address embedded in an
 * IPv6 address is judged as the IPv4 address.
 */
export class AddressRules {
  private readonly allowed: readonly [Address, number][];
  private readonly production: boolean;

  constructor(config: Pick<EgressConfig, 'allowCidrs' | 'nodeEnv'>) {
    this.allowed = config.allowCidrs.map((text) => ipaddr.parseCIDR(text));
    this.production = config.nodeEnv === 'production';
  }

  /** Also false for text that is not an IP address. */
  permits(text: string): boolean {
    // An address with a zone (fe80::1%eth0) is only valid on a link of this machine.
    if (!ipaddr.isValid(text) || text.includes('%')) return false;
    const address = unwrap(ipaddr.parse(text));
    const range = address.range();
    if (NEVER.has(range) || METADATA.has(address.toString())) return false;
    if (LOCAL.has(range) && this.production) return false;
    return isPublic(address) || this.isAllowed(address);
  }

  private isAllowed(address: Address): boolean {
    return this.allowed.some(([network, bits]) => network.kind() === address.kind() && address.match([network, bits]));
  }
}

function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast') return false;
  return address instanceof ipaddr.IPv4 || address.match(GLOBAL_IPV6);
}

function unwrap(address: Address): Address {
  if (address instanceof ipaddr.IPv4) return address;
  if (address.isIPv4MappedAddress()) return address.toIPv4Address();
  const bytes = address.toByteArray();
  if (address.match(NAT64)) return new ipaddr.IPv4(bytes.slice(12));
  if (address.match(SIX_TO_FOUR)) return new ipaddr.IPv4(bytes.slice(2, 6));
  return address;
}
