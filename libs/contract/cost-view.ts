import { ApiProperty } from '@nestjs/swagger';
import { decimalOf } from './money.js';

const NOTHING = decimalOf(0);

/** What a task costs the caller. */
export class CostView {
  @ApiProperty({
    type: String,
    nullable: true,
    example: '0.040000',
    description:
      'Decimal text, so that sums stay exact. What is reserved is the most that the task costs. Null when the price is not known.',
  })
  amount!: string | null;

  @ApiProperty({ example: 'USD', description: 'ISO 4217.' })
  currency!: string;

  @ApiProperty({
    enum: ['reserved', 'settled', 'refunded', 'unpriced'],
    description:
      '`reserved` until the task ends; `settled` when it is completed, or was cancelled after a provider had begun it; `refunded` when it costs nothing: it failed, or was cancelled before that.',
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
    description: 'Decimal text. Null when the price is not known.',
  })
  amount!: string | null;

  @ApiProperty({ example: 'USD', description: 'ISO 4217.' })
  currency!: string;

  @ApiProperty({ description: '`false` when `amount` is the most it costs, because measured tokens decide, or null.' })
  exact!: boolean;
}

/** Response of POST /v1/images/...?dry_run=true: nothing was generated, stored, or charged. */
export class QuoteResponse {
  @ApiProperty({ enum: ['quote'] })
  object!: 'quote';

  @ApiProperty()
  model!: string;

  @ApiProperty({ example: '2048x1152', description: 'Pixels of the image, or `auto`.' })
  size!: string;

  @ApiProperty({ enum: ['1k', '2k', '4k'], description: 'The tier that is paid for.' })
  resolution!: string;

  @ApiProperty({ example: 'auto' })
  quality!: string;

  @ApiProperty({ type: QuotedCost })
  cost!: QuotedCost;

  @ApiProperty({
    type: String,
    nullable: true,
    example: '12.500000',
    description: 'What the budgets of the key and of its account leave now. Null when there are none.',
  })
  budget_left!: string | null;

  @ApiProperty({ description: 'Whether the request would be accepted by these budgets now.' })
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
