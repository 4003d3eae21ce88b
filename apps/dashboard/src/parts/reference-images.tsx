import { ActionIcon, Box, Group, Image, Stack, Text, VisuallyHidden } from '@mantine/core';
import { Dropzone } from '@mantine/dropzone';
import { notifications } from '@mantine/notifications';
import { useEffect, useMemo, useRef, useState, type PointerEvent } from 'react';
import { IconBrush, IconGripVertical, IconUpload, IconX } from '@tabler/icons-react';
import { keyOf } from './file-keys.ts';

const TYPES = ['image/png', 'image/jpeg', 'image/webp', 'image/avif', 'image/gif'];
const MAX_BYTES = 50 * 1024 * 1024;

interface ReferenceImagesProps {
  readonly files: readonly File[];
  readonly most: number;
  /** What is painted over the first image. */
  readonly painted: 'mask' | 'markup' | undefined;
  readonly onChange: (files: readonly File[]) => void;
  /** Absent: the model accepts neither masks nor markup. */
  readonly onPaint?: (() => void) | undefined;
}

/** Images to start from: dropped, selected, or pasted anywhere on the page. */
export function ReferenceImages({ files, most, painted, onChange, onPaint }: ReferenceImagesProps) {
  const box = useRef<HTMLDivElement>(null);
  const removed = useRef<number | null>(null);
  // The focused button is gone: focuses the next image's, or the add button after the last one.
  useEffect(() => {
    if (removed.current === null) return;
    const buttons = box.current?.querySelectorAll<HTMLElement>('[data-removes]') ?? [];
    const next = buttons[Math.min(removed.current, buttons.length - 1)];
    removed.current = null;
    (next ?? box.current?.querySelector<HTMLElement>('[data-adds]'))?.focus();
  }, [files]);
  const moved = useRef<number | null>(null);
  const [said, setSaid] = useState('');
  // A moved element loses the focus.
  useEffect(() => {
    if (moved.current === null) return;
    const handle = box.current?.querySelectorAll<HTMLElement>('.drag-handle')[moved.current];
    moved.current = null;
    handle?.focus();
  }, [files]);
  const move = (from: number, to: number) => {
    const file = files[from];
    if (file === undefined || to < 0 || to >= files.length || from === to) return;
    moved.current = to;
    setSaid(`Now reference image ${to + 1} of ${files.length}`);
    onChange(files.filter((one) => one !== file).toSpliced(to, 0, file));
  };
  const latest = useRef(files);
  latest.current = files;
  const [reading, setReading] = useState(0);
  const add = async (added: readonly File[]) => {
    setReading((count) => count + 1);
    const isReadable = await Promise.all(added.map(decodes));
    setReading((count) => count - 1);
    const readable = added.filter((_, index) => isReadable[index]);
    const broken = added.filter((_, index) => !isReadable[index]);
    const next = [...latest.current, ...readable];
    if (broken.length > 0) {
      const names = broken.map(({ name }) => `“${name}”`);
      refuse(`${listed(names)} can’t be read as an image. The file may be damaged or incomplete.`);
    }
    if (next.length > most) refuse(tooMany(most, next.slice(most)));
    if (readable.length === 0) return;
    // Before the next render, because another addition may be as far.
    latest.current = next.slice(0, most);
    onChange(latest.current);
  };
  useEffect(() => {
    const paste = (event: ClipboardEvent) => {
      const pasted = [...(event.clipboardData?.files ?? [])].filter(({ type }) => TYPES.includes(type));
      if (pasted.length === 0) return;
      event.preventDefault();
      void add(pasted);
    };
    document.addEventListener('paste', paste);
    return () => document.removeEventListener('paste', paste);
  });
  return (
    <Stack gap={6} ref={box}>
      <Text size="sm" fw={600}>
        Reference images{' '}
        <Text span c="dimmed" size="sm">
          (optional)
        </Text>
      </Text>
      {files.length > 0 && (
        <Group gap="xs">
          {files.map((file, index) => (
            <Thumbnail
              key={keyOf(file)}
              file={file}
              place={index + 1}
              onMove={files.length > 1 ? (to) => move(index, to) : undefined}
              onPaint={index === 0 ? onPaint : undefined}
              painted={index === 0 ? painted : undefined}
              onRemove={() => {
                removed.current = index;
                onChange(files.filter((_, other) => other !== index));
              }}
            />
          ))}
        </Group>
      )}
      <VisuallyHidden role="status">{said}</VisuallyHidden>
      {files.length < most && (
        <Dropzone
          accept={TYPES}
          maxSize={MAX_BYTES}
          data-adds
          inputProps={{ 'aria-label': 'Choose reference images' }}
          loading={reading > 0}
          onDrop={(dropped) => void add(dropped)}
          onReject={() => refuse('Only PNG, JPEG, WebP, AVIF, and GIF images up to 50 MB are supported.')}
          p="sm"
          radius="md"
        >
          <Group gap="sm" c="dimmed" justify="center" wrap="nowrap">
            <IconUpload size={18} />
            <Text size="sm">Drop images here, paste them, or choose files</Text>
          </Group>
        </Dropzone>
      )}
    </Stack>
  );
}

