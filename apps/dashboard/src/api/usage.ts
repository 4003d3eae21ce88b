import { queryOptions } from '@tanstack/react-query';
import { get, type Query } from './request.ts';
import type { Schema } from './generated/schema.ts';
import type { Usage } from './types.ts';

const REFRESH_MS = 15_000;
const WEEK_REFRESH_MS = 60_000;
const DAY_MS = 86_400_000;

/** The account's usage of the last seven days, in UTC, today included. */
export function lastWeekQuery() {
  return queryOptions({
    queryKey: ['usage', 'last-week'],
    queryFn: ({ signal }) => {
      const from = new Date(new Date().setUTCHours(0, 0, 0, 0) - 6 * DAY_MS).toISOString();
      return get<Usage>('/usage', { from, by: 'day' }, signal);
    },
    refetchInterval: WEEK_REFRESH_MS,
  });
}

/** Where the time of the account's completed tasks went. */
export function latencyQuery(query: Query) {
  return queryOptions({
    queryKey: ['usage', 'latency', query],
    queryFn: ({ signal }) => get<Schema['LatencyView']>('/usage/latency', query, signal),
  });
}

/** The account's usage of today, in UTC. */
export function todayQuery() {
  return queryOptions({
    queryKey: ['usage', 'today'],
    queryFn: ({ signal }) => get<Usage>('/usage', today(), signal),
    refetchInterval: REFRESH_MS,
  });
}

export function latencyTodayQuery() {
  return queryOptions({
    queryKey: ['usage', 'latency', 'today'],
    queryFn: ({ signal }) => get<Schema['LatencyView']>('/usage/latency', today(), signal),
    refetchInterval: REFRESH_MS,
  });
}

function today(): Query {
  return { from: new Date(new Date().setUTCHours(0, 0, 0, 0)).toISOString(), by: 'day' };
}
