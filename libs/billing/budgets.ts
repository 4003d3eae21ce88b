export const BUDGET_PERIODS = ['month', 'total'] as const;
export type BudgetPeriod = (typeof BUDGET_PERIODS)[number];

/** Spending limit of an account or a key, in millionths; `month` starts over each calendar month, in UTC. */
export interface Budget {
  readonly ownerId: string;
  readonly owner: 'account' | 'key';
  readonly limit: number;
  readonly period: BudgetPeriod;
  /** Settled, and reserved for tasks that have not ended. */
  readonly spent: number;
}

/** What all these budgets together still allow; null when there are none. */
export function remainingOf(budgets: readonly Budget[]): number | null {
  return budgets.length === 0 ? null : Math.min(...budgets.map(({ limit, spent }) => Math.max(limit - spent, 0)));
}
