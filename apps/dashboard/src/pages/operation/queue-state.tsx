import { BarChart } from '@mantine/charts';
import '@mantine/charts/styles.css';
import { Box, SimpleGrid, Skeleton, Stack, Table, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { waitingText } from '#contract/waiting.js';
import {
  queueHistoryQuery,
  queueLatencyQuery,
  queueQuery,
  type FinishedMinute,
  type Queue,
  type QueueWorker,
} from '../../api/operation.ts';
import { Figure } from '../../parts/figure.tsx';
import { clockSpan, fromNow, fullTime } from '../../parts/format.ts';
import { IconServer } from '@tabler/icons-react';
import { Latency } from '../../parts/latency.tsx';
import { Empty, Trouble } from '../../parts/page.tsx';
import { useNow } from '../../parts/use-now.ts';

const count = (value: number): string => value.toLocaleString('en');
const clock = new Intl.DateTimeFormat(undefined, { hour: 'numeric', minute: '2-digit' });

/** Queue, throughput and workers. */
export function QueueState() {
  const { data: queue, error, refetch } = useQuery(queueQuery);
  const history = useQuery(queueHistoryQuery);
  const latency = useQuery(queueLatencyQuery);
  return (
    <Stack component="section" gap="sm" aria-labelledby="queue">
      <Title order={2} fz="lg" id="queue">
        Queue
      </Title>
      {error !== null && <Trouble error={error} doing="Could not load the queue" onRetry={() => void refetch()} />}
      {error === null && queue === undefined && <Skeleton height={180} radius="lg" />}
      {error === null && queue !== undefined && (
        <SimpleGrid cols={{ base: 2, sm: 3, lg: 5 }}>
          <Figure name="Waiting" value={count(queue.waiting)} />
          <Figure name="Running" value={count(queue.running)} />
          <Figure
            name="Oldest waiting"
            value={queue.waiting === 0 ? '–' : clockSpan(queue.oldest_waiting_seconds * 1000)}
          />
          <Figure name="Done (1 min)" value={count(queue.completed_last_minute)} />
          <Figure name="Failed (1 hour)" value={count(queue.failed_last_hour)} />
        </SimpleGrid>
      )}
      {error === null && queue !== undefined && queue.waiting > 0 && <Waiting groups={queue.waiting_for} />}
      {latency.data !== undefined && <Latency latency={latency.data} level={3} period="in the last hour" />}
      {history.data !== undefined && <Finished minutes={history.data.data} />}
      {error === null && queue !== undefined && <Workers workers={queue.workers} />}
    </Stack>
  );
}

/** Why tasks wait, in the words of their own pages. */
function Waiting({ groups }: { readonly groups: Queue['waiting_for'] }) {
  const now = useNow();
  return (
    <Box className="surface" miw={0} component="section" aria-labelledby="waiting">
      <Title order={3} fz="sm" fw={600} p="lg" pb="xs" id="waiting">
        Waiting tasks
      </Title>
      <Table horizontalSpacing="lg" className="card-rows">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Reason</Table.Th>
            <Table.Th ta="right">Tasks</Table.Th>
            <Table.Th ta="right">Oldest</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {groups.map(({ reason, count: tasks, oldest_seconds: oldest }) => (
            <Table.Tr key={[reason.for, reason.provider, reason.why].join(' ')}>
              <Table.Td className="numbers" style={{ overflowWrap: 'anywhere' }}>
                {waitingText(reason, now)}
              </Table.Td>
              <Table.Td ta="right" className="numbers nowrap" data-name="Tasks">
                {count(tasks)}
              </Table.Td>
              <Table.Td ta="right" className="numbers nowrap" data-name="Oldest">
                {clockSpan(oldest * 1000)}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Box>
  );
}

function Finished({ minutes }: { readonly minutes: readonly FinishedMinute[] }) {
  const data = minutes.map(({ time, completed, failed }) => ({
    time: clock.format(new Date(time)),
    Completed: completed,
    Failed: failed,
  }));
  const sum = (read: (minute: FinishedMinute) => number) => minutes.reduce((total, minute) => total + read(minute), 0);
  const completed = sum((minute) => minute.completed);
  const failed = sum((minute) => minute.failed);
  return (
    <Box className="surface" p="lg" miw={0}>
      <Title order={3} fz="sm" fw={600} mb="md">
        Finished per minute, last hour
      </Title>
      <div role="img" aria-label={`In the last hour, ${completed} tasks completed and ${failed} failed.`}>
        <BarChart
          h={140}
          data={data}
          dataKey="time"
          type="stacked"
          series={[
            { name: 'Completed', color: 'teal.6' },
            { name: 'Failed', color: 'red.6' },
          ]}
          gridAxis="x"
          tickLine="none"
          yAxisProps={{ width: 40, allowDecimals: false, interval: 0 }}
          xAxisProps={{ minTickGap: 40 }}
        />
      </div>
    </Box>
  );
}

function Workers({ workers }: { readonly workers: readonly QueueWorker[] }) {
  return (
    <Box className="surface" miw={0}>
      <Title order={3} fz="sm" fw={600} p="lg" pb="xs">
        {workers.length === 0 ? 'Workers' : workers.length === 1 ? '1 worker' : `${workers.length} workers`}
      </Title>
      {workers.length === 0 ? (
        <Empty icon={<IconServer size={36} />} title="No workers running">
          Tasks stay in the queue until a worker starts. Check the worker log.
        </Empty>
      ) : (
        <Table.ScrollContainer minWidth={520}>
          <Table horizontalSpacing="lg" className="card-rows">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Host</Table.Th>
                <Table.Th>Version</Table.Th>
                <Table.Th ta="right">Running</Table.Th>
                <Table.Th ta="right">Started</Table.Th>
                <Table.Th ta="right">Last heartbeat</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {workers.map((worker) => (
                <Table.Tr key={worker.id}>
                  <Table.Td style={{ overflowWrap: 'anywhere' }}>
                    {worker.host}{' '}
                    <Text span size="sm" c="dimmed" className="nowrap">
                      process {worker.pid}
                    </Text>
                  </Table.Td>
                  <Table.Td data-name="Version">{worker.version}</Table.Td>
                  <Table.Td ta="right" className="numbers nowrap" data-name="Running">
                    {worker.running} of {worker.slots}
                  </Table.Td>
                  <Table.Td ta="right" className="nowrap" title={fullTime(worker.started_at)} data-name="Started">
                    {fromNow(worker.started_at)}
                  </Table.Td>
                  <Table.Td
                    ta="right"
                    className="numbers nowrap"
                    title={fullTime(worker.last_seen_at)}
                    data-name="Last heartbeat"
                  >
                    {Math.max(0, Math.round((Date.now() - Date.parse(worker.last_seen_at)) / 1000))} s ago
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
    </Box>
  );
}
