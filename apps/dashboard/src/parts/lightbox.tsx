import { ActionIcon, Anchor, Box, Group, Text, VisuallyHidden } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import {
  IconCheck,
  IconChevronLeft,
  IconChevronRight,
  IconCopy,
  IconDownload,
  IconListDetails,
  IconZoomIn,
  IconZoomOut,
  IconZoomReset,
} from '@tabler/icons-react';
import { useEffect, useState, type KeyboardEvent, type ReactNode } from 'react';
import { taskQuery, useMay } from '../api/queries.ts';
import type { TaskDetail } from '../api/types.ts';
import { useCopy } from './copy-text.ts';
import { Dialog } from './dialog.tsx';
import { FavoriteStar } from './favorite-star.tsx';
import { dimensions, duration, fullTime, money } from './format.ts';
import { MAX_ZOOM, moved, STEP, transformOf, WHOLE, zoomed, zoomText, type View } from './pan-zoom.ts';
import { StoredImage } from './stored-image.tsx';
import { usePanZoom } from './use-pan-zoom.ts';

/** Zoom of a double click. */
const CLOSE_LOOK = 2.5;
/** Part of the box that an arrow key moves. */
const NUDGE = 0.1;

/** An image of a task. */
export interface LightboxImage {
  readonly taskId: string;
  /** Its position in the task, from 0. */
  readonly index: number;
  /** A smaller image, shown until this one is loaded. */
  readonly preview?: string | null;
}

interface LightboxProps {
  readonly images: readonly LightboxImage[];
  /** Position of the shown image; null: closed. */
  readonly shown: number | null;
  /** There are more images than these. */
  readonly hasMore?: boolean;
  readonly onShow: (position: number) => void;
  readonly onClose: () => void;
  /** Buttons with ways to use the image. */
  readonly uses?: ((task: TaskDetail, index: number) => ReactNode) | undefined;
}

/** Shows images in full size, one at a time, with what they were made from. */
export function Lightbox({ images, shown, hasMore = false, onClose, ...props }: LightboxProps) {
  const image = shown === null ? undefined : images[shown];
  const place = shown === null ? '' : `${shown + 1} of ${images.length}${hasMore ? '+' : ''}`;
  return (
    <Dialog
      opened={image !== undefined}
      onClose={onClose}
      fullScreen
      padding="sm"
      radius={0}
      title={shown === null || (images.length < 2 && !hasMore) ? 'Image' : `Image ${place}`}
      classNames={{ body: 'lightbox-body', content: 'lightbox' }}
    >
      {shown !== null && image !== undefined && (
        <Viewer images={images} shown={shown} image={image} onClose={onClose} {...props} />
      )}
    </Dialog>
  );
}

interface ViewerProps extends Pick<LightboxProps, 'images' | 'onShow' | 'onClose' | 'uses'> {
  readonly shown: number;
  readonly image: LightboxImage;
}

