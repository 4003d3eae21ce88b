import { Stack } from '@mantine/core';
import { IconFingerprint } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { BusyButton } from '../../parts/busy.tsx';
import type { Session } from '../../api/types.ts';
import { Trouble } from '../../parts/page.tsx';
import { signInWithPasskey } from './ceremony.ts';

/** Signs in without email address, password and code. */
export function PasskeyButton({ onEnter }: { readonly onEnter: (session: Session) => Promise<void> }) {
  const signIn = useMutation({ mutationFn: signInWithPasskey, onSuccess: onEnter });
  return (
    <Stack>
      {signIn.error !== null && <Trouble error={signIn.error} doing="Could not sign in with a passkey" />}
      <BusyButton
        variant="default"
        fullWidth
        leftSection={<IconFingerprint size={18} />}
        busy={signIn.isPending}
        onClick={() => signIn.mutate()}
      >
        Sign in with a passkey
      </BusyButton>
    </Stack>
  );
}
