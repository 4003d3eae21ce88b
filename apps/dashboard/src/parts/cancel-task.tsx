import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation } from '@tanstack/react-query';
import { queryClient, taskQuery } from '../api/queries.ts';
import { send } from '../api/request.ts';
import type { TaskRow } from '../api/types.ts';
import { Confirm } from './confirm.tsx';

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
        save={cancel}
        onClose={ask.close}
      >
        No image will be delivered. If a provider has already started, it may finish anyway, and you may still be
        charged.
      </Confirm>
    </>
  );
}
