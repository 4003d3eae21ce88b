/** The four public states. `processing` is never used: old clients do not know it. */
export const TASK_STATUSES = ['pending', 'completed', 'failed', 'cancelled'] as const;
export type TaskStatus = (typeof TASK_STATUSES)[number];

/** Phases within `pending`; every final status has the phase `done`. */
export const TASK_PHASES = ['queued', 'running', 'storing', 'done'] as const;
export type TaskPhase = (typeof TASK_PHASES)[number];

/** Whether a task in this state can never change again: only `pending` has transitions, each of them one UPDATE. */
export function isFinal(status: TaskStatus): boolean {
  return status !== 'pending';
}
