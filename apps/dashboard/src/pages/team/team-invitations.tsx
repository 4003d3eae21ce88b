import { Box, Button, Group, Table, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { BusyButton } from '../../parts/busy.tsx';
import { queryClient } from '../../api/queries.ts';
import { send } from '../../api/request.ts';
import { invitationsQuery } from '../../api/team-queries.ts';
import type { Invitation, OneTimeLink } from '../../api/team-types.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { fromNow, fullTime } from '../../parts/format.ts';
import { Trouble } from '../../parts/page.tsx';
import { ROLE_NAMES } from './role-choice.tsx';
import { useSave } from '../../parts/use-save.ts';

interface InvitationsProps {
  readonly onRenewed: (email: string, newLink: OneTimeLink) => void;
}

/** Open invitations; renders nothing if there are none. */
export function Invitations({ onRenewed }: InvitationsProps) {
  const { data, error, refetch } = useQuery(invitationsQuery);
  const [leaving, setLeaving] = useState<Invitation | null>(null);
  const renew = useSave({
    send: ({ id }: Invitation) => send<OneTimeLink>('POST', `/invitations/${id}/renew`),
    stale: [invitationsQuery],
    after: (newLink, { email }) => onRenewed(email, newLink),
    failed: 'Could not create a new link',
    onError: () => queryClient.invalidateQueries(invitationsQuery),
  });
  if (error !== null) {
    return <Trouble error={error} doing="Could not load invitations" onRetry={() => void refetch()} />;
  }
  if (data === undefined || data.data.length === 0) return null;
  return (
    <Box className="surface" component="section">
      <Title order={2} fz="md" p="md" pb="xs">
        Pending invitations
      </Title>
      <Table horizontalSpacing="md">
        <Table.Tbody>
          {data.data.map((invitation) => (
            <Table.Tr key={invitation.id}>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>
                <Text size="sm">{invitation.email}</Text>
                <Text size="xs" c="dimmed" title={fullTime(invitation.expires_at)}>
                  {ROLE_NAMES[invitation.role]} · {validityOf(invitation)}
                </Text>
              </Table.Td>
              <Table.Td>
                <Group gap="xs" justify="flex-end">
                  <BusyButton
                    variant="default"
                    size="xs"
                    aria-label={`New link for ${invitation.email}`}
                    busy={renew.isPending && renew.variables.id === invitation.id}
                    onClick={() => renew.mutate(invitation)}
                  >
                    New link
                  </BusyButton>
                  <Button
                    variant="default"
                    size="xs"
                    aria-label={`Withdraw invitation for ${invitation.email}`}
                    onClick={() => setLeaving(invitation)}
                  >
                    Withdraw
                  </Button>
                </Group>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {leaving !== null && <Withdraw invitation={leaving} onClose={() => setLeaving(null)} />}
    </Box>
  );
}

function Withdraw({ invitation, onClose }: { readonly invitation: Invitation; readonly onClose: () => void }) {
  const withdraw = useSave({
    send: () => send('DELETE', `/invitations/${invitation.id}`),
    stale: [invitationsQuery],
    after: onClose,
  });
  return (
    <Confirm
      opened
      title={`Withdraw the invitation for ${invitation.email}?`}
      action="Withdraw invitation"
      save={withdraw}
      onClose={onClose}
    >
      Its link stops working immediately.
    </Confirm>
  );
}

function validityOf({ expires_at: end }: Invitation): string {
  return Date.parse(end) <= Date.now() ? `link expired ${fromNow(end)}` : `link expires ${fromNow(end)}`;
}
