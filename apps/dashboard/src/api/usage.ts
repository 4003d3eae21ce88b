import { queryOptions } from '@tanstack/react-query';
import { get } from './request.ts';
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

/** The account's usage of today, in UTC. */
export function todayQuery() {
  return queryOptions({
    queryKey: ['usage', 'today'],
    queryFn: ({ signal }) => {
      const from = new Date(new Date().setUTCHours(0, 0, 0, 0)).toISOString();
      return get<Usage>('/usage', { from, by: 'day' }, signal);
    },
    refetchInterval: REFRESH_MS,
  });
}
