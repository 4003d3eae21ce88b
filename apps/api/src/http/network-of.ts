import ipaddr from 'ipaddr.js';

/** The network a caller is counted as: the address, or the /64 of an IPv6 one, for who has one of those has all. */
export function networkOf(address: string | undefined): string {
  if (address === undefined || !ipaddr.isValid(address)) return 'unknown';
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv4' ? parsed.toString() : (parsed as ipaddr.IPv6).parts.slice(0, 4).join(':');
}
