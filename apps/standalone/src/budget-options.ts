import { decimalOf, microsOf } from '#contract/money.js';
import { SetupError } from '#embedded/setup-error.js';
import { BUDGET_PERIODS, type Budget, type BudgetPeriod } from '#billing/budgets.js';

/** What the command line says of a budget: one, none any more (null), or nothing (undefined). */
export type BudgetSetting = Pick<Budget, 'limit' | 'period'> | null | undefined;

export const BUDGET_OPTIONS = { budget: { type: 'string' }, 'budget-period': { type: 'string' } } as const;

/** Throws SetupError with a sentence. */
export function readBudget(values: {
  readonly budget?: string | undefined;
  readonly 'budget-period'?: string | undefined;
}): BudgetSetting {
  const { budget: text, 'budget-period': period = 'month' } = values;
  if (!isPeriod(period)) throw new SetupError(`--budget-period takes ${BUDGET_PERIODS.join(' or ')}.`);
  if (text === undefined) {
    if (values['budget-period'] === undefined) return undefined;
    throw new SetupError('--budget-period needs --budget.');
  }
  if (text === 'none') return null;
  const limit = microsOf(text);
  if (limit === undefined) throw new SetupError('--budget takes an amount such as 25 or 0.50, or none.');
  return { limit, period };
}

/** `12.340000 of 25.000000 this month` */
export function budgetText(budget: Pick<Budget, 'limit' | 'period' | 'spent'> | undefined): string {
  if (budget === undefined) return 'none';
  const { spent, limit, period } = budget;
  return `${decimalOf(spent)} of ${decimalOf(limit)}${period === 'month' ? ' this month' : ' in total'}`;
}

function isPeriod(text: string): text is BudgetPeriod {
  return BUDGET_PERIODS.some((period) => period === text);
}
