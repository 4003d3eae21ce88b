import { InvalidArgumentError, Option } from 'commander';
import { decimalOf, microsOf } from '#contract/money.js';
import { SetupError } from '#embedded/setup-error.js';
import { BUDGET_PERIODS, type Budget, type BudgetPeriod } from '#billing/budgets.js';

/** The budget from the command line: set, removed (null), or not given (undefined). */
export type BudgetSetting = Pick<Budget, 'limit' | 'period'> | null | undefined;

/** Values of the options; undefined = not given. */
export interface BudgetOptions {
  /** Millionths. */
  readonly budget?: number | 'none';
  readonly budgetPeriod?: BudgetPeriod;
}

/** Options that set a budget. */
export function budgetOptions(): Option[] {
  return [
    amountOption('--budget <amount>', 'budget in the currency of the prices; none = no budget'),
    new Option('--budget-period <period>', 'resets every calendar month (default), or never').choices(BUDGET_PERIODS),
  ];
}

/** An option whose value is an amount in millionths, or none. */
export function amountOption(flags: string, description: string): Option {
  return new Option(flags, description).argParser(amountOf);
}

function amountOf(given: string): number | 'none' {
  if (given === 'none') return given;
  const amount = microsOf(given);
  if (amount === undefined) throw new InvalidArgumentError('It must be an amount such as 25 or 0.50, or none.');
  return amount;
}

/** Throws SetupError for a period without an amount. */
export function budgetSetting({ budget, budgetPeriod }: BudgetOptions): BudgetSetting {
  if (budget === undefined && budgetPeriod !== undefined) throw new SetupError('--budget-period needs --budget.');
  if (budget === undefined) return undefined;
  if (budget === 'none') return null;
  return { limit: budget, period: budgetPeriod ?? 'month' };
}

/** `12.340000 of 25.000000 this month` */
export function budgetText(budget: Pick<Budget, 'limit' | 'period' | 'spent'> | undefined): string {
  if (budget === undefined) return 'none';
  const { spent, limit, period } = budget;
  return `${decimalOf(spent)} of ${decimalOf(limit)}${period === 'month' ? ' this month' : ' in total'}`;
}
