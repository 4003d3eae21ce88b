import { ActionIcon, Box, Button, Group, SimpleGrid } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconCheck, IconDownload, IconLink, IconZoomIn } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import type { TaskDetail } from '../api/types.ts';
import { useCopy } from './copy-text.ts';
import { fullTime } from './format.ts';
import { StoredImage } from './stored-image.tsx';

interface ImageGridProps {
  readonly task: TaskDetail;
  /** Shown in place of a missing image. */
  readonly missing: string;
  /** Opens a larger view. */
  readonly onOpen: (index: number) => void;
  /** Further actions for an image. */
  readonly actions?: (index: number) => ReactNode;
}

/** The images of a task side by side, each with buttons to open it, copy its link and save it. */
export function ImageGrid({ task, missing, onOpen, actions }: ImageGridProps) {
  const { images, prompt } = task;
  return (
    <SimpleGrid cols={2} spacing="sm">
      {images.map((image, index) => {
        const { url } = image;
        const place = `${index + 1} of ${images.length}`;
        return (
          <Box key={index} pos="relative">
            <StoredImage
              url={url}
              alt={`${prompt} (${place})`}
              missing={missing}
              onClick={() => onOpen(index)}
              style={{ cursor: 'zoom-in' }}
              radius="md"
              fit="contain"
              className="image-ground"
            />
            <Group gap={6} pos="absolute" bottom={8} right={8}>
              {actions?.(index)}
              <ActionIcon variant="default" aria-label={`View image ${place}`} onClick={() => onOpen(index)}>
                <IconZoomIn size={16} />
              </ActionIcon>
              <CopyLink image={image} place={place} />
              <ActionIcon
                component="a"
                href={url}
                download={image.file_name}
                aria-label={`Download image ${place}`}
                variant="default"
              >
                <IconDownload size={16} />
              </ActionIcon>
            </Group>
          </Box>
        );
      })}
    </SimpleGrid>
  );
}

interface OneImageProps {
  readonly task: TaskDetail;
  readonly compact?: boolean;
}

/** Shares and saves the only image of a task; in a grid, each image has its own buttons. */
export function TakeImage({ task, compact = false }: OneImageProps) {
  const [image, ...others] = task.images;
  if (image === undefined || others.length > 0) return null;
  return (
    <>
      <CopyLink image={image} compact={compact} />
      <Button
        component="a"
        href={image.url}
        download={image.file_name}
        leftSection={<IconDownload size={compact ? 14 : 16} />}
        {...(compact ? { variant: 'default', size: 'xs' } : {})}
      >
        Download
      </Button>
    </>
  );
}

interface CopyLinkProps {
  readonly image: TaskDetail['images'][number];
  /** Position such as "2 of 4"; absent: the only image. */
  readonly place?: string;
  readonly compact?: boolean;
}

/** Copies a link that works without a sign-in, and says how long it works. */
function CopyLink({ image: { url, url_expires_at: end }, place, compact = false }: CopyLinkProps) {
  const { copied, copy } = useCopy(new URL(url, location.origin).href, () =>
    notifications.show({
      color: 'green',
      title: 'Link copied',
      message: `Anyone with the link can view the image until ${fullTime(end)}.`,
    }),
  );
  const Icon = copied ? IconCheck : IconLink;
  if (place !== undefined)
    return (
      <ActionIcon variant="default" aria-label={`Copy link to image ${place}`} onClick={copy}>
        <Icon size={16} />
      </ActionIcon>
    );
  return (
    <Button
      variant="default"
      leftSection={<Icon size={compact ? 14 : 16} />}
      onClick={copy}
      {...(compact ? { size: 'xs' } : {})}
    >
      Copy link
    </Button>
  );
}
