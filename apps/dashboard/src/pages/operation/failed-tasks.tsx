import { Box, Checkbox, Code, Group, Table, Text } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { BusyButton } from '../../parts/busy.tsx';
import type { FailedTaskPage, FailureGroup } from '../../api/operation.ts';
import { useSession } from '../../api/queries.ts';
import { get } from '../../api/request.ts';
import { fromNow, fullTime } from '../../parts/format.ts';
import { HiddenHead } from '../../parts/hidden-head.tsx';
import { Rows, Trouble } from '../../parts/page.tsx';
import { TaskLink } from '../../parts/task-link.tsx';
import { RetryButton } from './retry-button.tsx';

const PAGE = 20;
/** Maximum of one API call. */
const MOST = 100;

interface FailedTasksProps {
  readonly group: FailureGroup;
  readonly days: string;
}

/** The tasks of one group of failures, in pages, with checkboxes. */
export function FailedTasks({ group, days }: FailedTasksProps) {
  const { code, provider, model, provider_test: test, why_not: whyNot } = group;
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const { data, error, isPending, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery({
    queryKey: ['operation', 'failures', days, code, provider, model, test],
    queryFn: ({ pageParam, signal }) => {
      const kind = { code, provider: provider ?? undefined, model, provider_test: String(test) };
      const query = { ...kind, days, limit: PAGE, after: pageParam };
      return get<FailedTaskPage>('/failures/tasks', query, signal);
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next ?? undefined,
  });
  if (error !== null)
    return (
      <Box p="md">
        <Trouble error={error} doing="Could not load tasks" onRetry={() => void refetch()} />
      </Box>
    );
  if (isPending) return <Rows count={3} />;
  const choose = (id: string, isChosen: boolean) => {
    setChosen(isChosen ? [...chosen, id] : chosen.filter((one) => one !== id));
  };
  const tasks = data.pages.flatMap((page) => page.data);
  // No checkbox column if no task can be selected.
  const isOpen = whyNot === null && tasks.some((task) => task.retried_as === null);
  return (
    <Box pb="md">
      <Table.ScrollContainer minWidth={640}>
        <Table horizontalSpacing="md" verticalSpacing={8}>
          <Table.Thead>
            <Table.Tr>
              {isOpen && <HiddenHead w={40}>Select</HiddenHead>}
              <Table.Th>Task</Table.Th>
              <Table.Th>Account and key</Table.Th>
              <Table.Th>Error</Table.Th>
              <Table.Th ta="right">Failed</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {tasks.map((task) => (
              <Table.Tr key={task.id}>
                {isOpen && (
                  <Table.Td>
                    {task.retried_as === null && (
                      <Checkbox
                        aria-label={`Select ${task.id}`}
                        checked={chosen.includes(task.id)}
                        disabled={!chosen.includes(task.id) && chosen.length >= MOST}
                        onChange={(event) => choose(task.id, event.currentTarget.checked)}
                      />
                    )}
                  </Table.Td>
                )}
                <Table.Td>
                  <TaskId id={task.id} accountId={task.account.id} />
                  {task.retried_as !== null && (
                    <Text size="xs" c="dimmed">
                      retried as <TaskId id={task.retried_as} accountId={task.account.id} />
                    </Text>
                  )}
                </Table.Td>
                <Table.Td style={{ overflowWrap: 'anywhere' }}>
                  <Text size="sm">{task.account.name}</Text>
                  <Text size="xs" c="dimmed">
                    {task.key.name}
                  </Text>
                </Table.Td>
                <Table.Td style={{ overflowWrap: 'anywhere' }}>
                  <Text size="sm">{task.message}</Text>
                </Table.Td>
                <Table.Td ta="right" className="nowrap" title={fullTime(task.failed_at)}>
                  {fromNow(task.failed_at)}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      <Group px="md" pt="sm" gap="xs">
        {hasNextPage && (
          <BusyButton variant="default" size="xs" busy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            Show more
          </BusyButton>
        )}
        {chosen.length > 0 && (
          <RetryButton
            label={`Retry ${chosen.length} selected`}
            count={chosen.length}
            body={{ tasks: chosen }}
            onDone={() => setChosen([])}
          />
        )}
      </Group>
    </Box>
  );
}

/** A link for the user's own account; operators can't open pages of other accounts either. */
function TaskId({ id, accountId }: { readonly id: string; readonly accountId: string }) {
  const { account } = useSession();
  if (account.id !== accountId) return <Code>{id}</Code>;
  return <TaskLink id={id} />;
}
