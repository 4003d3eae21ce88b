import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { get } from './request.ts';
import type { Page } from './types.ts';

/** What the console API answers about webhooks. */
export type WebhookEvent = 'image.task.completed' | 'image.task.failed' | 'image.task.cancelled';

export interface Endpoint {
  readonly id: string;
  readonly url: string;
  readonly events: readonly WebhookEvent[];
  readonly created_at: string;
  /** Null: it is active. */
  readonly disabled_at: string | null;
  readonly disabled_reason: 'gone' | 'owner' | null;
  /** Of its newest 100 deliveries; null when there are none. */
  readonly recent: { readonly delivered: number; readonly failed: number; readonly last_at: string } | null;
}

export interface WebhookSecret {
  readonly id: string;
  readonly secret: string;
  readonly created_at: string;
  /** Null: the current one. */
  readonly expires_at: string | null;
}

export interface Attempt {
  readonly number: number;
  readonly started_at: string;
  readonly duration_ms: number | null;
  readonly status: number | null;
  readonly error: string | null;
}

export type DeliveryStatus = 'pending' | 'delivered' | 'failed';

export interface WebhookDelivery {
  readonly id: string;
  /** Null: a test. */
  readonly task_id: string | null;
  readonly event: WebhookEvent | 'webhook.test';
  /** Null: the task's own callback_url. */
  readonly endpoint_id: string | null;
  readonly url: string | null;
  readonly status: DeliveryStatus;
  readonly created_at: string;
  readonly next_try_at: string | null;
  readonly attempts: readonly Attempt[];
}

/** What the list of deliveries is narrowed to; kept in the address. */
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
  queryFn: ({ signal }) => get<{ data: readonly Endpoint[] }>('/webhooks/endpoints', {}, signal),
  refetchInterval: REFRESH_MS,
});

/** Asked for only when they are to be shown, and not kept. */
export const secretsQuery = queryOptions({
  queryKey: ['webhook-secrets'],
  queryFn: ({ signal }) => get<{ data: readonly WebhookSecret[] }>('/webhooks/secrets', {}, signal),
  gcTime: 0,
});

export function deliveriesQuery(filters: DeliveryFilters) {
  return infiniteQueryOptions({
    queryKey: ['webhooks', 'deliveries', filters],
    queryFn: ({ pageParam, signal }) =>
      get<Page<WebhookDelivery>>('/webhooks/deliveries', { limit: PAGE, after: pageParam, ...filters }, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => (page.has_more ? (page.next ?? undefined) : undefined),
    refetchInterval: ({ state }) => {
      const shown = state.data?.pages.flatMap(({ data }) => data) ?? [];
      if (shown.some(isDueSoon)) return 2_000;
      // Who has leafed far down reads, and is not to see the list move.
      return (state.data?.pages.length ?? 0) > 1 ? false : REFRESH_MS;
    },
  });
}

function isDueSoon({ next_try_at: next }: WebhookDelivery): boolean {
  return next !== null && Date.parse(next) - Date.now() < SOON_MS;
}
