import { Button, Group, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconDownload, IconPhotoPlus } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { taskQuery, useMay } from '../../api/queries.ts';
import { addressOf } from '../../api/request.ts';
import { BusyButton } from '../../parts/busy.tsx';
import { DeleteTasks } from '../../parts/delete-tasks.tsx';
import { canBeReference } from '../playground/image-file.ts';
import { MOST_REFERENCES, useOpenInPlayground } from '../playground/open-in-playground.ts';

interface SelectionBarProps {
  /** Ids of tasks, in the order of selection. */
  readonly ids: readonly string[];
  readonly onClear: () => void;
}

/** What can be done with the selected images. */
export function SelectionBar({ ids, onClear }: SelectionBarProps) {
  const mayUse = useMay()('tasks.create');
  const queries = useQueryClient();
  const { reference, isPending } = useOpenInPlayground();
  const download = useMutation({
    mutationFn: async () => {
      const address = addressOf('/tasks/images.zip', { ids: ids.join(',') });
      // A link can't show why a download is refused.
      const { ok, status } = await fetch(address, { method: 'HEAD' });
      if (!ok) throw new Error(REFUSALS[status] ?? 'Try again in a moment.');
      const link = document.createElement('a');
      link.href = address;
      link.download = '';
      link.click();
    },
    onError: ({ message }) => notifications.show({ color: 'red', title: 'Could not download the images', message }),
  });
  const take = useMutation({
    mutationFn: async () => await Promise.all(ids.map((id) => queries.fetchQuery(taskQuery(id)))),
    onError: ({ message }) => notifications.show({ color: 'red', title: 'Could not load the images', message }),
    onSuccess: (tasks) => {
      const usable = tasks.map((task) => ({ task, index: 0 })).filter(({ task }) => canBeReference(task, 0));
      if (usable.length > 0) reference(usable);
      if (usable.length < tasks.length) {
        notifications.show({
          color: 'red',
          message: `${tasks.length - usable.length} of them can’t be reference images: only PNG, JPEG, and WebP images that are still stored can.`,
        });
      }
    },
  });
  const isTooMany = ids.length > MOST_REFERENCES;
  return (
    <Group className="selection-bar" component="section" aria-label="Selection" justify="space-between" gap="xs">
      <Text size="sm" fw={600} role="status">
        {ids.length === 0 ? '' : `${ids.length} selected`}
      </Text>
      <Group gap="xs">
        <BusyButton
          size="sm"
          leftSection={<IconDownload size={16} />}
          busy={download.isPending}
          onClick={() => download.mutate()}
        >
          Download
        </BusyButton>
        {mayUse && (
          <BusyButton
            size="sm"
            variant="default"
            leftSection={<IconPhotoPlus size={16} />}
            busy={take.isPending || isPending}
            disabled={isTooMany}
            {...(isTooMany && { title: `A request takes at most ${MOST_REFERENCES} reference images.` })}
            onClick={() => take.mutate()}
          >
            Use as references
          </BusyButton>
        )}
        {mayUse && <DeleteTasks ids={ids} label="Delete" onDeleted={onClear} />}
        <Button size="sm" variant="subtle" color="gray" onClick={onClear}>
          Clear
        </Button>
      </Group>
    </Group>
  );
}

const REFUSALS: Readonly<Record<number, string>> = {
  400: 'They have more than 2 GB together. Select fewer images.',
  404: 'Some of them are no longer available. Load the page again.',
};
