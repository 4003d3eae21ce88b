import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { get } from './request.ts';
import type { Schema } from './generated/schema.ts';

export type AlertRule = Schema['AlertRuleView'];
export type AlertRuleChange = Schema['AlertRuleBody'];
export type AlertKind = AlertRule['kind'];
export type AlertChannel = Schema['ChannelView'];
export type AlertChannels = Schema['ChannelListView'];
export type Alert = Schema['AlertView'];

/** Rules, channels, and alerts. */
export const ALERT_VIEWS = [{ queryKey: ['alerts'] }];

const PAGE = 20;
const REFRESH_MS = 15_000;
/** While a message is being delivered. */
const LIVE_MS = 2_000;

export const alertRulesQuery = queryOptions({
  queryKey: ['alerts', 'rules'],
  queryFn: ({ signal }) => get<Schema['AlertRuleListView']>('/alerts/rules', {}, signal),
});

export const alertChannelsQuery = queryOptions({
  queryKey: ['alerts', 'channels'],
  queryFn: ({ signal }) => get<AlertChannels>('/alerts/channels', {}, signal),
  refetchInterval: ({ state }) =>
    state.data?.data.some(({ last }) => last?.status === 'pending') === true ? LIVE_MS : REFRESH_MS,
});

/** Alerts firing now. */
export const firingQuery = queryOptions({
  queryKey: ['alerts', 'firing'],
  queryFn: ({ signal }) => get<Schema['AlertPage']>('/alerts', { state: 'firing', limit: 100 }, signal),
  refetchInterval: REFRESH_MS,
});

export const pastAlertsQuery = infiniteQueryOptions({
  queryKey: ['alerts', 'past'],
  queryFn: ({ pageParam, signal }) =>
    get<Schema['AlertPage']>('/alerts', { state: 'resolved', limit: PAGE, after: pageParam }, signal),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: (page) => (page.has_more ? (page.next ?? undefined) : undefined),
  // Refreshing would move the list for users who have scrolled down.
  refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > 1 ? false : REFRESH_MS),
});
