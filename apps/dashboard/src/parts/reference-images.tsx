import { ActionIcon, Box, Group, Image, Stack, Text } from '@mantine/core';
import { Dropzone } from '@mantine/dropzone';
import { notifications } from '@mantine/notifications';
import { useEffect, useMemo, useRef } from 'react';
import { IconBrush, IconUpload, IconX } from '@tabler/icons-react';

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
  useEffect(() => {
    const paste = (event: ClipboardEvent) => {
      const pasted = [...(event.clipboardData?.files ?? [])].filter(({ type }) => TYPES.includes(type));
      if (pasted.length === 0) return;
      event.preventDefault();
      onChange([...files, ...pasted].slice(0, most));
    };
    document.addEventListener('paste', paste);
    return () => document.removeEventListener('paste', paste);
  }, [files, most, onChange]);
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
              key={`${file.name}-${index}`}
              file={file}
              place={index + 1}
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
      {files.length < most && (
        <Dropzone
          accept={TYPES}
          maxSize={MAX_BYTES}
          data-adds
          inputProps={{ 'aria-label': 'Choose reference images' }}
          onDrop={(dropped) => onChange([...files, ...dropped].slice(0, most))}
          onReject={() => {
            notifications.show({
              color: 'red',
              message: 'Only PNG, JPEG, WebP, AVIF, and GIF images up to 50 MB are supported.',
            });
          }}
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

interface ThumbnailProps {
  readonly file: File;
  /** Position, from 1. */
  readonly place: number;
  readonly painted: 'mask' | 'markup' | undefined;
  readonly onPaint?: (() => void) | undefined;
  readonly onRemove: () => void;
}

function Thumbnail({ file, place, painted, onPaint, onRemove }: ThumbnailProps) {
  const url = useMemo(() => URL.createObjectURL(file), [file]);
  return (
    <Box pos="relative">
      <Image src={url} alt={`Reference image ${place}`} title={file.name} w={76} h={76} radius="md" fit="cover" />
      <ActionIcon
        size="sm"
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
      {onPaint !== undefined && (
        <ActionIcon
          size="sm"
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
