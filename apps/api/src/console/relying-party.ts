import { isIP } from 'node:net';
import { isLoopback } from '#accounts/loopback.js';

/** Whom passkeys are made for, in the words of WebAuthn: a domain, and the one origin of it that uses them. */
export interface RelyingParty {
  readonly id: string;
  readonly origin: string;
}

/**
 * The relying party of an installation. Browsers make passkeys for names alone, so under an address of this machine it
 * is localhost. Null under plain http and under other addresses, where browsers have no passkeys.
 */
export function relyingPartyOf(publicUrl: string): RelyingParty | null {
  const { protocol, hostname, host, origin } = new URL(publicUrl);
  if (isLoopback(hostname)) {
    return { id: 'localhost', origin: `${protocol}//${host.replace(hostname, 'localhost')}` };
  }
  const isName = isIP(hostname.replace(/^\[|\]$/g, '')) === 0;
  return protocol === 'https:' && isName ? { id: hostname, origin } : null;
}
