import { Switch } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { queryClient, sessionQuery } from '../../api/queries.ts';
import { send } from '../../api/request.ts';
import { ownAccountQuery } from '../../api/team-queries.ts';
import type { OwnAccount } from '../../api/team-types.ts';
import { accountLabel } from '../../parts/account-label.ts';
import { Confirm } from '../../parts/confirm.tsx';

/** Whether all users of the account need an authenticator app; changing it asks for confirmation. */
export function RequireTwoFactor({ account }: { readonly account: OwnAccount }) {
  const { require_two_factor: isRequired } = account;
  const [asking, setAsking] = useState(false);
  const change = useMutation({
    mutationFn: (required: boolean) => send('PATCH', '/account', { require_two_factor: required }),
    onSuccess: async (_answer, required) => {
      setAsking(false);
      notifications.show({
        color: 'green',
        message: `Two-factor authentication is ${required ? 'required' : 'optional'} now.`,
      });
      await queryClient.invalidateQueries(ownAccountQuery);
      await queryClient.invalidateQueries(sessionQuery);
    },
    onError: (error, required) => {
      if (!required)
        notifications.show({ color: 'red', title: 'Could not change the account', message: error.message });
    },
  });
  return (
    <>
      <Switch
        label="Require for everyone"
        description="Members who sign in with a password must set it up first."
        checked={isRequired}
        disabled={change.isPending}
        onChange={() => (isRequired ? change.mutate(false) : setAsking(true))}
      />
      {asking && (
        <Confirm
          opened
          title="Require two-factor authentication?"
          action="Require it"
          harmless
          save={{ ...change, mutate: () => change.mutate(true) }}
          onClose={() => setAsking(false)}
        >
          Everyone in {accountLabel(account.name)} who signs in with a password and has no authenticator app, you
          included, has to set one up before they can continue. Keys and single sign-on aren’t affected.
        </Confirm>
      )}
    </>
  );
}
