/** Sort orders that no index supports: by duration and by cost. */
export const RANKINGS = ['longest', 'shortest', 'costliest', 'cheapest'] as const;
export type Ranking = (typeof RANKINGS)[number];

/** The values that tasks are ranked by. */
export interface RankedTask {
  readonly id: string;
  /** From acceptance to the end; null while it runs. */
  readonly durationMs: number | null;
  /** The amount that its account sees; null when nothing is charged, or the price is unknown. */
  readonly cost: number | null;
}

/** Whether an order is a ranking. */
export function isRanking(order: string): order is Ranking {
  return RANKINGS.some((ranking) => ranking === order);
}

/** The tasks, stably sorted; those without a duration or cost come last. */
export function ranked(tasks: readonly RankedTask[], ranking: Ranking): RankedTask[] {
  const value = ({ durationMs, cost }: RankedTask) =>
    ranking === 'longest' || ranking === 'shortest' ? durationMs : cost;
  const sign = ranking === 'longest' || ranking === 'costliest' ? -1 : 1;
  return tasks.toSorted((one, other) => {
    const a = value(one);
    const b = value(other);
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    return sign * (a - b);
  });
}
