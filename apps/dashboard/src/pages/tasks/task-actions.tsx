import { notifications } from '@mantine/notifications';
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { BusyButton } from '../../parts/busy.tsx';
import type { TaskDetail } from '../../api/types.ts';
import { RunAgain } from '../../parts/run-again.tsx';
import { IconPhoto } from '@tabler/icons-react';
import { draftOf, useDraft } from '../playground/draft.ts';
import { inputsOf } from '../playground/image-file.ts';

/** Repeats the request as a new task and opens its page. */
export function RunTaskAgain({ task }: { readonly task: TaskDetail }) {
  const navigate = useNavigate();
  return (
    <RunAgain
      task={task}
      label="Run again"
      onAccepted={(id) => {
        notifications.show({ color: 'green', message: 'New task created from the same request.' });
        void navigate({ to: '/tasks/$id', params: { id } });
      }}
    />
  );
}

/** Opens the request in the playground, to edit it before sending. */
export function OpenInPlayground({ task }: { readonly task: TaskDetail }) {
  const [{ settings }, change] = useDraft();
  const navigate = useNavigate();
  const open = useMutation({
    mutationFn: () => inputsOf(task),
    onError: () => {
      notifications.show({ color: 'red', message: 'The input images could not be loaded. Add them again.' });
    },
    onSettled: async (inputs = { files: [], overlay: null }) => {
      change({ ...draftOf(task, settings), ...inputs, compared: null, taskId: task.id });
      await navigate({ to: '/playground' });
    },
  });
  return (
    <BusyButton
      variant="default"
      leftSection={<IconPhoto size={16} />}
      busy={open.isPending}
      onClick={() => open.mutate()}
    >
      Open in playground
    </BusyButton>
  );
}
