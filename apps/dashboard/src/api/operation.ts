import { queryOptions } from '@tanstack/react-query';
import { get } from './request.ts';
import type { Schema } from './generated/schema.ts';

/** Refresh intervals while the page is visible, in ms; expensive figures are read less often. */
const LIVE_MS = 3_000;
const FIGURES_MS = 15_000;
const FAILURES_MS = 30_000;

export type Provider = Schema['ProviderStateView'];
/** Calls of the last hour. */
export type RecentCalls = Schema['RecentCallsView'];
export type Tried = Schema['TriedView'];
export type Queue = Schema['QueueView'];
export type QueueWorker = Schema['WorkerView'];
export type FinishedMinute = Schema['FinishedMinuteView'];
export type FailureGroup = Schema['FailureGroupView'];
export type FailedTaskPage = Schema['FailedTaskPage'];
export type RetryBody = Schema['RetryBody'];
export type RetryOutcome = Schema['RetryView'];

export const providersQuery = queryOptions({
  queryKey: ['operation', 'providers'],
  queryFn: ({ signal }) => get<Schema['ProviderListView']>('/providers', {}, signal),
  refetchInterval: LIVE_MS,
});

export const queueQuery = queryOptions({
  queryKey: ['operation', 'queue'],
  queryFn: ({ signal }) => get<Queue>('/queue', {}, signal),
  refetchInterval: LIVE_MS,
});

export const queueLatencyQuery = queryOptions({
  queryKey: ['operation', 'queue-latency'],
  queryFn: ({ signal }) => get<Schema['LatencyView']>('/queue/latency', {}, signal),
  refetchInterval: FIGURES_MS,
});

export const queueHistoryQuery = queryOptions({
  queryKey: ['operation', 'queue-history'],
  queryFn: ({ signal }) => get<Schema['FinishedMinutesView']>('/queue/history', {}, signal),
  refetchInterval: FIGURES_MS,
});

export function failuresQuery(days: string) {
  return queryOptions({
    queryKey: ['operation', 'failures', days],
    queryFn: ({ signal }) => get<Schema['FailureListView']>('/failures', { days }, signal),
    refetchInterval: FAILURES_MS,
  });
}
