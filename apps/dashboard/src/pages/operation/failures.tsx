import { Box, Code, Group, SegmentedControl, Stack, Text, Title, UnstyledButton } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { failuresQuery, type FailureGroup } from '../../api/operation.ts';
import { fromNow, fullTime } from '../../parts/format.ts';
import { IconCheck } from '@tabler/icons-react';
import { Empty, Rows, Trouble } from '../../parts/page.tsx';
import { FailedTasks } from './failed-tasks.tsx';
import { reasonOf } from '../../parts/failure-words.ts';
import { RetryButton } from './retry-button.tsx';

const SPANS = [
  { value: '1', label: '24 hours' },
  { value: '7', label: '7 days' },
  { value: '30', label: '30 days' },
];

/** Failures of all accounts, grouped by kind. */
export function Failures() {
  const [days, setDays] = useState('7');
  const { data, error, isPending, refetch } = useQuery(failuresQuery(days));
  return (
    <Stack component="section" gap="sm" aria-labelledby="failures">
      <Group justify="space-between">
        <Title order={2} fz="lg" id="failures">
          Failed tasks
        </Title>
        <SegmentedControl size="xs" aria-label="Time range" data={SPANS} value={days} onChange={setDays} />
      </Group>
      {error !== null && <Trouble error={error} doing="Could not load failed tasks" onRetry={() => void refetch()} />}
      {data?.has_more === true && (
        <Text size="sm" c="dimmed">
          Counts only the newest 5,000 failures.
        </Text>
      )}
      {error === null && (
        <Box className="surface">
          {isPending && <Rows count={3} />}
          {data?.data.length === 0 && (
            <Empty icon={<IconCheck size={36} />} title="No failed tasks in this period">
              Failed tasks appear here and can be retried.
            </Empty>
          )}
          {data?.data.map((group) => (
            <Kind
              key={`${group.code} ${group.provider} ${group.model} ${group.provider_test}`}
              group={group}
              days={days}
            />
          ))}
        </Box>
      )}
    </Stack>
  );
}

function Kind({ group, days }: { readonly group: FailureGroup; readonly days: string }) {
  const [opened, { toggle }] = useDisclosure(false);
  const { code, provider, model, count, retried, latest_at: latest, why_not: whyNot } = group;
  const left = count - retried;
  return (
    <Box className="failure-kind">
      <Group justify="space-between" gap="sm" p="md" wrap="nowrap" align="flex-start">
        <Box miw={0}>
          <UnstyledButton className="fold" aria-expanded={opened} onClick={toggle} style={{ overflowWrap: 'anywhere' }}>
            {reasonOf(code)} · {provider ?? 'no provider called'} · {model}
          </UnstyledButton>
          <Text size="sm" c="dimmed" className="numbers">
            <Code>{code}</Code> · {count.toLocaleString('en')} {count === 1 ? 'task' : 'tasks'}
            {retried > 0 && `, ${retried.toLocaleString('en')} retried`}, latest{' '}
            <span title={fullTime(latest)}>{fromNow(latest)}</span>
          </Text>
          {whyNot !== null && (
            <Text size="sm" mt={4}>
              {whyNot}
            </Text>
          )}
        </Box>
        {whyNot === null && (
          <RetryButton
            label={left === 1 ? 'Retry' : `Retry all ${left.toLocaleString('en')}`}
            of={`${reasonOf(code)} · ${model}`}
            count={left}
            body={{ code, provider, model, days: Number(days) }}
          />
        )}
      </Group>
      {opened && <FailedTasks group={group} days={days} />}
    </Box>
  );
}
