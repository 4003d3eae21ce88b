import type { TaskRow } from '../api/types.ts';
import { State } from './state.tsx';

const LOOKS = {
  held: { label: 'Needs approval', color: 'amber' },
  waiting: { label: 'Waiting', color: 'gray' },
  running: { label: 'Running', color: 'amber' },
  storing: { label: 'Saving', color: 'amber' },
  completed: { label: 'Completed', color: 'green' },
  failed: { label: 'Failed', color: 'red' },
  cancelled: { label: 'Canceled', color: 'gray' },
  deleted: { label: 'Deleted', color: 'gray' },
} as const;

type StatedTask = Pick<TaskRow, 'status' | 'phase'> & Partial<Pick<TaskRow, 'deleted_at'>>;

/** The state of a task: its phase while it runs, then its result. */
export function TaskState({ task }: { readonly task: StatedTask }) {
  return <State {...LOOKS[lookOf(task)]} />;
}

function lookOf({ status, phase, deleted_at: deletedAt = null }: StatedTask): keyof typeof LOOKS {
  if (deletedAt !== null) return 'deleted';
  if (status !== 'pending') return status;
  if (phase === 'held') return 'held';
  if (phase === 'queued') return 'waiting';
  return phase === 'running' ? 'running' : 'storing';
}
