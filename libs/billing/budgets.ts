export const BUDGET_PERIODS = ['month', 'total'] as const;
export type BudgetPeriod = (typeof BUDGET_PERIODS)[number];

/** What an account or a key may spend, in millionths; `month` begins anew with each month of the calendar, in UTC. */
export interface Budget {
  readonly ownerId: string;
  readonly owner: 'account' | 'key';
  readonly limit: number;
  readonly period: BudgetPeriod;
  /** Settled, and reserved for tasks that have not ended. */
  readonly spent: number;
}

/** What may still be spent by whom all these budgets bind; null when there are none. */
export function leftOf(budgets: readonly Budget[]): number | null {
  return budgets.length === 0 ? null : Math.min(...budgets.map(({ limit, spent }) => Math.max(limit - spent, 0)));
}
