import { Box, Table, Text, Title } from '@mantine/core';
import type { Schema } from '../api/generated/schema.ts';
import { duration } from './format.ts';

const PARTS = [
  ['waiting', 'Waiting'],
  ['provider', 'Provider'],
  ['saving', 'Saving'],
  ['total', 'In all'],
] as const;
/** More are not measured. */
const MOST = 2_000;

interface LatencyProps {
  readonly latency: Schema['LatencyView'];
  /** Which tasks it covers: "in the last hour". */
  readonly period: string;
  /** Of its heading. */
  readonly level: 2 | 3;
  /** Whether the page tells the whole latency elsewhere, estimated from all tasks instead of the newest. */
  readonly isToldInAll?: boolean;
}

/** The latency of completed tasks, and the part of it that they waited. */
export function Latency({ latency, period, level, isToldInAll = false }: LatencyProps) {
  const { tasks } = latency;
  if (tasks === 0) return null;
  const count = `${tasks < MOST ? '' : 'newest '}${tasks.toLocaleString('en')} ${tasks === 1 ? 'task' : 'tasks'}`;
  return (
    <Box className="surface" component="section" aria-label="Latency by part" miw={0}>
      <Title order={level} fz="sm" fw={600} p="lg" pb="xs">
        Latency by part
        <Text span size="xs" c="dimmed" fw={400}>
          {' '}
          · {count} completed {period}
        </Text>
      </Title>
      <Table horizontalSpacing="lg" verticalSpacing="xs" className="card-rows">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Part</Table.Th>
            <Table.Th ta="right">Median</Table.Th>
            <Table.Th ta="right">p95</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {PARTS.filter(([part]) => part !== 'total' || !isToldInAll).map(([part, name]) => (
            <Table.Tr key={part}>
              <Table.Td>{name}</Table.Td>
              <Table.Td ta="right" className="numbers nowrap" data-name="Median">
                {duration(latency[part].p50_ms ?? 0)}
              </Table.Td>
              <Table.Td ta="right" className="numbers nowrap" data-name="p95">
                {duration(latency[part].p95_ms ?? 0)}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Box>
  );
}
