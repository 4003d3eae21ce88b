import { Box, Button, Code, Group, SegmentedControl, Select, Stack, Switch, Table, Text } from '@mantine/core';
import { IconCheck } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { keyNamesQuery, useMay, useSession } from '../../api/queries.ts';
import {
  refusedMinutesQuery,
  refusedQuery,
  type RefusedFilters,
  type RefusedGroup,
  type RefusedMinute,
} from '../../api/refused.ts';
import { fullTime } from '../../parts/format.ts';
import { Empty, PageFrame, Rows, Trouble } from '../../parts/page.tsx';
import { SectionTitle } from '../../parts/section-title.tsx';
import { TaskTabs } from '../../parts/task-tabs.tsx';
import { When } from '../../parts/when.tsx';
import { refusalWords } from './refusal-words.ts';

const route = getRouteApi('/inside/tasks/refused');
const SPANS = [
  { value: '1', label: 'Last hour' },
  { value: '24', label: '24 hours' },
  { value: '168', label: '7 days' },
];
const DEFAULT_SPAN = '24';

/** Calls that got an error before there was a task, so that they are in no other list. */
export function RefusedPage() {
  const filters = route.useSearch();
  const seesAll = useMay()('tasks.read_all');
  const groups = useQuery(refusedQuery(filters));
  const { data, error, isPending, refetch } = groups;
  return (
    <PageFrame
      title="Refused"
      about={`${seesAll ? 'Calls' : 'Calls of your keys'} that got an error before they became a task. Kept for 7 days. Updates automatically.`}
    >
      <TaskTabs />
      <Filters filters={filters} />
      {error !== null && <Trouble error={error} doing="Could not load refused calls" onRetry={() => void refetch()} />}
      {error === null && (
        <Box className="surface" component="section" aria-label="By key and error">
          {isPending && <Rows count={4} />}
          {data !== undefined && (
            <Text size="sm" className="numbers" role="status" px="md" pt="md">
              {counted(data.total)}
              {data.has_more && ` · The ${data.data.length.toLocaleString('en')} most frequent kinds are listed`}
            </Text>
          )}
          {data?.data.length === 0 && <NothingRefused filters={filters} />}
          {data !== undefined && data.data.length > 0 && <GroupTable groups={data.data} filters={filters} />}
        </Box>
      )}
      {data !== undefined && data.data.length > 0 && <Minutes filters={filters} />}
    </PageFrame>
  );
}

function counted(count: number): string {
  return `${count.toLocaleString('en')} ${count === 1 ? 'call' : 'calls'} refused`;
}

function NothingRefused({ filters: { key, code } }: { readonly filters: RefusedFilters }) {
  const isNarrowed = key !== undefined || code !== undefined;
  return (
    <Empty
      icon={<IconCheck size={36} />}
      title="No refused calls in this period"
      {...(isNarrowed && {
        action: (
          <Button component={Link} to="/tasks/refused" variant="default">
            Clear filters
          </Button>
        ),
      })}
    >
      Calls that exceed a limit, have no valid key, or have a mistake appear here, counted by key and error.
    </Empty>
  );
}

function Filters({ filters }: { readonly filters: RefusedFilters }) {
  const navigate = useNavigate();
  const { operator } = useSession();
  const keys = useQuery(keyNamesQuery);
  const change = (changes: RefusedFilters) => {
    void navigate({ to: '/tasks/refused', search: { ...filters, ...changes }, replace: true });
  };
  const names = (keys.data?.data ?? []).map(({ id, name }) => ({ value: id, label: name }));
  const { hours = DEFAULT_SPAN, key, code, installation } = filters;
  const known = key === undefined || names.some(({ value }) => value === key);
  return (
    <Group gap="sm">
      <SegmentedControl
        size="xs"
        aria-label="Time range"
        data={SPANS}
        value={hours}
        onChange={(span) => change({ hours: span === DEFAULT_SPAN ? undefined : span })}
      />
      <Select
        aria-label="Key"
        placeholder="Any key"
        clearable
        searchable
        w={{ base: '100%', sm: 180 }}
        data={known ? names : [...names, key]}
        value={key ?? null}
        onChange={(chosen) => change({ key: chosen ?? undefined })}
      />
      {code !== undefined && (
        <Button variant="default" size="xs" onClick={() => change({ code: undefined })}>
          Show all errors, not only {code}
        </Button>
      )}
      {operator && (
        <Switch
          label="All accounts, and calls without a valid key"
          checked={installation === 'true'}
          onChange={({ currentTarget: { checked } }) =>
            change({ installation: checked ? 'true' : undefined, key: undefined })
          }
        />
      )}
    </Group>
  );
}

