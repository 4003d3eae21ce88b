/** The four public states. `processing` is never used: old clients do not know it. */
export const TASK_STATUSES = ['pending', 'completed', 'failed', 'cancelled'] as const;
export type TaskStatus = (typeof TASK_STATUSES)[number];

/** Phases within `pending`; every final status has the phase `done`. */
export const TASK_PHASES = ['queued', 'running', 'storing', 'done'] as const;
export type TaskPhase = (typeof TASK_PHASES)[number];

/**
 * The legal transitions. Each is one UPDATE whose WHERE names the state it leaves, so a final state never changes and
 * one of two racing writers matches zero rows. A running task goes back to `queued` when its worker is lost.
 */
const TASK_MOVES: Readonly<Record<TaskStatus, readonly TaskStatus[]>> = {
  pending: ['pending', 'completed', 'failed', 'cancelled'],
  completed: [],
  failed: [],
  cancelled: [],
};

/** Whether a task in this state can still change. */
export function isFinal(status: TaskStatus): boolean {
  return TASK_MOVES[status].length === 0;
}
