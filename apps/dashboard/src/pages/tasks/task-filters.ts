import { queryOptions } from '@tanstack/react-query';
import { get } from '../../api/request.ts';
import type { Schema } from '../../api/generated/schema.ts';
import type { TaskCount } from '../../api/types.ts';

/** A count reads more rows than a page of the list. */
const COUNT_MS = 15_000;

/** Filters of the task list; kept in the URL, so that a list can be shared. */
export interface TaskFilters {
  readonly status?: string | undefined;
  readonly model?: string | undefined;
  readonly provider?: string | undefined;
  /** Error code of failed tasks. */
  readonly error?: string | undefined;
  /** Id of a key, or `playground`. */
  readonly key?: string | undefined;
  /** Identifier of an end user. */
  readonly end_user?: string | undefined;
  readonly tag?: string | undefined;
  readonly text?: string | undefined;
  /** Accepted from this time on, and before the second one; ISO 8601. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** `oldest`, `longest`, `shortest`, `costliest` or `cheapest` first instead of newest. */
  readonly order?: string | undefined;
}

/** The names of the active filters; the two ends of a time range count as one. */
export function activeFilters({ order: _, from, to, ...filters }: TaskFilters): string[] {
  const times = { 'time range': from ?? to };
  const active = Object.entries({ ...filters, ...times }).filter(([, value]) => value !== undefined);
  return active.map(([name]) => (name === 'text' ? 'search' : name.replace('_', ' ')));
}

/** Whether filters are active. */
export function isNarrowed(filters: TaskFilters): boolean {
  return activeFilters(filters).length > 0;
}

/** Whether the filters need a search, from the newest task back, instead of an index. */
export function isSearch({ text, provider, error }: TaskFilters): boolean {
  return text !== undefined || provider !== undefined || error !== undefined;
}

const RANKINGS: readonly (string | undefined)[] = ['longest', 'shortest', 'costliest', 'cheapest'];

/** Whether the order is by duration or cost, which works only for a limited number of tasks. */
export function isRanking(order: string | undefined): boolean {
  return RANKINGS.includes(order);
}

/** The chosen order, if it is available; undefined: newest first. */
export function orderOf(filters: TaskFilters, count: TaskCount | undefined): string | undefined {
  const { order } = filters;
  if (isSearch(filters)) return undefined;
  return isRanking(order) && count?.sortable !== true ? undefined : order;
}

/** Numbers of tasks by provider and by error, which are choices of the filters. */
export function outcomesQuery({ status, model, key, end_user, tag, from, to }: TaskFilters) {
  const query = { status, model, key, end_user, tag, from, to };
  return queryOptions({
    queryKey: ['tasks', 'outcomes', query],
    queryFn: ({ signal }) => get<Schema['OutcomesView']>('/tasks/outcomes', query, signal),
    refetchInterval: COUNT_MS,
  });
}

/** Number of matching tasks. */
export function countQuery(filters: TaskFilters) {
  const { order: _, ...query } = filters;
  return queryOptions({
    queryKey: ['tasks', 'count', query],
    queryFn: ({ signal }) => get<TaskCount>('/tasks/count', query, signal),
    refetchInterval: COUNT_MS,
    enabled: !isSearch(filters),
  });
}
