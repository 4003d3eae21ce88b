import type { TaskApproval, TaskCommand } from '../row/task.js';

/** How long a held task waits for its approval before it fails. */
export const APPROVAL_HOURS = 24;
export const APPROVAL_MS = APPROVAL_HOURS * 3_600_000;

/** Most tasks of an account that may wait for an approval: no slot limits them. */
export const MAX_HELD = 1_000;

/**
 * The approval that a task needs, because it may cost more than its key or account may spend without one. A cost that is
 * not known is above any threshold; what is free is below any. `deadlineMs`: from its approval to its end.
 */
export function neededApproval(
  { cost, approveAbove: above }: Pick<TaskCommand, 'cost' | 'approveAbove'>,
  deadlineMs: number,
): TaskApproval | undefined {
  if (cost === null || above === undefined) return undefined;
  return cost.reserved === null || cost.reserved > above ? { above, deadlineMs } : undefined;
}
