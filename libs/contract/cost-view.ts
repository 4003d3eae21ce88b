import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { decimalOf } from './money.js';
import { TOKEN_CLASSES, type TokenClass } from './token-classes.js';

const NOTHING = decimalOf(0);

class TokenCostView {
  @ApiProperty({ enum: TOKEN_CLASSES })
  class!: TokenClass;

  @ApiProperty({
    type: 'integer',
    description: 'Tokens that the provider counted. Any of an unknown class are here if no other could cost more.',
  })
  tokens!: number;

  @ApiProperty({ example: '0.000155', description: 'Decimal string.' })
  amount!: string;
}

/** Tokens and their cost in millionths, by class. */
export type TokenCosts = Readonly<Partial<Record<TokenClass, { readonly tokens: number; readonly amount: number }>>>;

/** What a task costs the caller. */
export class CostView {
  @ApiProperty({
    type: String,
    nullable: true,
    example: '0.040000',
    description:
      'Decimal string. While reserved, the maximum cost of the task. Null if the price is unknown, or if it is by tokens, without a maximum, and they are not counted yet.',
  })
  amount!: string | null;

  @ApiProperty({ example: 'USD', description: 'ISO 4217.' })
  currency!: string;

  @ApiProperty({
    enum: ['reserved', 'settled', 'refunded', 'unpriced'],
    description:
      '`reserved` until the task ends; `settled` if it completed, or was cancelled after a provider started it; `refunded` if it failed, or was cancelled earlier, and costs nothing; `unpriced` while `amount` is null.',
  })
  state!: 'reserved' | 'settled' | 'refunded' | 'unpriced';

  @ApiPropertyOptional({
    type: [TokenCostView],
    description:
      'Of a completed task whose price is by tokens, and whose provider counted them. They add up to `amount`, or to more if the maximum of the price is less.',
  })
  token_costs?: TokenCostView[];
}

/** Amounts in millionths; `reserved` is null if the price, or its maximum, was unknown. */
export interface ViewedCost {
  readonly reserved: number | null;
  readonly currency: string;
  readonly settled?: number | null;
  readonly tokenCosts?: TokenCosts;
}

/** The cost of a task with this status. */
export function costView(status: string, { reserved, settled, currency, tokenCosts }: ViewedCost): CostView {
  const isFree = status === 'failed' || (status === 'cancelled' && settled === 0);
  if (isFree) return { amount: NOTHING, currency, state: 'refunded' };
  const isSettled = status === 'completed' || status === 'cancelled';
  const amount = isSettled ? (settled ?? reserved) : reserved;
  if (amount === null) return { amount, currency, state: 'unpriced' };
  return {
    amount: decimalOf(amount),
    currency,
    state: isSettled ? 'settled' : 'reserved',
    ...(tokenCosts && { token_costs: tokenCostViews(tokenCosts) }),
  };
}

function tokenCostViews(costs: TokenCosts): TokenCostView[] {
  return TOKEN_CLASSES.flatMap((name) => {
    const { tokens = 0, amount = 0 } = costs[name] ?? {};
    return tokens === 0 ? [] : [{ class: name, tokens, amount: decimalOf(amount) }];
  });
}

class QuotedCost {
  @ApiProperty({
    type: String,
    nullable: true,
    example: '0.040000',
    description: 'Decimal string. Null if the price is unknown, or is by tokens and has no maximum.',
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
