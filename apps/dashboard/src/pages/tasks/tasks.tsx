import { Box, Button, Group, Skeleton, Stack, Text } from '@mantine/core';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { BusyButton } from '../../parts/busy.tsx';
import { useMay } from '../../api/queries.ts';
import { get } from '../../api/request.ts';
import type { TaskCount, TaskPage } from '../../api/types.ts';
import { useCompactRows } from '../../parts/density.ts';
import { dayOf, fullTime } from '../../parts/format.ts';
import { IconList, IconSearch } from '@tabler/icons-react';
import { Empty, PageFrame, Rows, Trouble } from '../../parts/page.tsx';
import { ManyTasksMenu } from './many-tasks.tsx';
import { TaskFilterBar } from './task-filter-bar.tsx';
import {
  activeFilters,
  countQuery,
  isNarrowed,
  isRanking,
  isSearch,
  orderOf,
  type TaskFilters,
} from './task-filters.ts';
import { TaskTable } from './task-table.tsx';

const PAGE = 30;
const REFRESH_MS = 5_000;
const route = getRouteApi('/inside/tasks');

export function TasksPage() {
  const filters = route.useSearch();
  const navigate = useNavigate();
  const [compact] = useCompactRows();
  const seesAll = useMay()('tasks.read_all');
  const count = useQuery(countQuery(filters));
  const order = orderOf(filters, count.data);
  const { data, error, isPending, isRefetching, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } =
    useInfiniteQuery({
      queryKey: ['tasks', 'list', { ...filters, order }],
      queryFn: ({ pageParam, signal }) =>
        get<TaskPage>('/tasks', { limit: PAGE, after: pageParam, ...filters, order }, signal),
      // Waits for the count, which decides whether this order is available.
      enabled: isSearch(filters) || !isRanking(filters.order) || !count.isPending,
      initialPageParam: undefined as string | undefined,
      getNextPageParam: (page) => (page.has_more ? (page.next ?? page.data.at(-1)?.id) : undefined),
      // Refreshing would move the list for users who have scrolled down; a search is too expensive to repeat.
      refetchInterval: ({ state }) => (isSearch(filters) || (state.data?.pages.length ?? 0) > 1 ? false : REFRESH_MS),
    });
  const tasks = data?.pages.flatMap((page) => page.data) ?? [];
  const searchedUntil = data?.pages.at(-1)?.searched_until ?? null;
  const sort = (next: string) => {
    void navigate({
      to: '/tasks',
      search: { ...filters, order: next === 'newest' ? undefined : next },
      replace: true,
      resetScroll: false,
    });
  };
  return (
    <PageFrame
      title="Tasks"
      about={
        (seesAll ? 'Every image request.' : 'Image requests that you made here or with your keys.') +
        (isSearch(filters) ? '' : ' Updates automatically.')
      }
      actions={<ManyTasksMenu filters={filters} />}
    >
      <TaskFilterBar filters={filters} />
      {error !== null && <Trouble error={error} doing="Could not load tasks" onRetry={() => void refetch()} />}
      {error === null && (
        <Box className="surface">
          {isPending && <Rows count={6} />}
          {!isPending &&
            tasks.length === 0 &&
            (isNarrowed(filters) ? <NothingFound filters={filters} until={searchedUntil} /> : <NoTasks />)}
          {tasks.length > 0 && (
            <Box px="md" pt="md">
              {isSearch(filters) ? (
                <SearchTotal
                  shown={tasks.length}
                  hasMore={hasNextPage}
                  onRefresh={() => void refetch()}
                  busy={isRefetching}
                />
              ) : (
                <TaskTotal count={count.data} />
              )}
            </Box>
          )}
          {tasks.length > 0 && (
            <TaskTable
              tasks={tasks}
              compact={compact}
              order={order ?? 'newest'}
              onOrder={isSearch(filters) ? undefined : sort}
              isRankable={count.data?.sortable === true}
            />
          )}
        </Box>
      )}
      {hasNextPage && (
        <Stack align="center" gap="xs">
          {searchedUntil !== null && (
            <Text size="sm" c="dimmed" title={fullTime(searchedUntil)} role="status">
              Searched back to {dayOf(searchedUntil)} (UTC)
            </Text>
          )}
          <BusyButton variant="default" busy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            {searchedUntil === null ? 'Show more' : 'Search older tasks'}
          </BusyButton>
        </Stack>
      )}
    </PageFrame>
  );
}

interface SearchTotalProps {
  readonly shown: number;
  readonly hasMore: boolean;
  readonly busy: boolean;
  readonly onRefresh: () => void;
}

/** The matches found so far; the search runs again only on request. */
function SearchTotal({ shown, hasMore, busy, onRefresh }: SearchTotalProps) {
  return (
    <Group gap="xs" justify="space-between">
      <Text size="sm" className="numbers" role="status">
        {shown.toLocaleString('en')}
        {hasMore && '+'} {shown === 1 && !hasMore ? 'match' : 'matches'}
        <Text span size="sm" c="dimmed">
          {' '}
          · Newest first. Search results don’t update by themselves.
        </Text>
      </Text>
      <BusyButton variant="default" size="xs" busy={busy} onClick={onRefresh}>
        Search again
      </BusyButton>
    </Group>
  );
}

interface TaskTotalProps {
  readonly count: TaskCount | undefined;
}

/** The number of matching tasks, and why some orders are unavailable. */
function TaskTotal({ count }: TaskTotalProps) {
  if (count?.count === undefined || count.count === null) return <Skeleton w={90} h={14} />;
  const total = `${count.count.toLocaleString('en')}${count.has_more ? '+' : ''}`;
  return (
    <Text size="sm" className="numbers" role="status">
      {total} {total === '1' ? 'task' : 'tasks'}
      {!count.sortable && (
        <Text span size="sm" c="dimmed">
          {' '}
          · To sort by duration or cost, narrow the list to 1,000 tasks or fewer.
        </Text>
      )}
    </Text>
  );
}

function NoTasks() {
  const may = useMay();
  return (
    <Empty
      icon={<IconList size={36} />}
      title="No tasks yet"
      {...(may('tasks.create') && {
        action: (
          <Button component={Link} to="/playground">
            Open playground
          </Button>
        ),
      })}
    >
      {may('tasks.read_all') ? 'Every image request' : 'Each of your image requests'} appears here with its cost and
      timeline.
      {may('tasks.create') && ' Generate an image in the playground, or send a request with a key.'}
    </Empty>
  );
}

const listed = new Intl.ListFormat('en', { type: 'conjunction' });

interface NothingFoundProps {
  readonly filters: TaskFilters;
  /** How far back the search went; null: to the oldest task. */
  readonly until: string | null;
}

function NothingFound({ filters, until }: NothingFoundProps) {
  const active = activeFilters(filters);
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
        ? `No task matches your ${active.length === 1 ? 'filter' : 'filters'}: ${listed.format(active)}. Change or clear ${active.length === 1 ? 'it' : 'them'} to see more tasks.`
        : 'Older tasks have not been searched yet. Search them too, or try other words.'}
    </Empty>
  );
}
