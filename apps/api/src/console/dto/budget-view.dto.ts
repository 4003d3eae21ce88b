import { ApiProperty } from '@nestjs/swagger';
import { decimalOf } from '#contract/money.js';
import type { Unpriced } from '#billing/budget.repository.js';
import { BUDGET_PERIODS, type Budget, type BudgetPeriod } from '#billing/budgets.js';

/** A budget and its spending in the current period, as decimal amounts of the installation's currency. */
export class BudgetView {
  @ApiProperty({ example: '25.000000' })
  amount!: string;

  @ApiProperty({ enum: BUDGET_PERIODS })
  period!: BudgetPeriod;

  @ApiProperty({ example: '1.200000', description: 'Spent and reserved in the current period.' })
  spent!: string;

  @ApiProperty({ description: 'Whether what is left does not cover the cheapest image that it may pay for.' })
  used_up!: boolean;
}

/** Spending, as a decimal amount and its currency. */
export class SpendView {
  @ApiProperty({ example: '12.340000' })
  amount!: string;

  @ApiProperty({ example: 'USD' })
  currency!: string;
}

/** Spending, and the usage that it leaves out because its price was unknown. */
export class SpentView extends SpendView {
  @ApiProperty({ type: 'integer', description: 'Images without a known price, not included in `amount`.' })
  unpriced_images!: number;

  @ApiProperty({ type: 'integer', description: 'Chats without a known price, not included in `amount`.' })
  unpriced_chats!: number;
}

/** An amount in millionths, and the usage it leaves out. */
export function spentView(amount: number, unpriced: Unpriced | undefined, currency: string): SpentView {
  const { images = 0, chats = 0 } = unpriced ?? {};
  return { amount: decimalOf(amount), currency, unpriced_images: images, unpriced_chats: chats };
}

/**
 * Null when there is no budget. `cheapest` is the lowest price of what it may pay for, in millionths; undefined if that
 * has no known price.
 */
export function budgetView(budget: Budget | undefined, cheapest: number | undefined): BudgetView | null {
  if (budget === undefined) return null;
  const { limit, period, spent } = budget;
  const isUsedUp = limit - spent < Math.max(cheapest ?? 0, 1);
  return { amount: decimalOf(limit), period, spent: decimalOf(spent), used_up: isUsedUp };
}
