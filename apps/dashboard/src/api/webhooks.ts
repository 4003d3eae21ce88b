import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { get } from './request.ts';
import type { Schema } from './generated/schema.ts';

export type Endpoint = Schema['EndpointView'];
export type WebhookEvent = Endpoint['events'][number];
export type WebhookSecrets = Schema['SecretListView'];
export type WebhookSecret = WebhookSecrets['data'][number];
export type WebhookDelivery = Schema['DeliveryView'];
export type Resent = Schema['ResentView'];
export type Attempt = Schema['AttemptView'];

/** Endpoints and deliveries. */
export const WEBHOOK_VIEWS = [{ queryKey: ['webhooks'] }];

/** Filters of the deliveries; kept in the URL. */
export interface DeliveryFilters {
  readonly status?: string | undefined;
  readonly endpoint?: string | undefined;
  readonly task?: string | undefined;
}

const PAGE = 20;
const REFRESH_MS = 5_000;
const SOON_MS = 60_000;

export const endpointsQuery = queryOptions({
  queryKey: ['webhooks', 'endpoints'],
  queryFn: ({ signal }) => get<Schema['EndpointListView']>('/webhooks/endpoints', {}, signal),
  refetchInterval: REFRESH_MS,
});

/** Fetched only when shown, and not cached. */
export const secretsQuery = queryOptions({
  queryKey: ['webhook-secrets'],
  queryFn: ({ signal }) => get<WebhookSecrets>('/webhooks/secrets', {}, signal),
  gcTime: 0,
});

export function deliveriesQuery(filters: DeliveryFilters) {
  return infiniteQueryOptions({
    queryKey: ['webhooks', 'deliveries', filters],
    queryFn: ({ pageParam, signal }) =>
      get<Schema['DeliveryPage']>('/webhooks/deliveries', { limit: PAGE, after: pageParam, ...filters }, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => (page.has_more ? (page.next ?? undefined) : undefined),
    refetchInterval: ({ state }) => {
      const shown = state.data?.pages.flatMap(({ data }) => data) ?? [];
      if (shown.some(isDueSoon)) return 2_000;
      // Refreshing would move the list for users who have scrolled down.
      return (state.data?.pages.length ?? 0) > 1 ? false : REFRESH_MS;
    },
  });
}

/** The body that an attempt would send now; fetched only when shown. */
export function payloadQuery(id: string) {
  return queryOptions({
    queryKey: ['webhooks', 'payload', id],
    queryFn: ({ signal }) =>
      get<Schema['WebhookEvent'] | Schema['WebhookTestEvent']>(`/webhooks/deliveries/${id}/payload`, {}, signal),
  });
}

function isDueSoon({ next_try_at: next }: WebhookDelivery): boolean {
  return next !== null && Date.parse(next) - Date.now() < SOON_MS;
}
