import { isIP } from 'node:net';
import { isLoopback } from '#accounts/loopback.js';

/** The WebAuthn relying party of passkeys: a domain, and the one origin that uses them. */
export interface RelyingParty {
  readonly id: string;
  readonly origin: string;
}

/**
 * The relying party of an installation. Browsers create passkeys only for domain names, so a loopback address becomes
 * localhost. Null with plain http and other IP addresses, where browsers have no passkeys.
 */
export function relyingPartyOf(publicUrl: string): RelyingParty | null {
  const { protocol, hostname, host, origin } = new URL(publicUrl);
  if (isLoopback(hostname)) {
    return { id: 'localhost', origin: `${protocol}//${host.replace(hostname, 'localhost')}` };
  }
  const isName = isIP(hostname.replace(/^\[|\]$/g, '')) === 0;
  return protocol === 'https:' && isName ? { id: hostname, origin } : null;
}
