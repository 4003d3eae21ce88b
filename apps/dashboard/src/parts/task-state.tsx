import type { TaskRow } from '../api/types.ts';
import { State } from './state.tsx';

const LOOKS = {
  queued: { label: 'Queued', color: 'gray' },
  running: { label: 'Running', color: 'blue' },
  storing: { label: 'Saving', color: 'blue' },
  completed: { label: 'Completed', color: 'green' },
  failed: { label: 'Failed', color: 'red' },
  cancelled: { label: 'Canceled', color: 'gray' },
} as const;

/** How a task is doing: its phase while it runs, how it ended after that. */
export function TaskState({ task: { status, phase } }: { readonly task: Pick<TaskRow, 'status' | 'phase'> }) {
  return <State {...LOOKS[status === 'pending' ? (phase === 'done' ? 'storing' : phase) : status]} />;
}
