import { queryOptions } from '@tanstack/react-query';
import { get } from './request.ts';
import type { Schema } from './generated/schema.ts';

export type RefusedGroup = Schema['RefusedGroupView'];
export type RefusedMinute = Schema['RefusedMinuteView'];

/** Which refused calls; kept in the URL. */
export interface RefusedFilters {
  /** 24 by default. */
  readonly hours?: string | undefined;
  /** Id of a key. */
  readonly key?: string | undefined;
  readonly code?: string | undefined;
  /** `true`: those of all accounts, and without a valid key. */
  readonly installation?: string | undefined;
}

const REFRESH_MS = 5_000;

/** Refused calls by key and error. */
export function refusedQuery(filters: RefusedFilters) {
  return queryOptions({
    queryKey: ['refused', 'groups', filters],
    queryFn: ({ signal }) => get<Schema['RefusedGroupListView']>('/refused-calls', { ...filters }, signal),
    refetchInterval: REFRESH_MS,
  });
}

/** The same calls, minute by minute. */
export function refusedMinutesQuery(filters: RefusedFilters) {
  return queryOptions({
    queryKey: ['refused', 'minutes', filters],
    queryFn: ({ signal }) => get<Schema['RefusedMinuteListView']>('/refused-calls/minutes', { ...filters }, signal),
    refetchInterval: REFRESH_MS,
  });
}
