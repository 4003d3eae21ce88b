import { Box, Button, Group, Select, Stack, Table, Text, TextInput } from '@mantine/core';
import { useDebouncedCallback, useDidUpdate } from '@mantine/hooks';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { keyNamesQuery, modelsQuery } from '../../api/queries.ts';
import { get } from '../../api/request.ts';
import type { TaskPage, TaskRow } from '../../api/types.ts';
import { dayOf, dimensions, fromNow, fullTime, money } from '../../parts/format.ts';
import { IconList, IconSearch } from '@tabler/icons-react';
import { Empty, PageFrame, Rows, Trouble } from '../../parts/page.tsx';
import { Thumbnail } from '../../parts/stored-image.tsx';
import { TaskState } from '../../parts/task-state.tsx';
import type { TaskFilters } from './task-filters.ts';

const PAGE = 30;
const REFRESH_MS = 5_000;
const route = getRouteApi('/inside/tasks');

export function TasksPage() {
  const filters = route.useSearch();
  const { data, error, isPending, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery({
    queryKey: ['tasks', 'list', filters],
    queryFn: ({ pageParam, signal }) => get<TaskPage>('/tasks', { limit: PAGE, after: pageParam, ...filters }, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => (page.has_more ? (page.next ?? page.data.at(-1)?.id) : undefined),
    // Who has leafed far down reads, and is not to see the list move; a search costs more than a look.
    refetchInterval: ({ state }) =>
      filters.text !== undefined || (state.data?.pages.length ?? 0) > 1 ? false : REFRESH_MS,
  });
  const tasks = data?.pages.flatMap((page) => page.data) ?? [];
  const searchedUntil = data?.pages.at(-1)?.searched_until ?? null;
  const filtered = Object.values(filters).some((value) => value !== undefined);
  return (
    <PageFrame title="Tasks" about="Every image request, newest first. Updates automatically.">
      <Filters filters={filters} />
      {error !== null && <Trouble error={error} doing="Could not load tasks" onRetry={() => void refetch()} />}
      {error === null && (
        <Box className="surface">
          {isPending && <Rows count={6} />}
          {!isPending && tasks.length === 0 && (filtered ? <NothingFound until={searchedUntil} /> : <NoTasks />)}
          {tasks.length > 0 && <TaskTable tasks={tasks} />}
        </Box>
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

function Filters({ filters }: { readonly filters: TaskFilters }) {
  const navigate = useNavigate();
  const keys = useQuery(keyNamesQuery);
  const models = useQuery(modelsQuery);
  const change = (changes: TaskFilters) => {
    void navigate({ to: '/tasks', search: { ...filters, ...changes }, replace: true });
  };
  const [text, setText] = useState(filters.text ?? '');
  const isSearching = filters.text !== undefined;
  // Cleared elsewhere: by a link, or the browser's own buttons.
  useDidUpdate(() => {
    if (!isSearching) setText('');
  }, [isSearching]);
  const search = useDebouncedCallback((words: string) => change({ text: words === '' ? undefined : words }), 300);
  return (
    <Group gap="sm">
      <TextInput
        aria-label="Search prompts"
        placeholder="Search prompts or enter an ID"
        leftSection={<IconSearch size={16} />}
        value={text}
        flex={1}
        miw={200}
        onChange={({ currentTarget: { value } }) => {
          setText(value);
          search(value);
        }}
      />
      <Select
        aria-label="Status"
        placeholder="Any status"
        clearable
        w={150}
        data={[
          { value: 'pending', label: 'Pending' },
          { value: 'completed', label: 'Completed' },
          { value: 'failed', label: 'Failed' },
          { value: 'cancelled', label: 'Canceled' },
        ]}
        value={filters.status ?? null}
        onChange={(status) => change({ status: status ?? undefined })}
      />
      <Select
        aria-label="Key"
        placeholder="Any key"
        clearable
        searchable
        w={170}
        data={[
          { value: 'playground', label: 'Playground' },
          ...(keys.data?.data.map(({ id, name }) => ({ value: id, label: name })) ?? []),
        ]}
        value={filters.key ?? null}
        onChange={(key) => change({ key: key ?? undefined })}
      />
      {(models.data?.data.length ?? 0) > 1 && (
        <Select
          aria-label="Model"
          placeholder="Any model"
          clearable
          w={170}
          data={models.data?.data.map(({ id }) => id) ?? []}
          value={filters.model ?? null}
          onChange={(model) => change({ model: model ?? undefined })}
        />
      )}
    </Group>
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

function TaskTable({ tasks }: { readonly tasks: readonly TaskRow[] }) {
  return (
    <Table.ScrollContainer minWidth={300}>
      <Table highlightOnHover horizontalSpacing="md" verticalSpacing={8}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th w={64} aria-label="Image" />
            <Table.Th>Prompt</Table.Th>
            <Table.Th>Status</Table.Th>
            <Table.Th visibleFrom="sm">Size</Table.Th>
            <Table.Th visibleFrom="sm">Key</Table.Th>
            <Table.Th ta="right" visibleFrom="sm">
              Cost
            </Table.Th>
            <Table.Th ta="right" visibleFrom="sm">
              Created
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {tasks.map((task) => (
            <Table.Tr key={task.id}>
              <Table.Td>
                <Thumbnail task={task} size={44} />
              </Table.Td>
              <Table.Td maw={340}>
                <Link to="/tasks/$id" params={{ id: task.id }} className="row-title">
                  {task.prompt}
                </Link>
                <Text size="xs" c="dimmed" hiddenFrom="sm">
                  {fromNow(task.created_at)}
                </Text>
              </Table.Td>
              <Table.Td>
                <TaskState task={task} />
              </Table.Td>
              <Table.Td visibleFrom="sm">
                <Text size="sm" className="nowrap">
                  {dimensions(task.size)}
                  {task.resolution !== null && (
                    <Text span size="sm" c="dimmed">
                      {' '}
                      {task.resolution.toUpperCase()}
                    </Text>
                  )}
                </Text>
              </Table.Td>
              <Table.Td maw={160} visibleFrom="sm">
                <Text size="sm" truncate>
                  {task.key.name}
                </Text>
              </Table.Td>
              <Table.Td ta="right" visibleFrom="sm">
                <Text size="sm" className="numbers">
                  {money(task.cost)}
                </Text>
              </Table.Td>
              <Table.Td ta="right" visibleFrom="sm">
                <Text size="sm" className="nowrap" title={fullTime(task.created_at)}>
                  {fromNow(task.created_at)}
                </Text>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
