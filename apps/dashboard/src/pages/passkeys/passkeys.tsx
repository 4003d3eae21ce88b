import { Box, Button, Group, Menu, Stack, Table, Text, Title } from '@mantine/core';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { queryClient, signInQuery } from '../../api/queries.ts';
import { get, send } from '../../api/request.ts';
import type { Schema } from '../../api/generated/schema.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { dayOf, fromNow } from '../../parts/format.ts';
import { Rows, Trouble } from '../../parts/page.tsx';
import { RenameForm } from '../../parts/rename-form.tsx';
import { RowMenu } from '../../parts/row-menu.tsx';
import { AddPasskey } from './add-passkey.tsx';
import { whyNoPasskeys } from './why-no-passkeys.tsx';
import { useSave } from '../../parts/use-save.ts';

const passkeysQuery = queryOptions({
  queryKey: ['passkeys'],
  queryFn: ({ signal }) => get<Schema['PasskeyListView']>('/passkeys', {}, signal),
});
type Passkey = Schema['PasskeyView'];
type Act = { readonly kind: 'add' } | { readonly kind: 'rename' | 'remove'; readonly passkey: Passkey };

const reload = () => queryClient.invalidateQueries(passkeysQuery);

/** The user's passkeys, on the profile page. */
export function Passkeys() {
  const { data, error, refetch } = useQuery(passkeysQuery);
  const { data: methods } = useQuery(signInQuery);
  const [act, setAct] = useState<Act | null>(null);
  const close = () => setAct(null);
  const problem = methods === undefined ? null : whyNoPasskeys(methods);
  return (
    <Box className="surface" p="lg" component="section">
      <Title order={2} fz="md" mb="xs">
        Passkeys
      </Title>
      {error !== null && <Trouble error={error} doing="Could not load passkeys" onRetry={() => void refetch()} />}
      {(data === undefined || methods === undefined) && error === null && <Rows count={1} />}
      {data !== undefined && methods !== undefined && (
        <Stack>
          <Text size="sm" maw={480}>
            {problem ??
              'Sign in with your fingerprint, face, or device PIN. A passkey replaces your password and the code from your authenticator app.'}
          </Text>
          {data.data.length > 0 && <PasskeyTable passkeys={data.data} onAct={setAct} />}
          {problem === null && (
            <Group>
              <Button onClick={() => setAct({ kind: 'add' })}>Add passkey</Button>
            </Group>
          )}
        </Stack>
      )}
      {act?.kind === 'add' && <AddPasskey onAdded={reload} onClose={close} />}
      {act?.kind === 'rename' && (
        <RenameForm
          title="Rename passkey"
          name={act.passkey.name}
          onSave={async (name) => {
            await send('PATCH', `/passkeys/${act.passkey.id}`, { name });
            await reload();
          }}
          onClose={close}
        />
      )}
      {act?.kind === 'remove' && <RemovePasskey passkey={act.passkey} onClose={close} />}
    </Box>
  );
}

interface PasskeyTableProps {
  readonly passkeys: readonly Passkey[];
  readonly onAct: (act: Act) => void;
}

function PasskeyTable({ passkeys, onAct }: PasskeyTableProps) {
  return (
    <Table>
      <Table.Tbody>
        {passkeys.map((passkey) => (
          <Table.Tr key={passkey.id}>
            <Table.Td maw={{ base: 200, sm: 480 }} pl={0}>
              <Text size="sm" fw={600} truncate title={passkey.name}>
                {passkey.name}
              </Text>
              <Text size="xs" c="dimmed">
                Added {dayOf(passkey.created_at)},{' '}
                {passkey.last_used_at === null ? 'never used' : `last used ${fromNow(passkey.last_used_at)}`}
                {passkey.synced && ', synced between devices'}
              </Text>
            </Table.Td>
            <Table.Td ta="right" pr={0}>
              <RowMenu of={passkey.name}>
                <Menu.Item onClick={() => onAct({ kind: 'rename', passkey })}>Rename</Menu.Item>
                <Menu.Item c="var(--mantine-color-error)" onClick={() => onAct({ kind: 'remove', passkey })}>
                  Remove
                </Menu.Item>
              </RowMenu>
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

function RemovePasskey({ passkey, onClose }: { readonly passkey: Passkey; readonly onClose: () => void }) {
  const remove = useSave({
    send: () => send('DELETE', `/passkeys/${passkey.id}`),
    stale: [passkeysQuery],
    done: 'Passkey removed.',
    after: onClose,
  });
  return (
    <Confirm opened title={`Remove ${passkey.name}?`} action="Remove passkey" save={remove} onClose={onClose}>
      You can no longer sign in with it. Delete it in your browser or password manager too.
    </Confirm>
  );
}
