import { Anchor } from '@mantine/core';
import type { ReactNode } from 'react';
import type { SignInState } from '../../api/types.ts';

/** The current page at the address where passkeys work; null if they work here, or nowhere. */
export function passkeyAddress({ passkey_origin: origin }: SignInState): string | null {
  return origin === null || location.origin === origin ? null : `${origin}${location.pathname}`;
}

/** Why this page can't use passkeys; null if it can. */
export function whyNoPasskeys(state: SignInState): ReactNode {
  if (state.passkey_origin === null) {
    return 'Passkeys need https and a domain name. Ask the operator of this installation to set PUBLIC_URL to such an address.';
  }
  const address = passkeyAddress(state);
  if (address !== null) {
    return (
      <>
        {/^[\d.]+$|^\[/.test(location.hostname)
          ? `Browsers don’t allow passkeys at an IP address such as ${location.hostname}. `
          : 'Passkeys don’t work at this address. '}
        To use them, open{' '}
        <Anchor href={address} inherit underline="always">
          {address}
        </Anchor>{' '}
        and sign in there.
      </>
    );
  }
  return 'PublicKeyCredential' in window ? null : 'This browser doesn’t support passkeys.';
}
