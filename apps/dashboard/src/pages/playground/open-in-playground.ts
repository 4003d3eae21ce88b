import { notifications } from '@mantine/notifications';
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { TaskDetail } from '../../api/types.ts';
import { draftOf, useDraft } from './draft.ts';
import { fileOf, inputsOf } from './image-file.ts';
import { REFERENCE_SHAPE } from './settings.ts';

/** Reference images that the form can hold; models may accept fewer. */
export const MOST_REFERENCES = 16;

interface ChosenImage {
  readonly task: TaskDetail;
  readonly index: number;
}

function leftOut(count: number): string {
  const images = count === 1 ? '1 image was' : `${count} images were`;
  return `The playground holds ${MOST_REFERENCES} reference images. ${images} not added.`;
}

/** Fills in the playground's form from another page, and goes there. */
export function useOpenInPlayground() {
  const [{ settings, files }, change] = useDraft();
  const navigate = useNavigate();
  const go = () => navigate({ to: '/playground' });
  /** The same request, to edit it before sending. */
  const again = useMutation({
    mutationFn: inputsOf,
    onError: () => {
      notifications.show({ color: 'red', message: 'The input images could not be loaded. Add them again.' });
    },
    onSettled: async (inputs = { files: [], overlay: null }, _error, task: TaskDetail) => {
      change({ ...draftOf(task, settings), ...inputs, compared: null, taskId: task.id });
      await go();
    },
  });
  /** Images as references, after those that are there. */
  const reference = useMutation({
    mutationFn: async (chosen: readonly ChosenImage[]) =>
      await Promise.all(chosen.map(({ task, index }) => fileOf(task, index))),
    onError: () => {
      notifications.show({ color: 'red', message: 'An image could not be loaded. It may have expired.' });
    },
    onSuccess: async (added) => {
      const next = [...files, ...added].slice(0, MOST_REFERENCES);
      const left = files.length + added.length - next.length;
      if (left > 0) notifications.show({ color: 'red', message: leftOut(left) });
      change({
        files: next,
        dropped: 0,
        filled: null,
        ...(next[0] === files[0] ? {} : { overlay: null }),
        ...(files.length === 0 ? { settings: { ...settings, size: REFERENCE_SHAPE } } : {}),
      });
      await go();
    },
  });
  return { again: again.mutate, reference: reference.mutate, isPending: again.isPending || reference.isPending };
}
