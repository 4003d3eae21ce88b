import { amountIn } from '#contract/money.js';
import type { Quote, QuotedOrder } from '../api/quotes.ts';
import type { TaskDetail } from '../api/types.ts';
import { duration } from './format.ts';

/** "$0.04 · about 8 s"; empty while loading. */
export function quoteText(quote: Pick<Quote, 'cost' | 'estimated_time'> | undefined): string {
  if (quote === undefined) return '';
  return [priceText([quote.cost]), timeText(quote.estimated_time)].filter((part) => part !== '').join(' · ');
}

/** The total price of several orders, with "up to" when token counts decide; "price unknown" if one has no price. */
export function priceText(costs: readonly Quote['cost'][]): string {
  const [first] = costs;
  if (first === undefined) return '';
  if (costs.some(({ amount }) => amount === null)) return 'price unknown';
  const sum = costs.reduce((total, { amount }) => total + Number(amount), 0);
  if (sum === 0) return 'free';
  // Sums such as 0.1 + 0.2 have rounding errors; amounts have at most six decimals.
  const text = amountIn(Number(sum.toFixed(6)), first.currency);
  return costs.every(({ exact }) => exact) ? text : `up to ${text}`;
}

function timeText(seconds: number | undefined): string {
  return seconds === undefined ? '' : `about ${duration(seconds * 1000).replace('.0', '')}`;
}

/** The order of a task, to repeat it. */
export function orderOf({ model, action, size, resolution, options: { quality, n } }: TaskDetail): QuotedOrder {
  return {
    model,
    action,
    size,
    ...quotedTier(resolution),
    ...(typeof quality === 'string' ? { quality } : {}),
    ...(typeof n === 'number' ? { n } : {}),
  };
}

const TIERS = ['1k', '2k', '4k'] as const;

/** The tier of an order, as a quote needs it; an order in pixels has none. */
export function quotedTier(name: string | null | undefined): Pick<QuotedOrder, 'resolution'> {
  const resolution = TIERS.find((tier) => tier === name);
  return resolution === undefined ? {} : { resolution };
}
