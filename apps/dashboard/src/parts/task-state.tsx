import { Badge } from '@mantine/core';
import type { TaskRow } from '../api/types.ts';

const LOOKS = {
  queued: { label: 'Waiting', color: 'gray' },
  running: { label: 'Running', color: 'blue' },
  storing: { label: 'Storing', color: 'blue' },
  completed: { label: 'Completed', color: 'green' },
  failed: { label: 'Failed', color: 'red' },
  cancelled: { label: 'Cancelled', color: 'gray' },
} as const;

/** How a task is doing, in one word: its phase while it runs, how it ended after that. */
export function TaskState({ task: { status, phase } }: { readonly task: Pick<TaskRow, 'status' | 'phase'> }) {
  const { label, color } = LOOKS[status === 'pending' ? (phase === 'done' ? 'storing' : phase) : status];
  return (
    <Badge
      className="state"
      data-color={color}
      variant="light"
      color={color}
      tt="none"
      fw={600}
      radius="sm"
      miw="max-content"
    >
      {label}
    </Badge>
  );
}
