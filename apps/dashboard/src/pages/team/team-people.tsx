import { Box, Group, Menu, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useSession } from '../../api/queries.ts';
import { invitationsQuery } from '../../api/team-queries.ts';
import type { Person } from '../../api/team-types.ts';
import type { Session } from '../../api/types.ts';
import { dayOf, fullTime } from '../../parts/format.ts';
import { HiddenHead } from '../../parts/hidden-head.tsx';
import { Mark } from '../../parts/mark.tsx';
import { RowMenu } from '../../parts/row-menu.tsx';
import { When } from '../../parts/when.tsx';
import type { PersonAct } from './person-dialog.tsx';
import { ROLE_NAMES } from './role-choice.tsx';

interface TeamPeopleProps {
  readonly people: readonly Person[];
  readonly onAct: (act: PersonAct) => void;
}

const WAYS = { password: 'Password', openid: 'Single sign-on' } as const;
const FACTORS = { authenticator: 'Authenticator app', passkey: 'Passkey' } as const;

export function TeamPeople({ people, onAct }: TeamPeopleProps) {
  const { person: me } = useSession();
  const invitations = useQuery(invitationsQuery);
  const isNoneInvited = invitations.data?.data.length === 0;
  return (
    <Box className="surface">
      <Table.ScrollContainer minWidth={280}>
        <Table highlightOnHover horizontalSpacing="md">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Name</Table.Th>
              <Table.Th>Role</Table.Th>
              <Table.Th visibleFrom="sm">Last seen</Table.Th>
              <Table.Th visibleFrom="sm">Joined</Table.Th>
              <Table.Th visibleFrom="md">Sign-in</Table.Th>
              <HiddenHead w={56}>Actions</HiddenHead>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {people.map((person) => (
              <Table.Tr key={person.id}>
                <Table.Td maw={{ base: 170, sm: 320 }}>
                  <Group gap="xs">
                    <Text
                      maw="100%"
                      size="sm"
                      truncate
                      title={person.name}
                      {...(person.disabled_at === null ? {} : { c: 'dimmed' })}
                    >
                      {person.name}
                    </Text>
                    {person.id === me.id && <Mark>you</Mark>}
                    {person.disabled_at !== null && <Mark>disabled</Mark>}
                  </Group>
                  <Text size="xs" c="dimmed" truncate title={person.email}>
                    {person.email}
                  </Text>
                </Table.Td>
                <Table.Td>
                  <Text size="sm">{ROLE_NAMES[person.role]}</Text>
                </Table.Td>
                <Table.Td visibleFrom="sm">
                  <When time={person.last_seen_at} />
                </Table.Td>
                <Table.Td visibleFrom="sm">
                  <Text size="sm" title={fullTime(person.created_at)} className="nowrap">
                    {dayOf(person.created_at)}
                  </Text>
                </Table.Td>
                <Table.Td visibleFrom="md">
                  <Text size="sm">{signInOf(person)}</Text>
                </Table.Td>
                <Table.Td>{mayChange(me, person) && <PersonMenu person={person} onAct={onAct} />}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      {people.length === 1 && isNoneInvited && (
        <Text size="sm" c="dimmed" px="md" pb="md" pt="xs">
          You are the only member. Invite your team, so that everyone has their own sign-in.
        </Text>
      )}
    </Box>
  );
}

/** "Password, authenticator app, passkey" */
function signInOf({ signs_in_with: ways, second_factors: factors }: Person): string {
  const names = [...ways.map((way) => WAYS[way]), ...factors.map((factor) => FACTORS[factor])];
  return names.map((name, index) => (index === 0 ? name : name.toLowerCase())).join(', ') || '–';
}

/** Users can't change themselves, and only owners can change an owner. */
function mayChange(me: Session['person'], person: Person): boolean {
  return person.id !== me.id && (person.role !== 'owner' || me.role === 'owner');
}

interface PersonMenuProps {
  readonly person: Person;
  readonly onAct: (act: PersonAct) => void;
}

function PersonMenu({ person, onAct }: PersonMenuProps) {
  const item = (kind: PersonAct['kind'], label: string, color?: string) => (
    <Menu.Item {...(color === undefined ? {} : { color })} onClick={() => onAct({ kind, person })}>
      {label}
    </Menu.Item>
  );
  return (
    <RowMenu of={person.name}>
      {person.disabled_at === null && item('role', 'Change role')}
      {person.disabled_at !== null ? (
        item('enable', 'Enable')
      ) : (
        <>
          {person.signs_in_with.includes('password') && item('reset', 'Reset password')}
          {person.two_factor && item('resetTwoFactor', 'Reset two-factor authentication')}
          {item('signOut', 'Sign out everywhere')}
          <Menu.Divider />
          {item('disable', 'Disable', 'red')}
        </>
      )}
      {item('delete', 'Delete', 'red')}
    </RowMenu>
  );
}
