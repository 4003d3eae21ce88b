import { Box, Button, SimpleGrid, Skeleton, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { IconChartBar, IconDownload } from '@tabler/icons-react';
import { keyNamesQuery, useMay } from '../../api/queries.ts';
import { addressOf, get, type Query } from '../../api/request.ts';
import type { Usage } from '../../api/types.ts';
import { latencyQuery } from '../../api/usage.ts';
import { Figure } from '../../parts/figure.tsx';
import { SpentSum } from '../../parts/cost.tsx';
import { duration, spentOf } from '../../parts/format.ts';
import { Latency } from '../../parts/latency.tsx';
import { Empty, PageFrame, Trouble } from '../../parts/page.tsx';
import { stepAt, type TimeSpan } from '../../parts/time-span.ts';
import type { TaskFilters } from '../tasks/task-filters.ts';
import { noGroupOf, seriesOf } from './series.ts';
import { UsageBudgets } from './usage-budgets.tsx';
import { UsageCharts } from './usage-charts.tsx';
import { groupOf, isLabel, spanOf, UsageFilterBar, type UsageFilters, type UsageGroup } from './usage-filters.tsx';
import { UsageTable } from './usage-table.tsx';

const route = getRouteApi('/inside/usage');

export function UsagePage() {
  const filters = route.useSearch();
  const span = spanOf(filters, Date.now());
  const group = groupOf(filters);
  const query: Query = {
    from: new Date(span.from).toISOString(),
    to: new Date(span.to).toISOString(),
    by: span.by,
    group,
    ...(isLabel(group)
      ? { [group]: filters[group] }
      : { model: filters.model, key: filters.key, provider: filters.provider }),
  };
  const { data, error, refetch } = useQuery({
    queryKey: ['usage', query],
    queryFn: ({ signal }) => get<Usage>('/usage', query, signal),
    placeholderData: (before) => before,
  });
  const latency = useQuery({
    ...latencyQuery(query),
    enabled: !isLabel(group),
    placeholderData: (before) => before,
  });
  return (
    <PageFrame
      title="Usage"
      about="Images, chats, spend, latency, and failures over time. Spend includes what is reserved for pending tasks. Days are in UTC, hours in your time zone."
      actions={
        <Button
          component="a"
          href={addressOf('/usage.csv', query)}
          variant="default"
          leftSection={<IconDownload size={16} />}
        >
          Export CSV
        </Button>
      }
    >
      <UsageFilterBar filters={filters} span={span} names={data?.names} />
      {error !== null && <Trouble error={error} doing="Could not load usage" onRetry={() => void refetch()} />}
      {error === null && data === undefined && <Skeleton height={360} radius="lg" />}
      {error === null && data !== undefined && <Horizon since={data.since} span={span} />}
      {error === null && data?.data.length === 0 && <NoUsage />}
      {error === null && data !== undefined && data.data.length > 0 && (
        <Figures usage={data} span={span} filters={filters} />
      )}
      {!isLabel(group) &&
        error === null &&
        data !== undefined &&
        data.data.length > 0 &&
        latency.data !== undefined && <Latency latency={latency.data} level={2} period="in this period" isToldInAll />}
      <UsageBudgets since={data?.since ?? null} />
    </PageFrame>
  );
}

/** Says when the data starts, if that is within the time span. */
function Horizon({ since, span }: { readonly since: string | null; readonly span: TimeSpan }) {
  if (since === null || Date.parse(since) <= span.from) return null;
  const first = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' }).format(new Date(since));
  return (
    <Text size="sm" c="dimmed" role="note">
      Data starts on {first}.
    </Text>
  );
}

function NoUsage() {
  return (
    <Box className="surface">
      <Empty
        icon={<IconChartBar size={36} />}
        title="No usage in this period"
        action={
          <Button component={Link} to="/playground">
            Open playground
          </Button>
        }
      >
        Choose a longer period or fewer filters, or generate an image.
      </Empty>
    </Box>
  );
}

interface FiguresProps {
  readonly usage: Usage;
  readonly span: TimeSpan;
  readonly filters: UsageFilters;
}

function Figures({ usage, span, filters }: FiguresProps) {
  const { total, currency } = usage;
  const { images, failed, chats } = total;
  const navigate = useNavigate();
  const withTasks = useMay()('tasks.read_all');
  const keys = useQuery({ ...keyNamesQuery, enabled: withTasks });
  const group = groupOf(filters);
  const idOfKey = (name: string | undefined): string | undefined => {
    const named = (keys.data?.data ?? []).filter((key) => key.name === name);
    // The task list can't filter by several keys that share a name.
    return name === 'Playground' && named.length === 0 ? 'playground' : named.length === 1 ? named[0]?.id : undefined;
  };
  /** The task filters for a series and a time. */
  const tasksOf = (
    name: string | null | undefined,
    time: { readonly from: string; readonly to: string },
  ): TaskFilters => {
    if (isLabel(group)) return { [group]: name ?? filters[group], from: time.from, to: time.to };
    const { model, key, provider }: Pick<UsageFilters, UsageGroup> = { ...filters, [group]: name ?? filters[group] };
    return { model, key: idOfKey(key), provider, from: time.from, to: time.to };
  };
  const whole = { from: new Date(span.from).toISOString(), to: new Date(span.to).toISOString() };
  const names = isLabel(group) ? [] : usage.names[group];
  return (
    <>
      <SimpleGrid cols={{ base: 2, md: (chats === 0 ? 4 : 5) - (isLabel(group) ? 1 : 0) }}>
        <Figure name="Images" value={images.toLocaleString('en')} />
        {chats > 0 && <Figure name="Chats" value={chats.toLocaleString('en')} />}
        <Figure name="Spend" value={<SpentSum sum={spentOf(total, currency)} />} />
        <Figure
          name="Failed"
          value={images + failed === 0 ? '0%' : `${((failed / (images + failed)) * 100).toFixed(1)}%`}
        />
        {!isLabel(group) && (
          <Figure name="Latency (p95)" value={total.p95_ms === null ? '–' : duration(total.p95_ms)} />
        )}
      </SimpleGrid>
      <UsageCharts
        usage={usage}
        series={seriesOf(usage.groups, names, noGroupOf(group))}
        span={span}
        withLatency={!isLabel(group)}
        onPick={(picked, time, status) => {
          if (!withTasks) return;
          void navigate({ to: '/tasks', search: { ...tasksOf(picked.group, stepAt(time, span.by)), status } });
        }}
      />
      {isLabel(group) && (
        <Text size="sm" c="dimmed" role="note">
          {group === 'tag'
            ? 'Up to 100 tags with the most spend. What has several tags counts for each of them, and once in the total.'
            : 'Up to 100 end users with the most spend; everything else is “All others”.'}
        </Text>
      )}
      <UsageTable usage={usage} group={group} names={names} tasksOf={(name) => tasksOf(name, whole)} />
    </>
  );
}
