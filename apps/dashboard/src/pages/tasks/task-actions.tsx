import { notifications } from '@mantine/notifications';
import { useNavigate } from '@tanstack/react-router';
import { BusyButton } from '../../parts/busy.tsx';
import type { TaskDetail } from '../../api/types.ts';
import { RunAgain } from '../../parts/run-again.tsx';
import { IconPhoto } from '@tabler/icons-react';
import { useOpenInPlayground } from '../playground/open-in-playground.ts';

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
  const { again, isPending } = useOpenInPlayground();
  return (
    <BusyButton variant="default" leftSection={<IconPhoto size={16} />} busy={isPending} onClick={() => again(task)}>
      Open in playground
    </BusyButton>
  );
}
