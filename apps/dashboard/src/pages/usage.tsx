import { BarChart, LineChart } from '@mantine/charts';
import '@mantine/charts/styles.css';
import { Box, Button, Center, Group, SegmentedControl, SimpleGrid, Skeleton, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { addressOf, get, type Query } from '../api/request.ts';
import type { Usage, UsageRow } from '../api/types.ts';
import { amountIn, duration } from '../parts/format.ts';
import { Figure } from '../parts/figure.tsx';
import { IconChartBar, IconDownload } from '@tabler/icons-react';
import { Empty, PageFrame, Trouble } from '../parts/page.tsx';
import { lastDays, stepLabel, stepsOf, type TimeSpan } from '../parts/time-span.ts';

const SPANS = [
  { value: '1', label: '24 hours' },
  { value: '7', label: '7 days' },
  { value: '30', label: '30 days' },
];
const GROUPS = [
  { value: 'model', label: 'Model' },
  { value: 'key', label: 'Key' },
  { value: 'provider', label: 'Provider' },
];
const CHART_HEIGHT = 240;
const COLORS = ['safelight.6', 'teal.6', 'indigo.5', 'yellow.6', 'grape.5', 'cyan.6', 'lime.7', 'pink.5'];

export function UsagePage() {
  const [days, setDays] = useState('7');
  const [group, setGroup] = useState('model');
  const span = lastDays(Number(days), Date.now());
  const query: Query = {
    from: new Date(span.from).toISOString(),
    to: new Date(span.to).toISOString(),
    by: span.by,
    group,
  };
  const { data, error, refetch } = useQuery({
    queryKey: ['usage', query],
    queryFn: ({ signal }) => get<Usage>('/usage', query, signal),
    placeholderData: (before) => before,
  });
  return (
    <PageFrame
      title="Usage"
      about="Images, chats, spend, latency, and failures over time. Days are in UTC."
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
      <Group gap="md">
        <SegmentedControl aria-label="Time range" data={SPANS} value={days} onChange={setDays} />
        <SegmentedControl aria-label="Group by" data={GROUPS} value={group} onChange={setGroup} />
      </Group>
      {error !== null && <Trouble error={error} doing="Could not load usage" onRetry={() => void refetch()} />}
      {error === null && data === undefined && <Skeleton height={360} radius="lg" />}
      {data?.data.length === 0 && (
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
            Choose a longer period, or generate an image.
          </Empty>
        </Box>
      )}
      {data !== undefined && data.data.length > 0 && <Figures usage={data} span={span} />}
    </PageFrame>
  );
}

function Figures({ usage: { data, total, currency }, span }: { readonly usage: Usage; readonly span: TimeSpan }) {
  const { images, failed, chats } = total;
  return (
    <>
      <SimpleGrid cols={{ base: 2, md: chats === 0 ? 4 : 5 }}>
        <Figure name="Images" value={images.toLocaleString('en')} />
        {chats > 0 && <Figure name="Chats" value={chats.toLocaleString('en')} />}
        <Figure name="Spend" value={amountIn(total.spend, currency)} />
        <Figure
          name="Failed"
          value={images + failed === 0 ? '0%' : `${((failed / (images + failed)) * 100).toFixed(1)}%`}
        />
        <Figure name="Latency, p95" value={total.p95_ms === null ? '–' : duration(total.p95_ms)} />
      </SimpleGrid>
      <SimpleGrid cols={{ base: 1, lg: 2 }}>
        <Chart title="Images" rows={data} read={(row) => row.images} span={span} format={(value) => String(value)} />
        <Chart
          title="Spend"
          rows={data}
          read={(row) => Number(row.spend)}
          span={span}
          format={(value) => amountIn(value, currency)}
        />
        <Chart title="Failures" rows={data} read={(row) => row.failed} span={span} format={(value) => String(value)} />
        <Chart
          title="Latency (p95)"
          kind="line"
          rows={data}
          read={(row) => row.p95_ms}
          span={span}
          format={(value) => `${(value / 1000).toFixed(value < 10_000 ? 1 : 0)} s`}
        />
        {chats > 0 && (
          <Chart title="Chats" rows={data} read={(row) => row.chats} span={span} format={(value) => String(value)} />
        )}
      </SimpleGrid>
    </>
  );
}

interface ChartProps {
  readonly title: string;
  readonly rows: readonly UsageRow[];
  readonly read: (row: UsageRow) => number | null;
  readonly format: (value: number) => string;
  readonly span: TimeSpan;
  readonly kind?: 'bar' | 'line';
}

function Chart({ title, rows, read, format, span, kind = 'bar' }: ChartProps) {
  // The names of groups come from people: recharts would take a dot in one for a path.
  const groups = [...new Set(rows.map((row) => row.group))];
  const isEmpty = rows.every((row) => (read(row) ?? 0) === 0);
  // A bar of a quiet day is nought, but a line of it is not drawn.
  const nothing = kind === 'bar' ? 0 : null;
  const data = stepsOf(span).map((time) =>
    Object.fromEntries<string | number | null>([
      ['time', stepLabel(time, span.by)],
      ...groups.map((group, index): [string, number | null] => {
        const row = rows.find((one) => one.group === group && one.time === time);
        return [`g${index}`, row === undefined ? nothing : read(row)];
      }),
    ]),
  );
  const shared = {
    h: CHART_HEIGHT,
    data,
    dataKey: 'time',
    series: groups.map((name, index) => ({
      name: `g${index}`,
      label: name ?? 'No provider',
      color: COLORS[index % COLORS.length] ?? 'gray.6',
    })),
    valueFormatter: format,
    withLegend: groups.length > 1,
    gridAxis: 'x' as const,
    tickLine: 'none' as const,
    yAxisProps: { width: 72, allowDecimals: title === 'Spend' || kind === 'line' },
  };
  return (
    <Box className="surface" p="lg" component="section" miw={0}>
      <Title order={2} fz="sm" fw={600} mb="md">
        {title}
      </Title>
      {isEmpty ? (
        <Center h={CHART_HEIGHT}>
          <Text size="sm" c="dimmed">
            None in this period
          </Text>
        </Center>
      ) : kind === 'bar' ? (
        <BarChart {...shared} type="stacked" maxBarWidth={36} />
      ) : (
        <LineChart {...shared} curveType="monotone" connectNulls />
      )}
    </Box>
  );
}