interface TableProps {
  readonly groups: readonly RefusedGroup[];
  readonly filters: RefusedFilters;
}

function GroupTable({ groups, filters }: TableProps) {
  const isWide = filters.installation === 'true';
  return (
    <Table.ScrollContainer minWidth={300}>
      <Table horizontalSpacing="md" className="card-rows" __vars={{ '--card-cell': '110px' }}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Error</Table.Th>
            {isWide && <Table.Th>Account</Table.Th>}
            <Table.Th>Key</Table.Th>
            <Table.Th>Calls</Table.Th>
            <Table.Th>Last</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {groups.map((group) => (
            <Table.Tr key={nameOf(group)}>
              <Table.Td maw={460}>
                <Cause group={group} filters={filters} />
              </Table.Td>
              {isWide && <Table.Td data-name="Account">{group.account?.name ?? '–'}</Table.Td>}
              <Table.Td data-name="Key" maw={220}>
                <KeyName of={group} />
              </Table.Td>
              <Table.Td data-name="Calls" className="numbers">
                {group.count.toLocaleString('en')}
              </Table.Td>
              <Table.Td data-name="Last">
                <When time={group.last_at} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

/** What was wrong, the code that the caller got, and what to do. */
function Cause({
  group: { code, status },
  filters,
}: {
  readonly group: RefusedGroup;
  readonly filters: RefusedFilters;
}) {
  const { what, help } = refusalWords(code, status);
  return (
    <Box miw={0}>
      <Text size="sm">
        <Link to="/tasks/refused" search={{ ...filters, code }} className="text-link in-sentence">
          {what}
        </Link>{' '}
        <Code>
          {status} {code}
        </Code>
      </Text>
      <Text size="sm" c="dimmed">
        {help}
      </Text>
    </Box>
  );
}

function KeyName({ of: { key, account } }: { readonly of: Pick<RefusedGroup, 'key' | 'account'> }) {
  return (
    <Text size="sm" truncate title={key?.name} {...(key === null && { c: 'dimmed' })}>
      {key?.name ?? (account === null ? 'No valid key' : 'Several keys')}
    </Text>
  );
}

/** The latest minutes, to see when something began and ended. */
function Minutes({ filters }: { readonly filters: RefusedFilters }) {
  const { data, error, isPending, refetch } = useQuery(refusedMinutesQuery(filters));
  return (
    <Stack component="section" gap="md" aria-label="By minute">
      <SectionTitle
        about={
          data?.has_more === true
            ? `The latest ${data.data.length.toLocaleString('en')} entries. Choose a key or an error to see more of it.`
            : 'Latest first.'
        }
      >
        By minute
      </SectionTitle>
      {error !== null && <Trouble error={error} doing="Could not load the minutes" onRetry={() => void refetch()} />}
      {error === null && (
        <Box className="surface">{isPending ? <Rows count={4} /> : <MinuteTable minutes={data.data} />}</Box>
      )}
    </Stack>
  );
}

function MinuteTable({ minutes }: { readonly minutes: readonly RefusedMinute[] }) {
  return (
    <Table.ScrollContainer minWidth={300}>
      <Table horizontalSpacing="md" className="card-rows" __vars={{ '--card-cell': '110px' }}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Minute</Table.Th>
            <Table.Th>Error</Table.Th>
            <Table.Th>Key</Table.Th>
            <Table.Th>Calls</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {minutes.map((row) => (
            <Table.Tr key={`${row.minute} ${nameOf(row)}`}>
              <Table.Td>
                <Text size="sm" className="nowrap">
                  {fullTime(row.minute)}
                </Text>
              </Table.Td>
              <Table.Td data-name="Error">
                <Code>
                  {row.status} {row.code}
                </Code>
              </Table.Td>
              <Table.Td data-name="Key" maw={220}>
                <KeyName of={row} />
              </Table.Td>
              <Table.Td data-name="Calls" className="numbers">
                {row.count.toLocaleString('en')}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function nameOf({ account, key, code, status }: Pick<RefusedGroup, 'account' | 'key' | 'code' | 'status'>): string {
  return [account?.id, key?.id, code, status].join(' ');
}
