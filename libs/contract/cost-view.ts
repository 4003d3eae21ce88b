import { ApiProperty } from '@nestjs/swagger';
import { decimalOf } from './money.js';

const NOTHING = decimalOf(0);

/** What a task costs the caller. */
export class CostView {
  @ApiProperty({
    type: String,
    nullable: true,
    example: '0.040000',
    description: 'Decimal string. While reserved, the maximum cost of the task. Null if the price is unknown.',
  })
  amount!: string | null;

  @ApiProperty({ example: 'USD', description: 'ISO 4217.' })
  currency!: string;

  @ApiProperty({
    enum: ['reserved', 'settled', 'refunded', 'unpriced'],
    description:
      '`reserved` until the task ends; `settled` if it completed, or was cancelled after a provider started it; `refunded` if it failed, or was cancelled earlier, and costs nothing.',
  })
  state!: 'reserved' | 'settled' | 'refunded' | 'unpriced';
}

/** Amounts in millionths; `reserved` is null if the price was unknown. */
export interface ViewedCost {
  readonly reserved: number | null;
  readonly currency: string;
  readonly settled?: number | null;
}

/** The cost of a task with this status. */
export function costView(status: string, { reserved, settled, currency }: ViewedCost): CostView {
  const isFree = status === 'failed' || (status === 'cancelled' && settled === 0);
  if (isFree) return { amount: NOTHING, currency, state: 'refunded' };
  if (reserved === null) return { amount: null, currency, state: 'unpriced' };
  if (status === 'completed' || status === 'cancelled')
    return { amount: decimalOf(settled ?? reserved), currency, state: 'settled' };
  return { amount: decimalOf(reserved), currency, state: 'reserved' };
}

class QuotedCost {
  @ApiProperty({
    type: String,
    nullable: true,
    example: '0.040000',
    description: 'Decimal string. Null if the price is unknown.',
  })
  amount!: string | null;

  @ApiProperty({ example: 'USD', description: 'ISO 4217.' })
  currency!: string;

  @ApiProperty({
    description: '`false` if `amount` is null, or is a maximum because the cost depends on the tokens used.',
  })
  exact!: boolean;
}

/** Response of POST /v1/images/...?dry_run=true: nothing was generated, stored, or charged. */
export class QuoteResponse {
  @ApiProperty({ enum: ['quote'] })
  object!: 'quote';

  @ApiProperty()
  model!: string;

  @ApiProperty({ example: '2048x1152', description: 'Image size in pixels, or `auto`.' })
  size!: string;

  @ApiProperty({ enum: ['1k', '2k', '4k'], description: 'Resolution tier the price is based on.' })
  resolution!: string;

  @ApiProperty({ example: 'auto' })
  quality!: string;

  @ApiProperty({ type: QuotedCost })
  cost!: QuotedCost;

  @ApiProperty({
    type: String,
    nullable: true,
    example: '12.500000',
    description: 'Remaining budget: the lower one of the API key and its account. Null if neither has a budget.',
  })
  budget_left!: string | null;

  @ApiProperty({ description: 'Whether the remaining budget covers the request.' })
  within_budget!: boolean;
}

/** The quote of a request; `left` is in millionths, or null if no budget applies to the caller. */
export function quoteResponse(
  asked: Pick<QuoteResponse, 'model' | 'size' | 'resolution' | 'quality'>,
  cost: { readonly reserved: number | null; readonly currency: string; readonly exact: boolean },
  left: number | null,
): QuoteResponse {
  const { reserved, currency, exact } = cost;
  return {
    object: 'quote',
    ...asked,
    cost: { amount: reserved === null ? null : decimalOf(reserved), currency, exact },
    budget_left: left === null ? null : decimalOf(left),
    within_budget: left === null || (reserved !== null && reserved <= left),
  };
}
