/** Orders of tasks that no index knows: by how long they took, by what they cost. */
export const RANKINGS = ['longest', 'shortest', 'costliest', 'cheapest'] as const;
export type Ranking = (typeof RANKINGS)[number];

/** What tasks are put in order by. */
export interface RankedTask {
  readonly id: string;
  /** From acceptance to the end; null while it runs. */
  readonly durationMs: number | null;
  /** As its account is shown it; null when nothing is charged, or the price is not known. */
  readonly cost: number | null;
}

/** Whether an order is one of these. */
export function isRanking(order: string): order is Ranking {
  return RANKINGS.some((ranking) => ranking === order);
}

/** The tasks in order, in which equal ones keep theirs. What has no duration or cost comes last. */
export function ranked(tasks: readonly RankedTask[], ranking: Ranking): RankedTask[] {
  const value = ({ durationMs, cost }: RankedTask) =>
    ranking === 'longest' || ranking === 'shortest' ? durationMs : cost;
  const sign = ranking === 'longest' || ranking === 'costliest' ? -1 : 1;
  return tasks.toSorted((one, other) => {
    const [a, b] = [value(one), value(other)];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    return sign * (a - b);
  });
}
