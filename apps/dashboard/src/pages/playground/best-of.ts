import type { TaskDetail } from '../../api/types.ts';

/** In which respect a task is the best of those compared. */
export type Best = 'Fastest' | 'Cheapest';

type Compared = Pick<TaskDetail, 'status' | 'created_at' | 'finished_at' | 'cost'>;

/**
 * Differences below these count as equal, in ms and as a share of the shortest time: a second run may turn out the
 * other way.
 */
const SAME_MS = 500;
const SAME_PART = 0.1;

/**
 * In which respects each of several tasks is the best. Near ties share it; if all tie, none has it. Empty until all
 * have ended. Null: no task was ordered; undefined: not loaded yet.
 */
export function bestOf(tasks: readonly (Compared | null | undefined)[]): Best[][] {
  const isOver = tasks.every((task) => task !== undefined && task?.status !== 'pending');
  const times = tasks.map((task) => (isOver && task?.status === 'completed' ? timeOf(task) : undefined));
  const costs = tasks.map((task) => (isOver && task?.status === 'completed' ? costOf(task) : undefined));
  const fastest = leastOf(times, isAboutAsFast);
  const cheapest = leastOf(costs, (cost, least) => cost === least);
  return tasks.map((_, index) => [
    ...(fastest.has(index) ? ['Fastest' as const] : []),
    ...(cheapest.has(index) ? ['Cheapest' as const] : []),
  ]);
}

/** Milliseconds. */
function timeOf({ created_at: start, finished_at: end }: Compared): number {
  return Date.parse(end ?? '') - Date.parse(start);
}

/** 0 if free; NaN if unknown. */
function costOf({ cost }: Compared): number {
  return cost === null ? 0 : Number(cost.amount ?? NaN);
}

function isAboutAsFast(time: number, least: number): boolean {
  return time - least < Math.max(SAME_MS, least * SAME_PART);
}

/** Indexes of the smallest values and near ties; empty if a value is NaN, or if all tie. */
function leastOf(
  values: readonly (number | undefined)[],
  isAsGood: (value: number, least: number) => boolean,
): ReadonlySet<number> {
  const known = values.filter((value) => value !== undefined);
  const least = Math.min(...known);
  const isLeast = (value: number) => isAsGood(value, least);
  if (Number.isNaN(least) || known.every(isLeast)) return new Set();
  return new Set(values.flatMap((value, index) => (value !== undefined && isLeast(value) ? [index] : [])));
}
