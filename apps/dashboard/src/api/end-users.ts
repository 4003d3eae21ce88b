import { queryOptions } from '@tanstack/react-query';
import { get, send } from './request.ts';
import type { Schema } from './generated/schema.ts';

export type EndUser = Schema['EndUserView'];
export type PauseRule = Schema['PauseRuleView'];
export type LabelLimit = Schema['LabelLimitView'];

const REFRESH_MS = 15_000;
/** What a changed state makes stale. */
export const END_USER_VIEWS = [{ queryKey: ['end-users'] }];

/** End users that are flagged, paused, or blocked, and those with the most refused requests. */
export const endUsersQuery = queryOptions({
  queryKey: ['end-users', 'list'],
  queryFn: ({ signal }) => get<Schema['EndUserListView']>('/end-users', {}, signal),
  refetchInterval: REFRESH_MS,
});

/** The end users that an identifier may mean. */
export const foundEndUsersQuery = (identifier: string | undefined) =>
  queryOptions({
    queryKey: ['end-users', 'found', identifier],
    queryFn: () => send<Schema['FoundEndUsersView']>('POST', '/end-users/find', { identifier }),
    enabled: identifier !== undefined,
  });

/** When end users are paused. */
export const pauseRuleQuery = queryOptions({
  queryKey: ['end-users', 'pause-rule'],
  queryFn: ({ signal }) => get<PauseRule>('/end-users/pause-rule', {}, signal),
});

/** What end users and tags are limited to. */
export const labelLimitsQuery = queryOptions({
  queryKey: ['end-users', 'limits'],
  queryFn: ({ signal }) => get<Schema['LabelLimitsView']>('/end-users/limits', {}, signal),
});
