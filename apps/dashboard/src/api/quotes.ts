import { queryOptions } from '@tanstack/react-query';
import { send } from './request.ts';
import type { Schema } from './generated/schema.ts';

/** The queue moves, and prices may change. */
const REFRESH_MS = 15_000;

export type Quote = Schema['ConsoleQuoteView'];
/** The fields of an order that affect its price and its time. */
export type QuotedOrder = Schema['QuoteBody'];

/** The current price and estimated time of an order. */
export function quoteQuery(order: QuotedOrder) {
  return queryOptions({
    queryKey: ['quote', order],
    queryFn: () => send<Quote>('POST', '/quotes', order),
    refetchInterval: REFRESH_MS,
  });
}