/** Whether the browser can show it; a provider is sure to refuse a file that is no image. */
async function decodes(file: File): Promise<boolean> {
  try {
    (await createImageBitmap(file)).close();
    return true;
  } catch {
    return false;
  }
}

function refuse(message: string): void {
  notifications.show({ color: 'red', message });
}

/** "The model takes at most 16 reference images. “a.png” was not added." */
function tooMany(most: number, left: readonly File[]): string {
  const limit = `The model takes at most ${most} reference image${most === 1 ? '' : 's'}.`;
  const what = left.length <= 3 ? listed(left.map(({ name }) => `“${name}”`)) : `${left.length} files`;
  return `${limit} ${what} ${left.length === 1 ? 'was' : 'were'} not added.`;
}

function listed(texts: readonly string[]): string {
  return new Intl.ListFormat('en').format(texts);
}

interface ThumbnailProps {
  readonly file: File;
  /** Position, from 1. */
  readonly place: number;
  readonly painted: 'mask' | 'markup' | undefined;
  readonly onPaint?: (() => void) | undefined;
  readonly onRemove: () => void;
  /** Moves it to another position, from 0; absent: it is the only one. */
  readonly onMove?: ((to: number) => void) | undefined;
}

function Thumbnail({ file, place, painted, onPaint, onRemove, onMove }: ThumbnailProps) {
  const url = useMemo(() => URL.createObjectURL(file), [file]);
  const [isDragged, setDragged] = useState(false);
  const drop = ({ clientX, clientY, currentTarget }: PointerEvent) => {
    if (isDragged) onMove?.(placeAt(clientX, clientY, currentTarget.closest('[data-reference]')));
    setDragged(false);
  };
  return (
    <Box pos="relative" data-reference {...(isDragged && { opacity: 0.55 })}>
      <Image src={url} alt={`Reference image ${place}`} title={file.name} w={76} h={76} radius="md" fit="cover" />
      <ActionIcon
        size={24}
        radius="xl"
        variant="default"
        pos="absolute"
        top={-6}
        right={-6}
        data-removes
        aria-label={`Remove reference image ${place}`}
        onClick={onRemove}
      >
        <IconX size={12} />
      </ActionIcon>
      {onMove !== undefined && (
        <ActionIcon
          size={24}
          variant="default"
          pos="absolute"
          bottom={4}
          left={4}
          className="drag-handle"
          aria-label={`Drag reference image ${place}, or move it with the arrow keys`}
          onPointerDown={({ currentTarget, pointerId }) => {
            currentTarget.setPointerCapture(pointerId);
            setDragged(true);
          }}
          onPointerUp={drop}
          onPointerCancel={() => setDragged(false)}
          onKeyDown={(event) => {
            if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return;
            event.preventDefault();
            onMove(place - 1 + (event.key === 'ArrowLeft' ? -1 : 1));
          }}
        >
          <IconGripVertical size={14} />
        </ActionIcon>
      )}
      {onPaint !== undefined && (
        <ActionIcon
          size={24}
          variant={painted === undefined ? 'default' : 'filled'}
          pos="absolute"
          bottom={4}
          right={4}
          aria-label={painted === undefined ? 'Paint over image' : `Edit ${painted}`}
          onClick={onPaint}
        >
          <IconBrush size={14} />
        </ActionIcon>
      )}
    </Box>
  );
}

/** The position among its siblings of the reference image that is closest to a point of the viewport. */
function placeAt(x: number, y: number, dragged: Element | null): number {
  const all = [...(dragged?.parentElement?.querySelectorAll('[data-reference]') ?? [])];
  const distances = all.map((one) => {
    const { left, top, width, height } = one.getBoundingClientRect();
    return Math.hypot(left + width / 2 - x, top + height / 2 - y);
  });
  return distances.indexOf(Math.min(...distances));
}
