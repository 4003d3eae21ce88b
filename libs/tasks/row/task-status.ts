/** The four public states. `processing` is never used: old clients do not know it. */
export const TASK_STATUSES = ['pending', 'completed', 'failed', 'cancelled'] as const;
export type TaskStatus = (typeof TASK_STATUSES)[number];

/**
 * Phases within `pending`; every final status has the phase `done`. A task in `held` waits for its approval: it has a row
 * and a reserve, but no slot, no turn and no job.
 */
export const TASK_PHASES = ['held', 'queued', 'running', 'storing', 'done'] as const;
export type TaskPhase = (typeof TASK_PHASES)[number];

/** What pending tasks do: wait to be approved or started, or run. */
export const PENDING_STATES = ['waiting', 'running'] as const;
export type PendingState = (typeof PENDING_STATES)[number];

/** The phases of pending tasks in this state. */
export function phasesOf(state: PendingState): TaskPhase[] {
  return state === 'waiting' ? ['held', 'queued'] : ['running', 'storing'];
}

/** Whether a task in this state can never change again: only `pending` has transitions, each of them one UPDATE. */
export function isFinal(status: TaskStatus): boolean {
  return status !== 'pending';
}
