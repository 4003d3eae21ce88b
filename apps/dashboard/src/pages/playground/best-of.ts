import type { TaskDetail } from '../../api/types.ts';

/** What a task is better in than those beside it. */
export type Best = 'Fastest' | 'Cheapest';

type Compared = Pick<TaskDetail, 'status' | 'created_at' | 'finished_at' | 'cost'>;

/** Milliseconds, and a part of the least time: whoever runs both tasks once more may find the other one faster. */
const [SAME_MS, SAME_PART] = [500, 0.1];

/**
 * What each of several tasks is the best in. Those that are about as good share it, and where all are, none has it. Nothing
 * until all have ended. In place of a task: null where none was ordered, undefined while it is not known.
 */
export function bestOf(tasks: readonly (Compared | null | undefined)[]): Best[][] {
  const isOver = tasks.every((task) => task !== undefined && task?.status !== 'pending');
  const times = tasks.map((task) => (isOver && task?.status === 'completed' ? timeOf(task) : undefined));
  const costs = tasks.map((task) => (isOver && task?.status === 'completed' ? costOf(task) : undefined));
  const [fastest, cheapest] = [leastOf(times, isAboutAsFast), leastOf(costs, (cost, least) => cost === least)];
  return tasks.map((_, index) => [
    ...(fastest.has(index) ? ['Fastest' as const] : []),
    ...(cheapest.has(index) ? ['Cheapest' as const] : []),
  ]);
}

/** Milliseconds. */
function timeOf({ created_at: start, finished_at: end }: Compared): number {
  return Date.parse(end ?? '') - Date.parse(start);
}

/** Nothing where none is charged; not a number where it is not known. */
function costOf({ cost }: Compared): number {
  return cost === null ? 0 : Number(cost.amount ?? NaN);
}

function isAboutAsFast(time: number, least: number): boolean {
  return time - least < Math.max(SAME_MS, least * SAME_PART);
}

/** Where the least values are, and those that are as good; nowhere if one can't be compared, or all are as good. */
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
