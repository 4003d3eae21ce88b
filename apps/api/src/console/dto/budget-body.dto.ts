import { AppError } from '#contract/app-error.js';
import { ChoiceField, Field } from '#contract/field.js';
import type { FieldProblem } from '#contract/field-rule.js';
import { microsOf } from '#contract/money.js';
import { BUDGET_PERIODS, type Budget, type BudgetPeriod } from '#billing/budgets.js';

function amountProblem(value: unknown, property: string): FieldProblem | undefined {
  if (typeof value === 'string' && microsOf(value) !== undefined) return undefined;
  return { code: 'invalid_value', message: `${property} must be an amount such as "25" or "0.50"` };
}

/** What a request may cost without an approval; null = any amount. */
export const ApproveAboveField = () =>
  Field(String, {
    optional: true,
    nullable: true,
    example: '0.50',
    rule: amountProblem,
    description:
      'A request that may cost more waits for an approval, and so does one whose cost is unknown; 0 = every paid request, null = none.',
  });

/** The budget of a key or an account; null removes it. */
export class BudgetBody {
  @Field(String, { optional: true, nullable: true, example: '25.00', rule: amountProblem })
  budget?: string | null;

  @ChoiceField(BUDGET_PERIODS, { optional: true })
  budget_period?: BudgetPeriod | null;
}

/** The budget after a change: set, removed (null), or unchanged (undefined). Throws AppError `invalid_value`. */
export function budgetAfter(
  { budget, budget_period: period }: BudgetBody,
  before: Budget | undefined,
): Pick<Budget, 'limit' | 'period'> | null | undefined {
  if (budget === null) return null;
  const limit = budget === undefined ? before?.limit : microsOf(budget);
  if (budget === undefined && (period === undefined || period === null)) return undefined;
  if (limit === undefined) {
    throw new AppError('invalid_value', 'budget_period needs a budget.', { param: 'budget_period' });
  }
  return { limit, period: period ?? before?.period ?? 'month' };
}
