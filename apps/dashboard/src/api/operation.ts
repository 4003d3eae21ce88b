import { queryOptions } from '@tanstack/react-query';
import { get } from './request.ts';
import type { Money } from './types.ts';

/** How often what moves is read again while the page is seen, in ms; what is dearer to count, more seldom. */
const LIVE_MS = 3_000;
const FIGURES_MS = 15_000;
const FAILURES_MS = 30_000;

export interface Provider {
  readonly name: string;
  /** Null: not in the catalogue any more. */
  readonly type: string | null;
  readonly models: readonly string[];
  /** What it can be tried out with; null costs nothing. */
  readonly trials: readonly { readonly model: string; readonly cost: Money | null }[];
  readonly has_key: boolean;
  readonly unset_keys: readonly string[];
  readonly breaker: 'closed' | 'half-open' | 'open';
  readonly open_ms: number;
  readonly calls: number;
  readonly concurrency: number | null;
  readonly starts: number;
  readonly starts_per_minute: number | null;
  readonly resting_keys: readonly { readonly key: string; readonly rests_ms: number }[];
  readonly drained: { readonly since: string; readonly reason: string | null } | null;
}

/** Calls of the last hour. */
export interface ProviderFigures {
  readonly name: string;
  readonly calls: number;
  readonly failed: number;
  readonly median_ms: number | null;
}

export interface QueueWorker {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  readonly slots: number;
  readonly running: number;
  readonly started_at: string;
  readonly last_seen_at: string;
}

export interface Queue {
  readonly waiting: number;
  readonly active: number;
  readonly delayed: number;
  readonly oldest_waiting_seconds: number;
  readonly completed_last_minute: number;
  readonly failed_last_hour: number;
  readonly workers: readonly QueueWorker[];
}

export interface FinishedMinute {
  readonly time: string;
  readonly completed: number;
  readonly failed: number;
}

export interface FailureGroup {
  readonly code: string;
  /** Null: nobody was called. */
  readonly provider: string | null;
  readonly model: string;
  readonly count: number;
  readonly redriven: number;
  readonly latest_at: string;
  /** Why they are not re-driven; null where they are. */
  readonly why_not: string | null;
}

export interface FailedTask {
  readonly id: string;
  readonly account: { readonly id: string; readonly name: string };
  readonly key: { readonly id: string; readonly name: string };
  readonly failed_at: string;
  readonly message: string;
  readonly redriven_as: string | null;
}

export interface RedriveOutcome {
  readonly redriven: readonly { readonly task_id: string; readonly new_task_id: string }[];
  readonly refused: readonly { readonly task_id: string; readonly code: string; readonly message: string }[];
  /** What `after` takes for those that are left. */
  readonly next: string | null;
}

export const providersQuery = queryOptions({
  queryKey: ['operation', 'providers'],
  queryFn: ({ signal }) => get<{ data: readonly Provider[] }>('/providers', {}, signal),
  refetchInterval: LIVE_MS,
});

export const providerFiguresQuery = queryOptions({
  queryKey: ['operation', 'provider-figures'],
  queryFn: ({ signal }) => get<{ data: readonly ProviderFigures[] }>('/providers/figures', {}, signal),
  refetchInterval: FIGURES_MS,
});

export const queueQuery = queryOptions({
  queryKey: ['operation', 'queue'],
  queryFn: ({ signal }) => get<Queue>('/queue', {}, signal),
  refetchInterval: LIVE_MS,
});

export const queueHistoryQuery = queryOptions({
  queryKey: ['operation', 'queue-history'],
  queryFn: ({ signal }) => get<{ data: readonly FinishedMinute[] }>('/queue/history', {}, signal),
  refetchInterval: FIGURES_MS,
});

export function failuresQuery(days: string) {
  return queryOptions({
    queryKey: ['operation', 'failures', days],
    queryFn: ({ signal }) => get<{ data: readonly FailureGroup[] }>('/failures', { days }, signal),
    refetchInterval: FAILURES_MS,
  });
}
