import { Box, Group, SegmentedControl, Text, TextInput, UnstyledButton, VisuallyHidden } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { IconSearch } from '@tabler/icons-react';
import { get } from '../../api/request.ts';
import type { TaskPage, TaskRow } from '../../api/types.ts';
import { BusyButton } from '../../parts/busy.tsx';
import { FavoriteStar } from '../../parts/favorite-star.tsx';
import { fromNow } from '../../parts/format.ts';
import { Trouble } from '../../parts/page.tsx';
import { SandboxMark, Thumbnail } from '../../parts/stored-image.tsx';
import { TaskState } from '../../parts/task-state.tsx';
import { useOrderer } from '../../parts/use-orderer.ts';

const SHOWN = 12;
/** Polls, because there is no event stream for each listed task. */
const LOOK_EVERY_MS = 2_000;
/** Debounces the search while the user types. */
const TYPING_MS = 300;

interface ImageHistoryProps {
  readonly current: string | null;
  readonly onPick: (id: string) => void;
}

/** Recent images of the console, and the account's favorites; a click shows one again. */
export function ImageHistory({ current, onPick }: ImageHistoryProps) {
  const orderer = useOrderer();
  const [isStarred, setStarred] = useState(false);
  const [words, setWords] = useState('');
  const [text] = useDebouncedValue(words.trim(), TYPING_MS);
  const { data, error, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: ['tasks', 'playground', { isStarred, text }],
    queryFn: ({ pageParam, signal }) => {
      const filter = isStarred ? { favorites: 'true' } : { key: 'playground' };
      return get<TaskPage>('/tasks', { limit: SHOWN, ...filter, text, after: pageParam }, signal);
    },
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) =>
      state.data?.pages.some((page) => page.data.some(({ status }) => status === 'pending')) === true
        ? LOOK_EVERY_MS
        : false,
  });
  const tasks = data?.pages.flatMap((page) => page.data) ?? [];
  const isShared = tasks.some((task) => task.provider_test || orderer(task) !== 'You');
  const isNarrowed = isStarred || text !== '';
  if (data !== undefined && tasks.length === 0 && !isNarrowed && words === '') return null;
  return (
    <Box component="section" aria-label="History">
      <Group justify="space-between" gap="xs" mb="xs">
        <SegmentedControl
          size="xs"
          aria-label="Shown images"
          value={isStarred ? 'favorites' : 'recent'}
          onChange={(shown) => setStarred(shown === 'favorites')}
          data={[
            { value: 'recent', label: 'Recent' },
            { value: 'favorites', label: 'Favorites' },
          ]}
        />
        <TextInput
          type="search"
          size="xs"
          flex={1}
          maw={240}
          maxLength={200}
          aria-label="Search history"
          placeholder="Search"
          leftSection={<IconSearch size={14} />}
          value={words}
          onChange={(event) => setWords(event.currentTarget.value)}
        />
      </Group>
      {error !== null && <Trouble error={error} doing="Could not load the history" />}
      {data !== undefined && tasks.length === 0 && (
        <Text size="sm" c="dimmed" py="md">
          {text !== ''
            ? hasNextPage
              ? 'No matches so far.'
              : 'No matches.'
            : 'No favorites yet. Star an image to keep it after others are deleted.'}
        </Text>
      )}
      <Group gap="xs" align="flex-start">
        {tasks.map((task, index) => (
          <Tile
            key={task.id}
            task={task}
            place={`${index + 1} of ${tasks.length}`}
            isShared={isShared}
            isCurrent={task.id === current}
            onPick={onPick}
          />
        ))}
      </Group>
      {hasNextPage && (
        <BusyButton mt="sm" size="xs" variant="default" busy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          Show more
        </BusyButton>
      )}
    </Box>
  );
}

interface TileProps {
  readonly task: TaskRow;
  /** Position such as "2 of 12", which tells equal prompts apart. */
  readonly place: string;
  /** Other users ordered images as well, so each shows its user. */
  readonly isShared: boolean;
  readonly isCurrent: boolean;
  readonly onPick: (id: string) => void;
}

function Tile({ task, place, isShared, isCurrent, onPick }: TileProps) {
  const by = useOrderer()(task) ?? task.key.name;
  const who = task.provider_test ? `${by}, test` : by;
  return (
    <Box w={88} pos="relative">
      <UnstyledButton
        className="history-item"
        aria-pressed={isCurrent}
        title={[task.prompt, ...(isShared ? [who] : []), fromNow(task.created_at)].join('\n')}
        onClick={() => onPick(task.id)}
      >
        <VisuallyHidden>{`${task.prompt}, ${fromNow(task.created_at)}, ${place}`}</VisuallyHidden>
        {task.status === 'completed' ? <Thumbnail task={task} size={84} /> : <TaskState task={task} />}
      </UnstyledButton>
      {task.sandbox && <SandboxMark small />}
      {(task.favorite || (task.status === 'completed' && task.images_deleted_at === null)) && (
        <FavoriteStar task={task} place={place} pos="absolute" top={4} right={6} />
      )}
      {isShared && (
        <Text size="xs" c="dimmed" truncate mt={2} title={who}>
          {who}
        </Text>
      )}
    </Box>
  );
}
