import { Menu, Table, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { EndUser } from '../../api/end-users.ts';
import { RowMenu } from '../../parts/row-menu.tsx';
import { State, type StateLook } from '../../parts/state.tsx';
import { When } from '../../parts/when.tsx';
import { ChangeDialog, type NewState } from './change-dialog.tsx';

const LOOKS: Readonly<Record<EndUser['state'], StateLook>> = {
  none: { label: 'No restriction', color: 'gray' },
  flagged: { label: 'Flagged', color: 'amber' },
  paused: { label: 'Paused', color: 'amber' },
  blocked: { label: 'Blocked', color: 'red' },
};

/** End users with their states, why they have them, and what can be done. */
export function EndUserTable({ endUsers }: { readonly endUsers: readonly EndUser[] }) {
  return (
    <Table.ScrollContainer minWidth={300}>
      <Table horizontalSpacing="md" className="card-rows" __vars={{ '--card-cell': '110px' }}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>End user</Table.Th>
            <Table.Th>State</Table.Th>
            <Table.Th>Reason</Table.Th>
            <Table.Th>Refused before / after</Table.Th>
            <Table.Th>Changed</Table.Th>
            <Table.Th>Actions</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {endUsers.map((endUser) => (
            <EndUserRow key={endUser.end_user} endUser={endUser} />
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function EndUserRow({ endUser }: { readonly endUser: EndUser }) {
  const { end_user: name, state, until, refusals, changed_at: changedAt } = endUser;
  const { input, output, unknown } = refusals;
  return (
    <Table.Tr>
      <Table.Td maw={260}>
        <Link to="/tasks" search={{ end_user: name }} className="text-link">
          <Text size="sm" truncate title={name} inherit>
            {name}
          </Text>
        </Link>
      </Table.Td>
      <Table.Td data-name="State">
        <State {...LOOKS[state]} />
        {until !== null && (
          <Text size="xs" c="dimmed" component="div">
            Until <When time={until} />
          </Text>
        )}
      </Table.Td>
      <Table.Td data-name="Reason" maw={320}>
        <Text size="sm">{endUser.reason ?? '–'}</Text>
        {endUser.provider !== null && (
          <Text size="xs" c="dimmed">
            {endUser.provider}, case {endUser.case_id}
          </Text>
        )}
      </Table.Td>
      <Table.Td data-name="Refused before / after" className="numbers">
        {input.toLocaleString('en')} / {output.toLocaleString('en')}
        {unknown > 0 && ` + ${unknown.toLocaleString('en')}`}
      </Table.Td>
      <Table.Td data-name="Changed">
        {changedAt === null ? '–' : <When time={changedAt} />}
        {changedAt !== null && (
          <Text size="xs" c="dimmed">
            {changedBy(endUser)}
          </Text>
        )}
      </Table.Td>
      <Table.Td data-name="Actions">
        <Actions endUser={endUser} />
      </Table.Td>
    </Table.Tr>
  );
}

function changedBy({ cause, changed_by: person, provider }: EndUser): string {
  if (cause === 'refusals') return 'automatically';
  return (cause === 'provider' ? provider : person) ?? 'a former member';
}

function Actions({ endUser }: { readonly endUser: EndUser }) {
  const [chosen, choose] = useState<NewState>();
  const { end_user: name, state } = endUser;
  return (
    <>
      <RowMenu of={name}>
        {state !== 'blocked' && <Menu.Item onClick={() => choose('blocked')}>Block</Menu.Item>}
        {state === 'none' && <Menu.Item onClick={() => choose('flagged')}>Flag</Menu.Item>}
        {state !== 'none' && (
          <Menu.Item onClick={() => choose('none')}>
            {state === 'flagged' ? 'Remove flag' : state === 'paused' ? 'End pause' : 'Unblock'}
          </Menu.Item>
        )}
      </RowMenu>
      {chosen !== undefined && <ChangeDialog name={name} to={chosen} onClose={() => choose(undefined)} />}
    </>
  );
}
