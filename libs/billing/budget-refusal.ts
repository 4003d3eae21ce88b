import { AppError } from '#contract/app-error.js';
import { decimalOf } from '#contract/money.js';
import type { Budget, BudgetPeriod } from './budgets.js';

/** Error codes of the triggers of the tasks table when they refuse a row. */
const BUDGET_EXCEEDED = 'DR402';
const PRICE_UNKNOWN = 'DR403';

const OWNERS: Readonly<Record<Budget['owner'], string>> = { account: 'account', key: 'API key' };
const PERIODS: Readonly<Record<BudgetPeriod, string>> = { month: ' this month', total: '' };

/** The request would exceed a budget. SDKs don't retry a 402. */
function budgetExceeded(
  { owner, period, left }: Pick<Budget, 'owner' | 'period'> & { left: number },
  currency: string,
): AppError {
  const rest = left <= 0 ? 'nothing' : `${decimalOf(left)} ${currency}`;
  return new AppError(
    'insufficient_quota',
    `The budget of this ${OWNERS[owner]} does not cover the request: ${rest} is left${PERIODS[period]}.`,
  );
}

/** With a budget, every request needs a price that limits it. */
function priceUnknown(owner: Budget['owner']): AppError {
  return new AppError(
    'model_not_allowed',
    `This ${OWNERS[owner]} has a budget, but what this request can cost is unknown: the model has no price that limits it.`,
    { param: 'model' },
  );
}

/** The AppError for a failed statement; undefined when it failed for another reason. `currency`: of the price book. */
export function refusalOf(error: unknown, currency: string): AppError | undefined {
  const { code, detail } = error as { code?: unknown; detail?: unknown };
  if (typeof detail !== 'string') return undefined;
  if (code === PRICE_UNKNOWN) return priceUnknown(detail as Budget['owner']);
  if (code !== BUDGET_EXCEEDED) return undefined;
  return budgetExceeded(JSON.parse(detail) as Parameters<typeof budgetExceeded>[0], currency);
}
