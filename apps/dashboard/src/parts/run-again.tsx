import type { ButtonProps } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { IconRefresh } from '@tabler/icons-react';
import { queryClient } from '../api/queries.ts';
import { quoteQuery } from '../api/quotes.ts';
import { newIdempotencyKey, send } from '../api/request.ts';
import type { AcceptedTask, TaskDetail } from '../api/types.ts';
import { BusyButton } from './busy.tsx';
import { orderOf, quoteText } from './quote.ts';
import { onSingleClick } from './single-click.ts';

interface RunAgainProps extends Pick<ButtonProps, 'size'> {
  readonly task: TaskDetail;
  readonly label: string;
  readonly onAccepted: (id: string) => void;
}

/** Repeats the order as a new task, with its current price. */
export function RunAgain({ task, label, onAccepted, ...look }: RunAgainProps) {
  const terms = quoteText(useQuery(quoteQuery(orderOf(task))).data);
  const [accepted, setAccepted] = useState(0);
  // If a response is lost, the key stays the same, so sending again creates no second task.
  const idempotencyKey = useMemo(newIdempotencyKey, [task.id, accepted]);
  const again = useMutation({
    mutationFn: () => send<AcceptedTask>('POST', `/tasks/${task.id}/again`, undefined, idempotencyKey),
    onSuccess: ({ task_id: id }) => {
      setAccepted(accepted + 1);
      void queryClient.invalidateQueries({ queryKey: ['tasks'] });
      onAccepted(id);
    },
    onError: ({ message }) => {
      notifications.show({ color: 'red', title: 'Could not run the task again', message });
    },
  });
  return (
    <BusyButton
      variant="default"
      leftSection={<IconRefresh size={16} />}
      {...look}
      busy={again.isPending}
      {...onSingleClick(() => again.mutate())}
    >
      {terms === '' ? label : `${label} · ${terms}`}
    </BusyButton>
  );
}
