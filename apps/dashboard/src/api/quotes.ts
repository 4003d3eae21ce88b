import { queryOptions } from '@tanstack/react-query';
import { send } from './request.ts';
import type { Schema } from './generated/schema.ts';

/** The queue moves on, and prices may change. */
const REFRESH_MS = 15_000;

export type Quote = Schema['ConsoleQuoteView'];
/** What of an order decides its price and its time. */
export type QuotedOrder = Schema['QuoteBody'];

/** What an order would cost now, and how long it would take. */
export function quoteQuery(order: QuotedOrder) {
  return queryOptions({
    queryKey: ['quote', order],
    queryFn: () => send<Quote>('POST', '/quotes', order),
    refetchInterval: REFRESH_MS,
  });
}
