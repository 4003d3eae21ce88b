import {
  Anchor,
  AspectRatio,
  Box,
  Button,
  Center,
  Code,
  Group,
  Image,
  Progress,
  Stack,
  Text,
  VisuallyHidden,
} from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import type { TaskDetail } from '../../api/types.ts';
import { dimensions, duration, money } from '../../parts/format.ts';
import { IconPencil, IconPhoto, IconZoomIn } from '@tabler/icons-react';
import { ImageGrid, TakeImage } from '../../parts/image-grid.tsx';
import { Lightbox } from '../../parts/lightbox.tsx';
import { Mark } from '../../parts/mark.tsx';
import { Empty, Trouble } from '../../parts/page.tsx';
import { RunAgain } from '../../parts/run-again.tsx';
import { SandboxMark, StoredImage } from '../../parts/stored-image.tsx';
import { Attempt, isWaiting, waitText } from '../../parts/attempt.tsx';
import { DecideTask } from '../../parts/decide-task.tsx';
import { Cancel } from '../../parts/cancel-task.tsx';
import { TaskError } from '../../parts/task-error.tsx';
import { LightboxUses } from './lightbox-uses.tsx';
import { UseButtons, UseMenu, type ImageUses } from './image-uses.tsx';

const GONE = 'This image is no longer available.';

interface ImageResultProps {
  readonly task: TaskDetail | undefined;
  readonly error: Error | null;
  readonly isOrdered: boolean;
  /** URL of the newest partial image. */
  readonly partial: string | null;
  /** The size of the next order. */
  readonly size: string;
  /** Ways to use the image for the next order. */
  readonly uses: ImageUses;
  /** A failed order was repeated as this task. */
  readonly onAgain: (id: string) => void;
  /** Labels next to its figures. */
  readonly marks?: readonly string[];
}

/** Shows the empty state, the progress, then the image, all in the shape of the image. */
export function ImageResult({ onAgain, ...shown }: ImageResultProps) {
  const place = useRef<HTMLDivElement>(null);
  // The focused button disappears with the failure, so the focus moves to the result.
  const follow = (id: string) => {
    onAgain(id);
    place.current?.focus({ preventScroll: true });
  };
  return (
    <Box ref={place} tabIndex={-1} role="group" aria-label="Result" className="result">
      <Shown onAgain={follow} {...shown} />
    </Box>
  );
}

function Shown({ task, error, isOrdered, partial, size, uses, onAgain, marks = [] }: ImageResultProps) {
  const [viewed, setViewed] = useState<number | null>(null);
  if (error !== null) return <Trouble error={error} doing="Could not load the task" />;
  if (!isOrdered)
    return (
      <Box className="surface">
        <Empty icon={<IconPhoto size={40} />} title="Your image will appear here">
          Enter a prompt and choose an aspect ratio. While the image is generated, you see its queue position and a
          preview.
        </Empty>
      </Box>
    );
  if (task?.status === 'failed' || task?.status === 'cancelled')
    return <Ended task={task} uses={uses} onAgain={onAgain} />;
  const image = task?.images[0];
  return (
    <Box className="surface" p="md">
      <VisuallyHidden role="status">{saidOf(task)}</VisuallyHidden>
      <Stack gap="sm">
        {task?.sandbox === true && task.images.length > 0 && (
          <Group gap="xs">
            <SandboxMark />
            <Text size="sm" c="dimmed">
              Drawn by the built-in sandbox, not by a model.
            </Text>
          </Group>
        )}
        {task !== undefined && task.images.length > 1 ? (
          <ImageGrid
            task={task}
            missing={GONE}
            onOpen={setViewed}
            actions={(index) => <UseMenu task={task} index={index} uses={uses} />}
          />
        ) : (
          <AspectRatio
            ratio={ratioOf(task?.sizes?.requested ?? task?.size ?? size)}
            maw={`calc(62vh * ${ratioOf(task?.size ?? size)})`}
            mx="auto"
            w="100%"
          >
            {image !== undefined ? (
              <StoredImage
                url={image.url}
                alt={task?.prompt ?? ''}
                missing={GONE}
                radius="md"
                fit="contain"
                className="image-ground"
                onClick={() => setViewed(0)}
                style={{ cursor: 'zoom-in' }}
              />
            ) : task?.status === 'completed' ? (
              <Center c="dimmed">{GONE}</Center>
            ) : partial !== null ? (
              <Image src={partial} alt="Partial image" radius="md" fit="contain" />
            ) : (
              <Box className="wait-shimmer" bdrs="md" />
            )}
          </AspectRatio>
        )}
        {task === undefined || task.status === 'pending' ? (
          <Waiting task={task} />
        ) : (
          <Finished task={task} uses={uses} marks={marks} onView={() => setViewed(0)} />
        )}
      </Stack>
      {task !== undefined && (
        <Lightbox
          images={task.images.map((_, index) => ({ taskId: task.id, index }))}
          shown={viewed}
          onShow={setViewed}
          onClose={() => setViewed(null)}
          uses={(shown, index) => (
            <LightboxUses
              task={shown}
              index={index}
              onReference={uses.onReference}
              onAgain={uses.onReuse}
              onUsed={() => setViewed(null)}
            />
          )}
        />
      )}
    </Box>
  );
}

