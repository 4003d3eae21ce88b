import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { IconTrash } from '@tabler/icons-react';
import { queryClient, taskQuery } from '../api/queries.ts';
import { send } from '../api/request.ts';
import { Confirm } from './confirm.tsx';
import { useSave } from './use-save.ts';

/** Tasks of one request. */
const BATCH = 100;

interface DeleteTasksProps {
  readonly ids: readonly string[];
  readonly label: string;
  readonly size?: 'xs' | 'sm' | 'compact-sm';
  /** Some of them have not ended. */
  readonly arePending?: boolean;
  readonly onDeleted?: () => void;
}

/** Deletes tasks for good, after a confirmation that says what stays. */
export function DeleteTasks({ ids, label, size = 'sm', arePending = false, onDeleted }: DeleteTasksProps) {
  const [asking, ask] = useDisclosure(false);
  const what = ids.length === 1 ? 'this task' : `${ids.length.toLocaleString('en')} tasks`;
  const remove = useSave({
    send: async () => {
      for (let from = 0; from < ids.length; from += BATCH)
        await send('POST', '/tasks/delete', { tasks: ids.slice(from, from + BATCH) });
    },
    after: () => {
      ask.close();
      notifications.show({
        color: 'green',
        message: ids.length === 1 ? 'Task deleted.' : `${ids.length.toLocaleString('en')} tasks deleted.`,
      });
      void queryClient.invalidateQueries({ queryKey: ['tasks'] });
      void Promise.all(ids.map((id) => queryClient.invalidateQueries(taskQuery(id))));
      onDeleted?.();
    },
  });
  return (
    <>
      <Button
        variant="default"
        size={size}
        {...(size === 'compact-sm' && { h: 34 })}
        leftSection={<IconTrash size={16} />}
        onClick={ask.open}
      >
        {label}
      </Button>
      <Confirm
        opened={asking}
        title={`Delete ${what}?`}
        action={ids.length === 1 ? 'Delete task' : 'Delete tasks'}
        save={remove}
        onClose={ask.close}
      >
        <WhatStays arePending={arePending} />
      </Confirm>
    </>
  );
}

/** What a deletion erases, and what it leaves. */
export function WhatStays({ arePending }: { readonly arePending: boolean }) {
  return (
    <>
      Prompts, images, reference images, and links to them are erased, and can’t be brought back.{' '}
      {arePending && 'What has not ended is canceled first; if a provider has already started, you may be charged. '}
      What stays: the time, the model, the key, and the cost, for usage and billing. Backups keep their copies until
      they expire.
    </>
  );
}
