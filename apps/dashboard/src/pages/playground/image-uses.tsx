import { ActionIcon, Button, Group, Menu } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconBrush, IconDotsVertical, IconPhotoPlus, IconSparkles } from '@tabler/icons-react';
import type { TaskDetail } from '../../api/types.ts';
import { draftOf, formOf, type ChangeDraft, type Draft } from './draft.ts';
import { canBeReference, fileOf } from './image-file.ts';
import { ORDER_ID } from './order-button.tsx';
import { PROMPT_ID } from './prompt-field.tsx';
import { REFERENCE_SHAPE, settingsOf, type Choices, type ImageSettings } from './settings.ts';

/** Number of variations, if the model can generate several at once. */
const VARIATIONS = 4;

/** Ways to use an image: each fills in the draft of the next order. */
export interface ImageUses {
  readonly onReuse: (task: TaskDetail) => void;
  /** Absent if the model accepts no reference images. */
  readonly onContinue?: (task: TaskDetail, index: number) => void;
  readonly onReference?: (task: TaskDetail, index: number) => void;
  readonly onVary?: (task: TaskDetail, index: number) => void;
}

/** `settings` are the current choices. Each use can be undone. */
export function imageUses(draft: Draft, settings: ImageSettings, choices: Choices, change: ChangeDraft): ImageUses {
  const fill = (changes: Partial<Draft>, words: string, next: string) => {
    change({ ...changes, filled: { words, before: formOf(draft) } });
    focusOn(next);
  };
  const onReuse = (task: TaskDetail) => fill(draftOf(task, settings), 'Prompt and settings filled in.', PROMPT_ID);
  if (choices.mostReferences === 0) return { onReuse };
  const withImage = (task: TaskDetail, index: number, work: (file: File) => void) => {
    void fileOf(task, index).then(work, () =>
      notifications.show({ color: 'red', message: 'The image could not be loaded. It may have expired.' }),
    );
  };
  const likeIt = { ...settings, size: REFERENCE_SHAPE };
  const alone = (file: File) => ({ files: [file], overlay: null, varied: null, continued: null, dropped: 0 });
  return {
    onReuse,
    onContinue: (task, index) =>
      withImage(task, index, (file) => {
        const words = 'This image is now the reference. Describe what to change in the prompt.';
        const continued = { file, taskId: task.id };
        fill({ ...alone(file), continued, prompt: '', settings: { ...likeIt, n: 1 } }, words, PROMPT_ID);
      }),
    onReference: (task, index) =>
      withImage(task, index, (file) => {
        if (draft.files.length === 0) {
          fill({ ...alone(file), settings: likeIt }, 'Image added to the references.', PROMPT_ID);
          return;
        }
        const files = [...draft.files, file].slice(-choices.mostReferences);
        const isFull = files.length <= draft.files.length;
        const words = `Image added to the references${isFull ? '. The first one was removed, because there can be no more' : ''}.`;
        fill({ files, ...(files[0] === draft.files[0] ? {} : { overlay: null }) }, words, PROMPT_ID);
      }),
    onVary: (task, index) =>
      withImage(task, index, (file) => {
        const n = Math.min(VARIATIONS, choices.mostImages);
        const changes = {
          ...alone(file),
          varied: file,
          prompt: task.prompt,
          settings: { ...settingsOf(task, settings), size: REFERENCE_SHAPE, n },
        };
        const words = `Image, prompt, and settings filled in for ${n === 1 ? 'a variation' : `${n} variations`}. Nothing is generated yet.`;
        fill(changes, words, ORDER_ID);
      }),
  };
}

/** Focuses the next field, once the form has rendered what was filled in. */
export function focusOn(id: string): void {
  setTimeout(() => {
    const field = document.getElementById(id);
    field?.scrollIntoView({ block: id === ORDER_ID ? 'end' : 'center' });
    field?.focus({ preventScroll: true });
  });
}

interface UsesOfProps {
  readonly task: TaskDetail;
  readonly index: number;
  readonly uses: ImageUses;
}

/** The uses of an image, starting with those that need the image itself. */
function usesOf({ task, index, uses: { onContinue, onReference, onVary } }: UsesOfProps) {
  if (!canBeReference(task, index)) return [];
  return [
    { name: 'Continue from this image', icon: <IconBrush size={15} />, work: onContinue },
    { name: 'Use as reference', icon: <IconPhotoPlus size={15} />, work: onReference },
    { name: 'Variations', icon: <IconSparkles size={15} />, work: onVary },
  ].flatMap(({ work, ...use }) => (work === undefined ? [] : [{ ...use, onClick: () => work(task, index) }]));
}

/** Buttons below the only image of a task. */
export function UseButtons(props: UsesOfProps) {
  const uses = usesOf(props);
  if (uses.length === 0) return null;
  return (
    <Group gap="xs">
      {uses.map(({ name, icon, onClick }) => (
        <Button key={name} variant="default" size="xs" leftSection={icon} onClick={onClick}>
          {name}
        </Button>
      ))}
    </Group>
  );
}

/** Menu on one of several images. */
export function UseMenu(props: UsesOfProps) {
  const uses = usesOf(props);
  if (uses.length === 0) return null;
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="default" aria-label={`Use image ${props.index + 1} of ${props.task.images.length}`}>
          <IconDotsVertical size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {uses.map(({ name, icon, onClick }) => (
          <Menu.Item key={name} leftSection={icon} onClick={onClick}>
            {name}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