/** What screen readers announce; the rest of the result would be read with all of its buttons. */
function saidOf(task: TaskDetail | undefined): string {
  if (task?.status === 'completed')
    return task.images.length > 1 ? `${task.images.length} images ready` : 'Image ready';
  if (task === undefined) return 'The image was accepted';
  return isWaiting(task) ? waitText(task) : 'The image is being generated';
}

function Waiting({ task }: { readonly task: TaskDetail | undefined }) {
  return (
    <Stack gap={6}>
      <Progress value={Math.max(task?.progress ?? 0, 3)} animated aria-label="Image progress" />
      <Group justify="space-between" gap="xs">
        {task === undefined ? <Text size="sm">Accepted</Text> : <Attempt task={task} />}
        {task !== undefined && (
          <Group gap="xs">
            <DecideTask task={task} />
            <Cancel task={task} />
          </Group>
        )}
      </Group>
    </Stack>
  );
}

interface ReuseProps extends Pick<ImageResultProps, 'uses'> {
  readonly task: TaskDetail;
}

interface FinishedProps extends ReuseProps {
  readonly marks: readonly string[];
  readonly onView: () => void;
}

function Finished({ task, uses, marks, onView }: FinishedProps) {
  const image = task.images[0];
  const took = task.finished_at === null ? undefined : Date.parse(task.finished_at) - Date.parse(task.created_at);
  const facts = [
    image?.size === undefined ? undefined : dimensions(image.size),
    task.sizes !== undefined && task.sizes.received !== image?.size
      ? `received as ${dimensions(task.sizes.received)}`
      : undefined,
    took === undefined ? undefined : duration(took),
    task.cost?.amount === undefined || task.cost.amount === null ? undefined : money(task.cost),
  ].filter((fact) => fact !== undefined);
  return (
    <Stack gap="sm">
      <Group justify="space-between" gap="xs">
        <Group gap="xs">
          <Text size="sm" c="dimmed" className="numbers">
            {facts.join(' · ')}
          </Text>
          {marks.map((mark) => (
            <Mark key={mark}>{mark}</Mark>
          ))}
        </Group>
        <Group gap="md">
          <Reuse task={task} uses={uses} />
          <Anchor component={Link} to={`/tasks/${task.id}`} size="sm">
            Details
          </Anchor>
        </Group>
      </Group>
      {task.images.length === 1 && (
        <Group justify="space-between" gap="xs">
          <UseButtons task={task} index={0} uses={uses} />
          <Group gap="xs">
            <Button variant="default" size="xs" leftSection={<IconZoomIn size={14} />} onClick={onView}>
              View
            </Button>
            <TakeImage task={task} compact />
          </Group>
        </Group>
      )}
    </Stack>
  );
}

function Ended({ task, uses, onAgain }: ReuseProps & Pick<ImageResultProps, 'onAgain'>) {
  return (
    <Stack gap="sm">
      <TaskError task={task} />
      <Group gap="md">
        {task.status === 'failed' &&
          task.retried_as === null &&
          // The same prompt would be blocked again.
          (task.error?.code === 'moderation_blocked' ? (
            <Button
              variant="default"
              size="xs"
              leftSection={<IconPencil size={14} />}
              onClick={() => uses.onReuse(task)}
            >
              Edit prompt
            </Button>
          ) : (
            <RunAgain task={task} label="Try again" size="xs" onAccepted={onAgain} />
          ))}
        <Text size="sm" c="dimmed">
          Task <Code>{task.id}</Code>
        </Text>
        <Reuse task={task} uses={uses} />
        <Anchor component={Link} to={`/tasks/${task.id}`} size="sm">
          Details
        </Anchor>
      </Group>
    </Stack>
  );
}

function Reuse({ task, uses }: ReuseProps) {
  return (
    <Anchor component="button" type="button" size="sm" onClick={() => uses.onReuse(task)}>
      Reuse settings
    </Anchor>
  );
}

/** The ratio of "16:9" or "2048x1152"; 1 if unknown. */
function ratioOf(size: string): number {
  const [width, height] = size.split(/[:x]/).map(Number);
  const ratio = (width ?? 1) / (height ?? 1);
  return Number.isFinite(ratio) && ratio > 0 ? ratio : 1;
}