function Viewer({ images, shown, image: { taskId, index, preview = null }, ...props }: ViewerProps) {
  const { onShow, onClose, uses } = props;
  const mayStar = useMay()('tasks.create');
  const { data: task, error } = useQuery(taskQuery(taskId));
  const [view, setView] = useState<View>(WHOLE);
  const queries = useQueryClient();
  const around = [images[shown - 1]?.taskId, images[shown + 1]?.taskId].join(' ');
  useEffect(() => {
    for (const id of around.split(' ')) if (id !== '' && id !== taskId) void queries.prefetchQuery(taskQuery(id));
  }, [around, taskId, queries]);
  const lead = (by: -1 | 1) => {
    if (images[shown + by] === undefined) return;
    setView(WHOLE);
    onShow(shown + by);
  };
  const zoom = (factor: number) => setView(zoomed(view, factor));
  const { ref, handlers } = usePanZoom({ view, onView: setView, onSwipe: lead });
  const isWhole = view.zoom === 1;
  const press = (event: KeyboardEvent<HTMLElement>) => {
    const box = event.currentTarget;
    const nudge = (dx: number, dy: number) => setView(moved(view, dx * NUDGE, dy * NUDGE));
    const work: Readonly<Record<string, (() => void) | undefined>> = {
      '+': () => zoom(STEP),
      '=': () => zoom(STEP),
      '-': () => zoom(1 / STEP),
      '0': () => setView(WHOLE),
      // As in the gallery.
      f: () => box.querySelector<HTMLElement>('.star')?.click(),
      ArrowLeft: () => (isWhole ? lead(-1) : nudge(1, 0)),
      ArrowRight: () => (isWhole ? lead(1) : nudge(-1, 0)),
      ...(isWhole ? {} : { ArrowUp: () => nudge(0, 1), ArrowDown: () => nudge(0, -1) }),
    };
    const act = work[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (event.ctrlKey || event.metaKey || event.altKey || act === undefined) return;
    event.preventDefault();
    act();
  };
  const url = task?.images[index]?.url ?? (task === undefined ? preview : null);
  const gone = error === null ? 'This image is no longer available.' : error.message;
  return (
    <Box className="lightbox-body" onKeyDown={press}>
      <VisuallyHidden role="status">
        {images.length > 1 && `${shown + 1} of ${images.length}: `}
        {task?.prompt ?? ''}
      </VisuallyHidden>
      <div
        ref={ref}
        className="lightbox-view"
        tabIndex={0}
        role="group"
        aria-label="Image; zoom with + and -"
        data-autofocus
        data-zoomed={!isWhole}
        {...handlers}
        onDoubleClick={() => setView(isWhole ? zoomed(WHOLE, CLOSE_LOOK) : WHOLE)}
      >
        {url !== null ? (
          <StoredImage
            key={`${taskId} ${index}`}
            url={url}
            alt={task?.prompt ?? ''}
            missing={gone}
            w="100%"
            h="100%"
            fit="contain"
            style={{ transform: transformOf(view) }}
          />
        ) : (
          (task !== undefined || error !== null) && (
            <Text c="dimmed" ta="center" py="xl">
              {gone}
            </Text>
          )
        )}
      </div>
      {task !== undefined && <Origin task={task} index={index} />}
      <Group justify="center" gap="xs" pt="xs">
        {images.length > 1 && (
          <Tool
            name="Previous image"
            isOff={shown === 0}
            icon={<IconChevronLeft size={18} />}
            onClick={() => lead(-1)}
          />
        )}
        <Tool name="Zoom out" isOff={isWhole} icon={<IconZoomOut size={18} />} onClick={() => zoom(1 / STEP)} />
        <Text size="sm" className="numbers" w={52} ta="center" aria-live="polite">
          {zoomText(view)}
        </Text>
        <Tool
          name="Zoom in"
          isOff={view.zoom === MAX_ZOOM}
          icon={<IconZoomIn size={18} />}
          onClick={() => zoom(STEP)}
        />
        <Tool name="Fit to window" isOff={isWhole} icon={<IconZoomReset size={18} />} onClick={() => setView(WHOLE)} />
        {images.length > 1 && (
          <Tool
            name="Next image"
            isOff={shown === images.length - 1}
            icon={<IconChevronRight size={18} />}
            onClick={() => lead(1)}
          />
        )}
        {task !== undefined && mayStar && (
          <FavoriteStar task={task} place={`${shown + 1} of ${images.length}`} size="lg" icon={18} title="Favorite" />
        )}
        {task !== undefined && <Take task={task} index={index} onLeave={onClose} />}
        {task?.images[index] !== undefined && uses?.(task, index)}
      </Group>
    </Box>
  );
}

interface OneImage {
  readonly task: TaskDetail;
  readonly index: number;
}

/** The prompt, and what the image is. */
function Origin({ task, index }: OneImage) {
  const { copied, copy } = useCopy(task.prompt);
  const [isLong, setLong] = useState(false);
  const took = task.finished_at === null ? undefined : Date.parse(task.finished_at) - Date.parse(task.created_at);
  const size = task.images[index]?.size;
  const facts = [
    task.model,
    size === undefined ? undefined : dimensions(size),
    money(task.cost),
    took === undefined ? undefined : duration(took),
    fullTime(task.created_at),
  ].filter((fact) => fact !== undefined);
  return (
    <Box className="lightbox-origin">
      <Group gap="xs" wrap="nowrap" justify="center" align="flex-start">
        <Text
          size="sm"
          className="prompt"
          {...(isLong ? { mah: '30vh', style: { overflowY: 'auto' }, tabIndex: 0 } : { lineClamp: 2 })}
        >
          {task.prompt}
        </Text>
        <ActionIcon variant="default" size={28} aria-label="Copy prompt" onClick={copy}>
          {copied ? <IconCheck size={15} /> : <IconCopy size={15} />}
        </ActionIcon>
      </Group>
      <Text size="xs" c="dimmed" className="numbers" ta="center">
        {facts.join(' · ')}
        {task.prompt.length > SHORT && (
          <>
            {' · '}
            <Anchor component="button" type="button" size="xs" mih={24} onClick={() => setLong(!isLong)}>
              {isLong ? 'Less' : 'Whole prompt'}
            </Anchor>
          </>
        )}
      </Text>
    </Box>
  );
}

/** Characters of a prompt that fit into two lines anywhere but on a phone. */
const SHORT = 150;

function Take({ task, index, onLeave }: OneImage & { readonly onLeave: () => void }) {
  const image = task.images[index];
  return (
    <>
      {image !== undefined && (
        <ActionIcon
          component="a"
          variant="default"
          size="lg"
          href={image.url}
          download={image.file_name}
          aria-label="Download"
          title="Download"
        >
          <IconDownload size={18} />
        </ActionIcon>
      )}
      <ActionIcon
        renderRoot={(props) => <Link to="/tasks/$id" params={{ id: task.id }} {...props} />}
        variant="default"
        size="lg"
        aria-label="Open task"
        onClick={onLeave}
        title="Open task"
      >
        <IconListDetails size={18} />
      </ActionIcon>
    </>
  );
}

interface ToolProps {
  readonly name: string;
  readonly isOff: boolean;
  readonly icon: ReactNode;
  readonly onClick: () => void;
}

/** Its name is also its tooltip. A disabled button would lose the focus, and with it the keys. */
function Tool({ name, isOff, icon, onClick }: ToolProps) {
  return (
    <ActionIcon
      variant="default"
      size="lg"
      aria-label={name}
      title={name}
      aria-disabled={isOff}
      data-disabled={isOff}
      onClick={() => {
        if (!isOff) onClick();
      }}
    >
      {icon}
    </ActionIcon>
  );
}
