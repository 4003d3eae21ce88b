import { BarChart, LineChart } from '@mantine/charts';
import '@mantine/charts/styles.css';
import {
  Box,
  Center,
  ColorSwatch,
  getThemeColor,
  Group,
  SimpleGrid,
  Text,
  Title,
  useMantineTheme,
} from '@mantine/core';
import { amountIn } from '#contract/money.js';
import type { Usage, UsageRow } from '../../api/types.ts';
import { duration, spent, spentOf, unpriced } from '../../parts/format.ts';
import { stepLabel, stepsOf, type TimeSpan } from '../../parts/time-span.ts';
import type { Series } from './series.ts';

const CHART_HEIGHT = 240;
/** Room for half a label: a line starts at the edge of its chart, in px. */
const HALF_LABEL = 28;

interface UsageChartsProps {
  readonly usage: Usage;
  readonly series: readonly Series[];
  readonly span: TimeSpan;
  /** Whether latency is kept by these groups. */
  readonly withLatency: boolean;
  /** A bar was clicked; `time` is that of its step. */
  readonly onPick: (series: Series, time: string, status: 'failed' | undefined) => void;
}

/** Images, spend, failures and latency over time. */
export function UsageCharts({ usage: { data, total, currency }, series, span, withLatency, onPick }: UsageChartsProps) {
  const shared = { rows: data, series, span };
  const latency = (value: number | null) => (value === null ? '–' : duration(value));
  const money = (value: number | null) => (value === null ? 'Unknown' : amountIn(value, currency));
  const spend = (row: UsageRow) => (spent(spentOf(row, currency)) === 'Unknown' ? null : Number(row.spend));
  const rest = unpriced(total);
  return (
    <Box>
      {series.length > 1 && <Legend series={series} />}
      <SimpleGrid cols={{ base: 1, lg: 2 }}>
        <Chart
          {...shared}
          title="Images"
          read={(row) => row.images}
          onPick={(one, time) => onPick(one, time, undefined)}
        />
        <Chart {...shared} title="Spend" fine read={spend} format={money} {...(rest !== '' && { without: rest })} />
        <Chart
          {...shared}
          title="Failures"
          read={(row) => row.failed}
          onPick={(one, time) => onPick(one, time, 'failed')}
        />
        {withLatency && (
          <Chart {...shared} title="Latency (p95)" kind="line" fine read={(row) => row.p95_ms} format={latency} />
        )}
        {total.chats > 0 && <Chart {...shared} title="Chats" read={(row) => row.chats} />}
      </SimpleGrid>
    </Box>
  );
}

/** One legend for all charts, because a series has the same color in each. */
function Legend({ series }: { readonly series: readonly Series[] }) {
  return (
    <Group gap="md" mb="sm" component="ul" p={0} mt={0} style={{ listStyle: 'none' }} aria-label="Legend">
      {series.map(({ id, label, color }) => (
        <Group key={id} component="li" gap={6} wrap="nowrap" miw={0}>
          <Swatch color={color} />
          <Text size="sm" truncate maw={220}>
            {label}
          </Text>
        </Group>
      ))}
    </Group>
  );
}

export function Swatch({ color }: { readonly color: string }) {
  return <ColorSwatch color={getThemeColor(color, useMantineTheme())} size={12} withShadow={false} aria-hidden />;
}

interface ChartProps {
  readonly title: string;
  readonly rows: readonly UsageRow[];
  readonly series: readonly Series[];
  readonly span: TimeSpan;
  readonly read: (row: UsageRow) => number | null;
  readonly format?: (value: number | null) => string;
  /** What the values leave out. */
  readonly without?: string;
  /** Values are fractional. */
  readonly fine?: boolean;
  readonly kind?: 'bar' | 'line';
  readonly onPick?: (series: Series, time: string) => void;
}

function Chart({
  title,
  rows,
  series: all,
  span,
  read,
  format = String,
  without,
  fine = false,
  kind = 'bar',
  onPick,
}: ChartProps) {
  // Percentiles of several groups can't be combined.
  const series = kind === 'bar' ? all : all.filter(({ group }) => group !== undefined);
  const isEmpty = rows.every((row) => (read(row) ?? 0) === 0);
  const data = stepsOf(span).map((at) => ({
    at,
    time: onOneLine(stepLabel(at, span.by)),
    ...Object.fromEntries(series.map((one) => [one.id, valueAt(rows, one, at, read, kind)])),
  }));
  const shared = {
    h: CHART_HEIGHT,
    data,
    dataKey: 'time',
    series: series.map(({ id, label, color }) => ({ name: id, label, color })),
    // With no-break spaces, labels of the axes stay on one line.
    valueFormatter: (value: number | null) => onOneLine(format(value)),
    gridAxis: 'x' as const,
    tickLine: 'none' as const,
    // Shows all ticks: with five, leaving one out would be confusing.
    yAxisProps: { width: 72, allowDecimals: fine, interval: 0 as const },
  };
  // The arrow keys read its values.
  // The charts pass it on to their svg element, whose attributes are not in their types.
  const named: object = { 'aria-label': `${title}, chart` };
  return (
    <Box className="surface" p="lg" component="section" miw={0} aria-label={title}>
      <Title order={2} fz="sm" fw={600} mb="md">
        {title}
        {without !== undefined && !isEmpty && (
          <Text span size="xs" c="dimmed" fw={400}>
            {' '}
            · Not including {without}
          </Text>
        )}
      </Title>
      {isEmpty ? (
        <Center h={CHART_HEIGHT}>
          <Text size="sm" c="dimmed">
            {without === undefined ? 'None in this period' : `Unknown: ${without}`}
          </Text>
        </Center>
      ) : kind === 'bar' ? (
        <BarChart
          {...shared}
          barChartProps={named}
          type="stacked"
          maxBarWidth={36}
          {...(onPick && {
            barProps: ({ name }) => ({
              cursor: 'pointer',
              onClick: ({ payload }: { payload?: { at?: string } }) => {
                const picked = series.find(({ id }) => id === name);
                if (picked !== undefined && payload?.at !== undefined) onPick(picked, payload.at);
              },
            }),
          })}
        />
      ) : (
        <LineChart
          {...shared}
          lineChartProps={named}
          curveType="monotone"
          connectNulls={false}
          xAxisProps={{ padding: { left: HALF_LABEL, right: HALF_LABEL } }}
        />
      )}
    </Box>
  );
}

function onOneLine(label: string): string {
  return label.replaceAll(' ', '\u00a0');
}

/** Without data, a bar is 0 and a line has a gap; null if there is data without a value. */
function valueAt(
  rows: readonly UsageRow[],
  series: Series,
  at: string,
  read: ChartProps['read'],
  kind: 'bar' | 'line',
): number | null {
  const those = rows.filter((row) => row.time === at && series.has(row));
  const values = those.flatMap((row) => read(row) ?? []);
  if (kind === 'bar' && (values.length > 0 || those.length === 0)) return values.reduce((sum, value) => sum + value, 0);
  return values[0] ?? null;
}
