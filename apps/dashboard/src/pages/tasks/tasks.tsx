import { Box, Button, Stack, Switch, Text } from '@mantine/core';
import { useLocalStorage } from '@mantine/hooks';
import { useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { get } from '../../api/request.ts';
import type { TaskPage } from '../../api/types.ts';
import { dayOf, fullTime } from '../../parts/format.ts';
import { IconList, IconSearch } from '@tabler/icons-react';
import { Empty, PageFrame, Rows, Trouble } from '../../parts/page.tsx';
import { ManyTasksMenu } from './many-tasks.tsx';
import { TaskFilterBar } from './task-filter-bar.tsx';
import { isNarrowed, isSearch } from './task-filters.ts';
import { TaskTable } from './task-table.tsx';

const PAGE = 30;
const REFRESH_MS = 5_000;
const route = getRouteApi('/inside/tasks');

export function TasksPage() {
  const filters = route.useSearch();
  const navigate = useNavigate();
  const [compact, setCompact] = useLocalStorage({
    key: 'darkroom.compact-tasks',
    defaultValue: false,
    getInitialValueInEffect: false,
  });
  const isOldestFirst = filters.order === 'oldest' && !isSearch(filters);
  const { data, error, isPending, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery({
    queryKey: ['tasks', 'list', filters],
    queryFn: ({ pageParam, signal }) => get<TaskPage>('/tasks', { limit: PAGE, after: pageParam, ...filters }, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => (page.has_more ? (page.next ?? page.data.at(-1)?.id) : undefined),
    // Who has leafed far down reads, and is not to see the list move; a search costs more than a look.
    refetchInterval: ({ state }) => (isSearch(filters) || (state.data?.pages.length ?? 0) > 1 ? false : REFRESH_MS),
  });
  const tasks = data?.pages.flatMap((page) => page.data) ?? [];
  const searchedUntil = data?.pages.at(-1)?.searched_until ?? null;
  const turn = () => {
    const order = isOldestFirst ? undefined : 'oldest';
    void navigate({ to: '/tasks', search: { ...filters, order }, replace: true });
  };
  return (
    <PageFrame
      title="Tasks"
      about="Every image request. Updates automatically."
      actions={<ManyTasksMenu filters={filters} />}
    >
      <TaskFilterBar filters={filters} />
      {error !== null && <Trouble error={error} doing="Could not load tasks" onRetry={() => void refetch()} />}
      {error === null && (
        <Box className="surface">
          {isPending && <Rows count={6} />}
          {!isPending &&
            tasks.length === 0 &&
            (isNarrowed(filters) ? <NothingFound until={searchedUntil} /> : <NoTasks />)}
          {tasks.length > 0 && (
            <TaskTable
              tasks={tasks}
              compact={compact}
              isOldestFirst={isOldestFirst}
              onTurn={isSearch(filters) ? undefined : turn}
            />
          )}
        </Box>
      )}
      {tasks.length > 0 && (
        <Switch label="Compact rows" checked={compact} onChange={(event) => setCompact(event.currentTarget.checked)} />
      )}
      {hasNextPage && (
        <Stack align="center" gap="xs">
          {searchedUntil !== null && (
            <Text size="sm" c="dimmed" title={fullTime(searchedUntil)} role="status">
              Searched back to {dayOf(searchedUntil)}
            </Text>
          )}
          <Button variant="default" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            {searchedUntil === null ? 'Show more' : 'Search older tasks'}
          </Button>
        </Stack>
      )}
    </PageFrame>
  );
}

function NoTasks() {
  return (
    <Empty
      icon={<IconList size={36} />}
      title="No tasks yet"
      action={
        <Button component={Link} to="/playground">
          Open playground
        </Button>
      }
    >
      Every request appears here with its cost and timeline. Generate an image in the playground, or send a request with
      a key.
    </Empty>
  );
}

function NothingFound({ until }: { readonly until: string | null }) {
  return (
    <Empty
      icon={<IconSearch size={36} />}
      title={until === null ? 'No matching tasks' : 'No matches so far'}
      action={
        <Button component={Link} to="/tasks" variant="default">
          Clear filters
        </Button>
      }
    >
      {until === null
        ? 'Try other words, or show every status and key.'
        : 'Older tasks have not been searched yet. Search them too, or try other words.'}
    </Empty>
  );
}
