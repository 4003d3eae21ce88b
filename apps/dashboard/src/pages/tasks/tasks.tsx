import { Box, Button, Skeleton, Stack, Text } from '@mantine/core';
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
import { TaskTabs } from '../../parts/task-tabs.tsx';
import { Deletions } from './deletions.tsx';
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
import { refreshMs, timed } from './refresh.ts';
import { SelectionBar } from './selection-bar.tsx';
import { TaskTable } from './task-table.tsx';
import { useSelection } from './use-selection.ts';

const PAGE = 30;
const route = getRouteApi('/inside/tasks');

export function TasksPage() {
  const filters = route.useSearch();
  const navigate = useNavigate();
  const [compact] = useCompactRows();
  const seesAll = useMay()('tasks.read_all');
  const count = useQuery(countQuery(filters));
  const order = orderOf(filters, count.data);
  const { data, error, isPending, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery({
    queryKey: ['tasks', 'list', { ...filters, order }],
    queryFn: ({ pageParam, signal }) =>
      timed(get<TaskPage>('/tasks', { limit: PAGE, after: pageParam, ...filters, order }, signal)),
    // Waits for the count, which decides whether this order is available.
    enabled: isSearch(filters) || !isRanking(filters.order) || !count.isPending,
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => (page.has_more ? (page.next ?? page.data.at(-1)?.id) : undefined),
    refetchInterval: ({ state }) => refreshMs(state.data?.pages ?? [], isSearch(filters)),
  });
  const tasks = data?.pages.flatMap((page) => page.data) ?? [];
  const ids = tasks.map(({ id }) => id);
  const selection = useSelection(ids, JSON.stringify(filters));
  const mayChange = useMay()('tasks.create');
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
        ' Updates automatically.'
      }
      actions={<ManyTasksMenu filters={filters} />}
    >
      <TaskTabs />
      <TaskFilterBar filters={filters} />
      {mayChange && <Deletions />}
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
                <SearchTotal shown={tasks.length} hasMore={hasNextPage} />
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
              selection={mayChange ? selection : undefined}
            />
          )}
        </Box>
      )}
      <SelectionBar tasks={tasks} filters={filters} hasMore={hasNextPage} selection={selection} />
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
}

/** The matches found so far. */
function SearchTotal({ shown, hasMore }: SearchTotalProps) {
  return (
    <Text size="sm" className="numbers" role="status">
      {hasMore && 'At least '}
      {shown.toLocaleString('en')} {shown === 1 ? 'match' : 'matches'}
      <Text span size="sm" c="dimmed">
        {' '}
        · Newest first
      </Text>
    </Text>
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
