import { Group, Menu, Table, Text } from '@mantine/core';
import type { AccountRow } from '../../api/team-types.ts';
import { CopyIconButton } from '../../parts/copy.tsx';
import { SpentSum } from '../../parts/cost.tsx';
import { dayOf, fullTime } from '../../parts/format.ts';
import { HiddenHead } from '../../parts/hidden-head.tsx';
import { Mark } from '../../parts/mark.tsx';
import { RowMenu } from '../../parts/row-menu.tsx';
import { Spend } from '../../parts/spend.tsx';
import type { AccountAct } from './account-dialog.tsx';

interface AccountTableProps {
  readonly accounts: readonly AccountRow[];
  readonly onAct: (act: AccountAct) => void;
}

export function AccountTable({ accounts, onAct }: AccountTableProps) {
  return (
    <Table.ScrollContainer minWidth={280}>
      <Table highlightOnHover horizontalSpacing="md">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Name</Table.Th>
            <Table.Th visibleFrom="md" ta="right">
              Members
            </Table.Th>
            <Table.Th visibleFrom="md" ta="right">
              Keys
            </Table.Th>
            <Table.Th visibleFrom="md" ta="right" className="nowrap">
              In flight
            </Table.Th>
            <Table.Th className="nowrap">This month</Table.Th>
            <Table.Th visibleFrom="sm">Budget</Table.Th>
            <Table.Th visibleFrom="md">Created</Table.Th>
            <HiddenHead w={56}>Actions</HiddenHead>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {accounts.map((account) => (
            <Table.Tr key={account.id}>
              <Table.Td maw={{ base: 170, sm: 220 }}>
                <Group gap="xs">
                  <Text
                    maw="100%"
                    size="sm"
                    truncate
                    title={account.name}
                    {...(account.disabled_at === null ? {} : { c: 'dimmed' })}
                  >
                    {account.name}
                  </Text>
                  <AccountState account={account} />
                </Group>
                <Group gap={2} wrap="nowrap">
                  <Text ff="monospace" size="xs" c="dimmed" truncate title={account.id}>
                    {account.id}
                  </Text>
                  <CopyIconButton value={account.id} label={`Copy ID of ${account.name}`} />
                </Group>
              </Table.Td>
              <Count of={account.people} />
              <Count of={account.keys} />
              <Count of={account.tasks_in_flight} />
              <Table.Td>
                <Text component="div" size="sm">
                  <SpentSum sum={account.spend} />
                </Text>
              </Table.Td>
              <Table.Td visibleFrom="sm" miw={170}>
                {account.budget === null ? (
                  <Text size="sm" c="dimmed">
                    None
                  </Text>
                ) : (
                  <Spend budget={account.budget} spend={account.spend} />
                )}
              </Table.Td>
              <Table.Td visibleFrom="md">
                <Text size="sm" title={fullTime(account.created_at)} className="nowrap">
                  {dayOf(account.created_at)}
                </Text>
              </Table.Td>
              <Table.Td>{account.deleted_at === null && <AccountMenu account={account} onAct={onAct} />}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function Count({ of }: { readonly of: number }) {
  return (
    <Table.Td visibleFrom="md" ta="right">
      <Text size="sm" className="numbers">
        {of}
      </Text>
    </Table.Td>
  );
}

function AccountState({ account }: { readonly account: AccountRow }) {
  const { disabled_at: disabled, deleted_at: deleted, admins } = account;
  if (deleted !== null) return <Mark>deleted</Mark>;
  if (disabled !== null) return <Mark>disabled</Mark>;
  return admins === 0 ? <Mark>no owner yet</Mark> : null;
}

interface AccountMenuProps {
  readonly account: AccountRow;
  readonly onAct: (act: AccountAct) => void;
}

function AccountMenu({ account, onAct }: AccountMenuProps) {
  const act = (kind: AccountAct['kind']) => () => onAct({ kind, account });
  return (
    <RowMenu of={account.name}>
      <Menu.Item onClick={act('rename')}>Rename</Menu.Item>
      <Menu.Item onClick={act('limits')}>Rate limits and priority</Menu.Item>
      <Menu.Item onClick={act('budget')}>Set budget</Menu.Item>
      {account.disabled_at !== null ? (
        <Menu.Item onClick={act('enable')}>Enable</Menu.Item>
      ) : (
        <>
          <Menu.Item onClick={act('invite')}>{account.admins === 0 ? 'Invite owner' : 'Invite admin'}</Menu.Item>
          {!account.first && (
            <>
              <Menu.Divider />
              <Menu.Item c="var(--mantine-color-error)" onClick={act('disable')}>
                Disable
              </Menu.Item>
            </>
          )}
        </>
      )}
      {!account.first && (
        <Menu.Item c="var(--mantine-color-error)" onClick={act('delete')}>
          Delete
        </Menu.Item>
      )}
    </RowMenu>
  );
}
