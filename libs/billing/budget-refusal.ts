import { AppError } from '#contract/app-error.js';
import { decimalOf } from '#contract/money.js';
import type { Budget, BudgetPeriod } from './budgets.js';
import type { LabelKind } from './label-limits.js';

/** Error codes of the triggers of the tasks table when they refuse a row. */
const BUDGET_EXCEEDED = 'DR402';
const PRICE_UNKNOWN = 'DR403';

type Owner = Budget['owner'] | LabelKind;

/** Never the name of an end user or a tag: whoever sent it knows it. */
const OWNERS: Readonly<Record<Owner, string>> = {
  account: 'this account',
  key: 'this API key',
  end_user: 'this end user',
  tag: 'a tag of this request',
};
const PERIODS: Readonly<Record<BudgetPeriod, string>> = { month: ' this month', total: '' };

/** The request would exceed a budget. SDKs don't retry a 402. */
function budgetExceeded(
  { owner, period, left }: Pick<Budget, 'period'> & { owner: Owner; left: number },
  currency: string,
): AppError {
  const rest = left <= 0 ? 'nothing' : `${decimalOf(left)} ${currency}`;
  return new AppError(
    'insufficient_quota',
    `The budget of ${OWNERS[owner]} does not cover the request: ${rest} is left${PERIODS[period]}.`,
  );
}

/** With a budget, every request needs a price that limits it. */
function priceUnknown(owner: Owner): AppError {
  return new AppError(
    'model_not_allowed',
    `${capitalized(OWNERS[owner])} has a budget, but what this request can cost is unknown: the model has no price that limits it.`,
    { param: 'model' },
  );
}

/** The AppError for a failed statement; undefined when it failed for another reason. `currency`: of the price book. */
export function refusalOf(error: unknown, currency: string): AppError | undefined {
  const { code, detail } = error as { code?: unknown; detail?: unknown };
  if (typeof detail !== 'string') return undefined;
  if (code === PRICE_UNKNOWN) return priceUnknown(detail as Owner);
  if (code !== BUDGET_EXCEEDED) return undefined;
  return budgetExceeded(JSON.parse(detail) as Parameters<typeof budgetExceeded>[0], currency);
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
