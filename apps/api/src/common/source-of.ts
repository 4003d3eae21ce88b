import type { FastifyRequest } from 'fastify';
import { networkOf } from './network-of.js';

/** Who a request counts for: its account, or its network while the account is unknown. */
export function sourceOf(request: FastifyRequest): string {
  const accountId = request.caller?.accountId ?? request.session?.accountId;
  return accountId === undefined ? `network ${networkOf(request.ip)}` : `account ${accountId}`;
}
