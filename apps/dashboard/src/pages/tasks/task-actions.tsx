import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { queryClient, taskQuery } from '../../api/queries.ts';
import { quoteQuery } from '../../api/quotes.ts';
import { send } from '../../api/request.ts';
import type { AcceptedTask, TaskDetail, TaskRow } from '../../api/types.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { orderOf, quoteText } from '../../parts/quote.ts';
import { onSingleClick } from '../../parts/single-click.ts';
import { IconRefresh } from '@tabler/icons-react';

export function Cancel({ task }: { readonly task: TaskRow }) {
  const [asking, ask] = useDisclosure(false);
  const cancel = useMutation({
    mutationFn: () => send('POST', `/tasks/${task.id}/cancel`),
    onSuccess: async () => {
      ask.close();
      await Promise.all([
        queryClient.invalidateQueries(taskQuery(task.id)),
        queryClient.invalidateQueries({ queryKey: ['tasks'] }),
      ]);
    },
  });
  return (
    <>
      <Button variant="default" size="xs" onClick={ask.open}>
        Cancel
      </Button>
      <Confirm
        opened={asking}
        title="Cancel this task?"
        action="Cancel task"
        keep="Keep task"
        busy={cancel.isPending}
        error={cancel.error}
        onConfirm={() => cancel.mutate()}
        onClose={ask.close}
      >
        No image will be delivered. If a provider has already started, it may finish anyway, and you may still be
        charged.
      </Confirm>
    </>
  );
}

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
