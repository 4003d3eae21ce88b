import { Stack, Text } from '@mantine/core';
import { AccountSwitch } from '../../app/account-switch.tsx';
import { useSession } from '../../api/queries.ts';
import { UNNAMED } from '../../parts/account-label.ts';
import { Outside } from './outside.tsx';
import { RecoveryCodes } from '../two-factor/recovery-codes.tsx';
import { SetUp } from '../two-factor/set-up.tsx';

interface TwoFactorRequiredProps {
  /** Recovery codes of the app that was just set up; null before. */
  readonly codes: readonly string[] | null;
  readonly onSetUp: (codes: readonly string[]) => void;
  readonly onClose: () => void;
  readonly onSignOut: () => void;
}

/** Replaces every page until the user has set up an authenticator app. */
export function TwoFactorRequired({ codes, onSetUp, onClose, onSignOut }: TwoFactorRequiredProps) {
  const { account } = useSession();
  return (
    <Outside
      title="Turn on two-factor authentication"
      about={`${account.name === UNNAMED ? 'This account' : account.name} requires it for everyone who has a password.`}
    >
      <Stack>
        {codes !== null ? (
          <RecoveryCodes codes={codes} onClose={onClose} />
        ) : (
          <>
            <AccountSwitch />
            <Text size="sm">
              You need an authenticator app, such as 1Password, Aegis, or Google Authenticator. From now on, you enter
              its code after your password.
            </Text>
            <SetUp
              onDone={(newCodes) => {
                onSetUp(newCodes);
                return Promise.resolve();
              }}
              onCancel={onSignOut}
              cancel="Sign out"
            />
          </>
        )}
      </Stack>
    </Outside>
  );
}
