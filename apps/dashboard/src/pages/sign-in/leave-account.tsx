import { Box, Button, Group, List, Text, Title } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { forgetDraft } from '../../api/kept-draft.ts';
import { queryClient, useSession } from '../../api/queries.ts';
import { send } from '../../api/request.ts';
import { peopleQuery } from '../../api/team-queries.ts';
import { accountLabel, UNNAMED } from '../../parts/account-label.ts';
import { TypedConfirm } from '../../parts/typed-confirm.tsx';

/** Lets the user leave the account; its last owner has to name another one first. */
export function LeaveAccount() {
  const { person, account, accounts } = useSession();
  const [isOpen, setIsOpen] = useState(false);
  const navigate = useNavigate();
  const label = accountLabel(account.name);
  const isOwner = person.role === 'owner';
  const { data: people } = useQuery({ ...peopleQuery, enabled: isOwner });
  const others = people?.data.filter(({ id, role, disabled_at: out }) => id !== person.id && role === 'owner' && !out);
  const leave = useMutation({
    mutationFn: () => send('POST', '/person/leave', { name: account.name }),
    onSuccess: async () => {
      queryClient.clear();
      await forgetDraft();
      await navigate({ to: '/sign-in' });
      notifications.show({
        color: 'green',
        message: account.name === UNNAMED ? 'You left the account.' : `You left ${account.name}.`,
      });
    },
  });
  if (isOwner && others === undefined) return null;
  return (
    <Box className="surface" p="lg" component="section">
      <Title order={2} fz="md" mb="xs" style={{ overflowWrap: 'anywhere' }}>
        Leave {label}
      </Title>
      {others?.length === 0 ? (
        <Text size="sm">You are the last owner of {label}. Make another user an owner before you leave.</Text>
      ) : (
        <>
          <Text size="sm" mb="sm">
            You lose access immediately. To come back, you need a new invitation.
          </Text>
          <Group>
            <Button variant="default" onClick={() => setIsOpen(true)}>
              Leave account
            </Button>
          </Group>
        </>
      )}
      {isOpen && (
        <TypedConfirm
          title={`Leave ${label}?`}
          action="Leave account"
          name={account.name}
          save={leave}
          onClose={() => setIsOpen(false)}
        >
          <List size="sm">
            <List.Item>
              {accounts.length > 1
                ? 'Deleted: your email address and sessions in this account. Your sign-in stays for your other accounts.'
                : 'Deleted: your email address, password, single sign-on, two-factor authentication, recovery codes, passkeys, and sessions.'}
            </List.Item>
            <List.Item>
              Kept: your tasks, your name in the audit log, and the keys you created, which keep working.
            </List.Item>
          </List>
        </TypedConfirm>
      )}
    </Box>
  );
}
