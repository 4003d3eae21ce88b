import { Box, Button, Group, Select, Text } from '@mantine/core';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { auditQuery, type AuditFilters } from '../../api/audit.ts';
import { addressOf } from '../../api/request.ts';
import { peopleQuery } from '../../api/team-queries.ts';
import { IconDownload, IconFileText, IconSearch } from '@tabler/icons-react';
import { dayOf, fullTime } from '../../parts/format.ts';
import { SearchField } from '../../parts/search-field.tsx';
import { TimeFilter } from '../../parts/time-filter.tsx';
import { Empty, PageFrame, Rows, Trouble } from '../../parts/page.tsx';
import { ShowMore } from '../../parts/show-more.tsx';
import { AuditRow } from './audit-entry.tsx';

const route = getRouteApi('/inside/audit');
const KINDS = [
  { value: 'keys', label: 'Keys' },
  { value: 'tasks', label: 'Tasks and images' },
  { value: 'webhooks', label: 'Webhooks' },
  { value: 'alerts', label: 'Alerts' },
  { value: 'providers', label: 'Providers' },
  { value: 'team', label: 'Team and account' },
  { value: 'sign_in', label: 'Sign-in' },
  { value: 'refused', label: 'Refused' },
];

export function AuditPage() {
  const filters = route.useSearch();
  const query = useInfiniteQuery(auditQuery(filters));
  const { data, error, isPending, refetch } = query;
  const until = data?.pages.at(-1)?.searched_until ?? null;
  const entries = data?.pages.flatMap((page) => page.data) ?? [];
  return (
    <PageFrame
      title="Audit log"
      about="Who did what in this account, newest first. Entries can’t be changed."
      actions={
        <Button
          component="a"
          href={addressOf('/audit.csv', { ...filters })}
          variant="default"
          leftSection={<IconDownload size={16} />}
        >
          Export CSV
        </Button>
      }
    >
      <Filters filters={filters} />
      {error !== null && <Trouble error={error} doing="Could not load the audit log" onRetry={() => void refetch()} />}
      {error === null && (
        <Box className="surface">
          {isPending && <Rows count={8} />}
          {!isPending && entries.length === 0 && <NothingFound until={until} />}
          {entries.map((entry) => (
            <AuditRow key={entry.id} entry={entry} />
          ))}
        </Box>
      )}
      {until !== null && (
        <Text size="sm" c="dimmed" ta="center" title={fullTime(until)} role="status">
          Searched back to {dayOf(until)}. Show more to search older entries.
        </Text>
      )}
      <ShowMore of={query} />
    </PageFrame>
  );
}

function Filters({ filters }: { readonly filters: AuditFilters }) {
  const navigate = useNavigate();
  const people = useQuery(peopleQuery);
  const change = (changes: AuditFilters) => {
    void navigate({ to: '/audit', search: { ...filters, ...changes }, replace: true });
  };
  return (
    <Group gap="sm">
      <SearchField
        label="Search entries"
        placeholder="Search entries"
        text={filters.text}
        onChange={(text) => change({ text })}
      />
      <Select
        aria-label="Member"
        placeholder="Any member"
        clearable
        searchable
        w={240}
        data={[
          ...(people.data?.data.map(({ id, name, email }) => ({ value: id, label: `${name} (${email})` })) ?? []),
          { value: 'nobody', label: 'Outside the team' },
        ]}
        value={filters.who ?? null}
        onChange={(who) => change({ who: who ?? undefined })}
      />
      <Select
        aria-label="Action"
        placeholder="Any action"
        clearable
        w={210}
        data={KINDS}
        value={filters.kind ?? null}
        onChange={(kind) => change({ kind: kind ?? undefined })}
      />
      <TimeFilter times={filters} onChange={change} />
    </Group>
  );
}

/** `until`: how far back the search went; null: to the oldest entry. */
function NothingFound({ until }: { readonly until: string | null }) {
  return (
    <Empty
      icon={<IconFileText size={36} />}
      title={until === null ? 'No matching entries' : 'No matches so far'}
      action={
        <Button component={Link} to="/audit" variant="default" leftSection={<IconSearch size={16} />}>
          Clear filters
        </Button>
      }
    >
      Choose another member, action, or time, or search for other words.
    </Empty>
  );
}
