import { Anchor } from '@mantine/core';
import type { ReactNode } from 'react';
import type { SignInState } from '../../api/types.ts';

/** Why this page can't use passkeys; null where it can. */
export function whyNoPasskeys({ passkey_origin: origin }: SignInState): ReactNode {
  if (origin === null) {
    return 'Passkeys work only over https with a domain name. Ask the operator of this installation to set PUBLIC_URL to such an address.';
  }
  if (location.origin !== origin) {
    const here = `${origin}${location.pathname}`;
    return (
      <>
        Passkeys work only at{' '}
        <Anchor href={here} inherit underline="always">
          {origin}
        </Anchor>
        .
      </>
    );
  }
  return 'PublicKeyCredential' in window ? null : 'This browser does not support passkeys.';
}
