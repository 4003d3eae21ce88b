import ipaddr from 'ipaddr.js';

/**
 * An address as proxies write it, without what else they may: quotes, brackets, a port or a zone (`"[2001:db8::1]:443"`,
 * `10.0.0.1:5000`, `fe80::1%eth0`). Anything else stays as it is.
 */
export function plainAddress(text: string): string {
  const bare = text
    .trim()
    .replace(/^"(.*)"$/, '$1')
    .trim();
  const [, bracketed, ipv4] = /^(?:\[([^\]]*)\](?::\d*)?|(\d+\.\d+\.\d+\.\d+):\d*)$/.exec(bare) ?? [];
  const address = (bracketed ?? ipv4 ?? bare).replace(/%[\w.-]+$/, '');
  return ipaddr.isValid(address) ? address : text.trim();
}

/** Proxies that a request passes, and some that its caller made up: each adds its entry at the end. */
const MAX_HOPS = 16;
/** Longest entry: an address with its port and zone. */
const MAX_ENTRY = 128;

/**
 * The last entries of a list of such addresses, as in the header X-Forwarded-For; those before them are the caller's own
 * word. However long the list is, 16 entries are read.
 */
export function plainAddresses(list: string): string {
  const last = list
    .slice(-MAX_HOPS * MAX_ENTRY)
    .split(',')
    .slice(-MAX_HOPS);
  return last.map((entry) => plainAddress(entry.slice(-MAX_ENTRY))).join(', ');
}

/**
 * The network that a caller counts as: an IPv4 address, or the /64 of an IPv6 address, since its owner has all of that.
 */
export function networkOf(address: string | undefined): string {
  if (address === undefined || !ipaddr.isValid(address)) return 'unknown';
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  const parts = (parsed as ipaddr.IPv6).parts.slice(0, 4).map((part) => part.toString(16));
  return `${parts.join(':')}::/64`;
}

/**
 * The wider network that a caller's networks belong to: an IPv4 /24, or an IPv6 /48, because one line has many /64 and a
 * company a whole /48.
 */
export function wideNetworkOf(address: string | undefined): string {
  if (address === undefined || !ipaddr.isValid(address)) return 'unknown wide';
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return `${parsed.toString().replace(/\.\d+$/, '')}.0/24`;
  const parts = (parsed as ipaddr.IPv6).parts.slice(0, 3).map((part) => part.toString(16));
  return `${parts.join(':')}::/48`;
}

/** Tests whether an address is in a list of addresses and networks (10.0.0.0/8). */
export function networksMatcher(networks: readonly string[]): (address: string | undefined) => boolean {
  const known = networks.map((text) => {
    const parsed = text.includes('/') ? ipaddr.parseCIDR(text) : undefined;
    const address = parsed?.[0] ?? ipaddr.parse(text);
    return { address, bits: parsed?.[1] ?? (address.kind() === 'ipv4' ? 32 : 128) };
  });
  return (text) => {
    if (text === undefined || !ipaddr.isValid(text)) return false;
    const address = ipaddr.process(text);
    return known.some(
      (network) => network.address.kind() === address.kind() && address.match(network.address, network.bits),
    );
  };
}
