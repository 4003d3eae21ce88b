import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { queryClient } from '../../api/queries.ts';
import { quoteQuery } from '../../api/quotes.ts';
import { send } from '../../api/request.ts';
import type { AcceptedTask, TaskDetail } from '../../api/types.ts';
import { orderOf, quoteText } from '../../parts/quote.ts';
import { onSingleClick } from '../../parts/single-click.ts';
import { IconPhoto, IconRefresh } from '@tabler/icons-react';
import { draftOf, useDraft } from '../playground/draft.ts';
import { inputsOf } from '../playground/image-file.ts';

/** The same request as a new task, at today's price. */
export function RunAgain({ task }: { readonly task: TaskDetail }) {
  const terms = quoteText(useQuery(quoteQuery(orderOf(task))).data);
  const navigate = useNavigate();
  const again = useMutation({
    mutationFn: () => send<AcceptedTask>('POST', `/tasks/${task.id}/again`),
    onSuccess: async ({ task_id: id }) => {
      notifications.show({ color: 'green', message: 'New task created from the same request.' });
      void queryClient.invalidateQueries({ queryKey: ['tasks'] });
      await navigate({ to: '/tasks/$id', params: { id } });
    },
    onError: (error) => {
      notifications.show({ color: 'red', title: 'Could not run the task again', message: error.message });
    },
  });
  return (
    <Button
      variant="default"
      leftSection={<IconRefresh size={16} />}
      loading={again.isPending}
      {...onSingleClick(() => again.mutate())}
    >
      {terms === '' ? 'Run again' : `Run again · ${terms}`}
    </Button>
  );
}

/** The same request in the playground, where it can be changed before it is sent. */
export function OpenInPlayground({ task }: { readonly task: TaskDetail }) {
  const [{ settings }, change] = useDraft();
  const navigate = useNavigate();
  const open = useMutation({
    mutationFn: () => inputsOf(task),
    onError: () => {
      notifications.show({ color: 'red', message: 'The input images could not be loaded. Add them again.' });
    },
    onSettled: async (inputs = { files: [], mask: null }) => {
      change({ ...draftOf(task, settings), ...inputs, compared: null, taskId: task.id });
      await navigate({ to: '/playground' });
    },
  });
  return (
    <Button
      variant="default"
      leftSection={<IconPhoto size={16} />}
      loading={open.isPending}
      onClick={() => open.mutate()}
    >
      Open in playground
    </Button>
  );
}
