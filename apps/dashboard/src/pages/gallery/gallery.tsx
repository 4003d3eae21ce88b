import { Box, Button, Stack, Text, Title } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconLibraryPhoto, IconSearch, IconStar } from '@tabler/icons-react';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useRef, useState, type KeyboardEvent } from 'react';
import { useMay } from '../../api/queries.ts';
import { get } from '../../api/request.ts';
import type { TaskPage, TaskRow } from '../../api/types.ts';
import { dayOf } from '../../parts/format.ts';
import { Empty, PageFrame, Rows, Trouble } from '../../parts/page.tsx';
import { ShowMore } from '../../parts/show-more.tsx';
import { TaskLightbox } from '../playground/task-lightbox.tsx';
import { daysOf } from './days.ts';
import { GalleryFilterBar, isFiltered, type GalleryFilters } from './gallery-filters.tsx';
import { moveFocus } from './move-focus.ts';
import { SelectionBar } from './selection-bar.tsx';
import { Tile } from './tile.tsx';

const PAGE = 48;
/** Tasks of one download. */
const MOST_SELECTED = 100;

const route = getRouteApi('/inside/gallery');

/** All stored images that the user may see, newest first. */
export function GalleryPage() {
  const filters = route.useSearch();
  const seesAll = useMay()('tasks.read_all');
  const pages = useInfiniteQuery({
    queryKey: ['tasks', 'gallery', filters],
    queryFn: ({ pageParam, signal }) =>
      get<TaskPage>('/tasks', { ...filters, images: 'true', limit: PAGE, after: pageParam }, signal),
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
    placeholderData: keepPreviousData,
  });
  const { data, error, refetch, hasNextPage } = pages;
  const tasks = data?.pages.flatMap((page) => page.data.filter(({ image_count: count }) => count > 0)) ?? [];
  const searchedUntil = data?.pages.at(-1)?.searched_until ?? null;
  return (
    <PageFrame
      title="Gallery"
      about={`${seesAll ? 'All images of this account' : 'The images that you made here or with your keys'}. Star an image to keep it after the others are deleted.`}
    >
      <GalleryFilterBar filters={filters} />
      {error !== null && <Trouble error={error} doing="Could not load the images" onRetry={() => void refetch()} />}
      {data === undefined && error === null && <Rows count={3} height={150} />}
      {data !== undefined && tasks.length === 0 && (
        <Box className="surface">
          {hasNextPage ? (
            <Empty icon={<IconSearch size={36} />} title="No matches so far">
              Older images have not been searched yet.
            </Empty>
          ) : (
            <Nothing filters={filters} />
          )}
        </Box>
      )}
      {tasks.length > 0 && <Images tasks={tasks} hasMore={hasNextPage} onEnd={() => void pages.fetchNextPage()} />}
      <Stack align="center" gap="xs">
        {searchedUntil !== null && (
          <Text size="sm" c="dimmed" role="status">
            Searched back to {dayOf(searchedUntil)}
          </Text>
        )}
        <ShowMore of={pages} />
      </Stack>
    </PageFrame>
  );
}

interface ImagesProps {
  readonly tasks: readonly TaskRow[];
  readonly hasMore: boolean;
  /** The end of what is loaded is near. */
  readonly onEnd: () => void;
}

/** The images by day, with the lightbox and the selection. */
function Images({ tasks, hasMore, onEnd }: ImagesProps) {
  const mayStar = useMay()('tasks.create');
  const grid = useRef<HTMLDivElement>(null);
  const [current, setCurrent] = useState<string | null>(null);
  const [shown, setShown] = useState<number | null>(null);
  const [selected, setSelected] = useState<readonly string[]>([]);
  const images = tasks.flatMap(({ id, image_count: count, thumbnail_url: preview }) =>
    Array.from({ length: count }, (_, index) => ({ taskId: id, index, preview: index === 0 ? preview : null })),
  );
  const present = selected.filter((id) => tasks.some((task) => task.id === id));
  const entry = tasks.some(({ id }) => id === current) ? current : tasks[0]?.id;
  const places = new Map(tasks.map(({ id }, index) => [id, `${index + 1} of ${tasks.length}`]));
  const select = (id: string) => {
    if (present.includes(id)) setSelected(present.filter((one) => one !== id));
    else if (present.length < MOST_SELECTED) setSelected([...present, id]);
    else notifications.show({ color: 'red', message: `Up to ${MOST_SELECTED} can be selected at once.` });
  };
  const show = (position: number) => {
    setShown(position);
    if (hasMore && position >= images.length - 3) onEnd();
  };
  const press = (event: KeyboardEvent) => {
    const tile = (event.target as HTMLElement).closest<HTMLElement>('[data-tile]');
    if (tile === null || grid.current === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const click = (part: string) => {
      tile.querySelector<HTMLElement>(part)?.click();
      return true;
    };
    const work = {
      f: () => click('.star'),
      x: () => click('input'),
      escape: () => {
        setSelected([]);
        return present.length > 0;
      },
    }[event.key.toLowerCase()];
    const isDone = work === undefined ? moveFocus(grid.current, tile, event.key) : work();
    if (isDone) event.preventDefault();
  };
  return (
    <>
      <Stack ref={grid} gap="lg" onKeyDown={press}>
        {daysOf(tasks).map((day) => (
          <Box key={day.name} component="section" aria-label={day.name}>
            <Title order={2} fz="sm" fw={600} mb="xs">
              {day.name}
            </Title>
            <div className="gallery">
              {day.tasks.map((task) => (
                <Tile
                  key={task.id}
                  task={task}
                  place={places.get(task.id) ?? ''}
                  isCurrent={task.id === entry}
                  isSelected={present.includes(task.id)}
                  mayStar={mayStar}
                  onOpen={() => show(images.findIndex(({ taskId }) => taskId === task.id))}
                  onSelect={() => select(task.id)}
                  onFocus={() => setCurrent(task.id)}
                />
              ))}
            </div>
          </Box>
        ))}
      </Stack>
      <Text size="xs" c="dimmed" visibleFrom="sm">
        Keyboard: arrows move, Enter opens{mayStar && ', F stars'}, X selects.
      </Text>
      {present.length > 0 && <SelectionBar ids={present} onClear={() => setSelected([])} />}
      <TaskLightbox images={images} shown={shown} hasMore={hasMore} onShow={show} onClose={() => setShown(null)} />
    </>
  );
}

function Nothing({ filters }: { readonly filters: GalleryFilters }) {
  const mayCreate = useMay()('tasks.create');
  if (filters.favorites === 'true' && !isFiltered({ ...filters, favorites: undefined }))
    return (
      <Empty icon={<IconStar size={36} />} title="No favorites yet">
        Star an image to keep it after the others are deleted.
      </Empty>
    );
  if (isFiltered(filters))
    return (
      <Empty
        icon={<IconSearch size={36} />}
        title="No matching images"
        action={
          <Button component={Link} to="/gallery" variant="default">
            Clear filters
          </Button>
        }
      >
        No stored image matches your filters.
      </Empty>
    );
  return (
    <Empty
      icon={<IconLibraryPhoto size={36} />}
      title="No images yet"
      {...(mayCreate && {
        action: (
          <Button component={Link} to="/playground">
            Open playground
          </Button>
        ),
      })}
    >
      Finished images appear here for as long as they are stored.
    </Empty>
  );
}
