import { ActionIcon, Box, Group, Text } from '@mantine/core';
import { IconZoomIn, IconZoomOut, IconZoomReset } from '@tabler/icons-react';
import { useState, type KeyboardEvent } from 'react';
import type { TaskDetail } from '../../api/types.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { moved, STEP, transformOf, WHOLE, zoomed, zoomText, type View } from '../../parts/pan-zoom.ts';
import { StoredImage } from '../../parts/stored-image.tsx';
import { usePanZoom } from '../../parts/use-pan-zoom.ts';

/** Part of a box that an arrow key moves. */
const NUDGE = 0.1;

interface ComparedImage {
  readonly name: string;
  readonly task: TaskDetail;
}

interface CompareCloselyProps {
  readonly opened: boolean;
  readonly images: readonly ComparedImage[];
  readonly onClose: () => void;
}

/** Images side by side: what zooms or moves one does the same to all of them. */
export function CompareClosely({ opened, images, onClose }: CompareCloselyProps) {
  return (
    <Dialog
      opened={opened}
      onClose={onClose}
      fullScreen
      padding="sm"
      radius={0}
      title="Compare closely"
      classNames={{ body: 'lightbox-body', content: 'lightbox' }}
    >
      <Side images={images} />
    </Dialog>
  );
}

function Side({ images }: Pick<CompareCloselyProps, 'images'>) {
  const [view, setView] = useState<View>(WHOLE);
  const work: Readonly<Record<string, () => View>> = {
    '+': () => zoomed(view, STEP),
    '=': () => zoomed(view, STEP),
    '-': () => zoomed(view, 1 / STEP),
    '0': () => WHOLE,
    ArrowLeft: () => moved(view, NUDGE, 0),
    ArrowRight: () => moved(view, -NUDGE, 0),
    ArrowUp: () => moved(view, 0, NUDGE),
    ArrowDown: () => moved(view, 0, -NUDGE),
  };
  const press = (event: KeyboardEvent) => {
    const next = work[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey || next === undefined) return;
    event.preventDefault();
    setView(next());
  };
  return (
    <Box className="lightbox-body" onKeyDown={press}>
      <div className="compared-images" tabIndex={0} role="group" aria-label="Images; zoom with + and -" data-autofocus>
        {images.map((image) => (
          <Compared key={image.task.id} image={image} view={view} onView={setView} />
        ))}
      </div>
      <Group justify="center" gap="xs" pt="xs">
        <ActionIcon variant="default" size="lg" aria-label="Zoom out" onClick={() => setView(zoomed(view, 1 / STEP))}>
          <IconZoomOut size={18} />
        </ActionIcon>
        <Text size="sm" className="numbers" w={52} ta="center" aria-live="polite">
          {zoomText(view)}
        </Text>
        <ActionIcon variant="default" size="lg" aria-label="Zoom in" onClick={() => setView(zoomed(view, STEP))}>
          <IconZoomIn size={18} />
        </ActionIcon>
        <ActionIcon variant="default" size="lg" aria-label="Fit to window" onClick={() => setView(WHOLE)}>
          <IconZoomReset size={18} />
        </ActionIcon>
      </Group>
    </Box>
  );
}

interface ComparedProps {
  readonly image: ComparedImage;
  readonly view: View;
  readonly onView: (view: View) => void;
}

function Compared({ image: { name, task }, view, onView }: ComparedProps) {
  const { ref, handlers } = usePanZoom({ view, onView });
  const label = `${name}: ${task.model}`;
  return (
    <figure className="compared-image">
      <div ref={ref} className="lightbox-view" data-zoomed={view.zoom > 1} {...handlers}>
        <StoredImage
          url={task.images[0]?.url ?? ''}
          alt={label}
          missing="This image is no longer available."
          w="100%"
          h="100%"
          fit="contain"
          style={{ transform: transformOf(view) }}
        />
      </div>
      <Text component="figcaption" size="xs" c="dimmed" ta="center" pt={4}>
        {label}
      </Text>
    </figure>
  );
}
