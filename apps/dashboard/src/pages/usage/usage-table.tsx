import { Box, Group, Table, Text, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Usage } from '../../api/types.ts';
import { SpentSum } from '../../parts/cost.tsx';
import { duration, spentOf } from '../../parts/format.ts';
import { useMay } from '../../api/queries.ts';
import type { TaskFilters } from '../tasks/task-filters.ts';
import { colorOf, noGroupOf } from './series.ts';
import { Swatch } from './usage-charts.tsx';
import { isLabel, type UsageGroup } from './usage-filters.tsx';

const HEADS: Readonly<Record<UsageGroup, string>> = {
  model: 'Model',
  key: 'Key',
  provider: 'Provider',
  end_user: 'End user',
  tag: 'Tag',
};
const count = (value: number): string => value.toLocaleString('en');
const time = (ms: number | null): string => (ms === null ? '–' : duration(ms));

interface Column {
  readonly name: string;
  readonly read: (row: Usage['total'], currency: string) => ReactNode;
}

const COLUMNS: readonly Column[] = [
  { name: 'Images', read: (row) => count(row.images) },
  { name: 'Chats', read: (row) => count(row.chats) },
  { name: 'Failed', read: (row) => count(row.failed) },
  { name: 'Spend', read: (row, currency) => <SpentSum sum={spentOf(row, currency)} /> },
  { name: 'Tokens', read: (row) => count(row.input_tokens + row.output_tokens) },
  { name: 'Median', read: (row) => time(row.p50_ms) },
  { name: 'p95', read: (row) => time(row.p95_ms) },
];

const LATENCIES: readonly string[] = ['Median', 'p95'];

interface UsageTableProps {
  readonly usage: Usage;
  readonly group: UsageGroup;
  /** In the order that determines the colors. */
  readonly names: readonly string[];
  /** The filter for the tasks of a group. */
  readonly tasksOf: (group: string | null) => TaskFilters;
}

/** Totals of each group and overall, for the whole time span; a name links to its tasks. */
export function UsageTable({ usage: { groups, total, currency }, group: by, names, tasksOf }: UsageTableProps) {
  const withTasks = useMay()('tasks.read_all');
  const columns = COLUMNS.filter(
    ({ name }) => (name !== 'Chats' || total.chats > 0) && !(isLabel(by) && LATENCIES.includes(name)),
  );
  const figures = (row: Usage['total']) =>
    columns.map(({ name, read }) => (
      <Table.Td key={name} ta="right" data-name={name}>
        <Text component="div" size="sm" className="numbers">
          {read(row, currency)}
        </Text>
      </Table.Td>
    ));
  return (
    <Box className="surface" component="section" aria-label="Totals" miw={0}>
      <Title order={2} fz="sm" fw={600} p="lg" pb={0}>
        Totals
      </Title>
      <Table.ScrollContainer minWidth={620}>
        <Table horizontalSpacing="lg" verticalSpacing="xs" className="card-rows">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{HEADS[by]}</Table.Th>
              {columns.map(({ name }) => (
                <Table.Th key={name} ta="right">
                  {name}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {groups.map((row) => (
              <Table.Tr key={row.group}>
                <Table.Td miw={150} maw={260}>
                  <Group gap="xs" wrap="nowrap">
                    <Swatch color={colorOf(row.group, names)} />
                    {withTasks && !(isLabel(by) && row.group === null) ? (
                      <Link to="/tasks" search={tasksOf(row.group)} className="text-link one-line">
                        {row.group ?? noGroupOf(by)}
                      </Link>
                    ) : (
                      <Text size="sm" className="one-line">
                        {row.group ?? noGroupOf(by)}
                      </Text>
                    )}
                  </Group>
                </Table.Td>
                {figures(row)}
              </Table.Tr>
            ))}
          </Table.Tbody>
          <Table.Tfoot>
            <Table.Tr>
              <Table.Th>Total</Table.Th>
              {figures(total)}
            </Table.Tr>
          </Table.Tfoot>
        </Table>
      </Table.ScrollContainer>
    </Box>
  );
}
