import { queryOptions } from '@tanstack/react-query';
import { get } from '../../api/request.ts';
import type { TaskCount } from '../../api/types.ts';

/** A count reads more than a page of the list does. */
const COUNT_MS = 15_000;

/** What the list of tasks is narrowed to; kept in the address, so that a list can be sent to others. */
export interface TaskFilters {
  readonly status?: string | undefined;
  readonly model?: string | undefined;
  readonly provider?: string | undefined;
  /** Id of a key, or `playground`. */
  readonly key?: string | undefined;
  readonly text?: string | undefined;
  /** Accepted at this time or later, and before this time; as ISO 8601 writes it. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** `oldest`, `longest`, `shortest`, `costliest` or `cheapest` first instead of newest. */
  readonly order?: string | undefined;
}

/** What the list is narrowed by, as its fields are called; both ends of a time are one. */
export function activeFilters({ order: _, from, to, ...filters }: TaskFilters): string[] {
  const times = { 'time range': from ?? to };
  const active = Object.entries({ ...filters, ...times }).filter(([, value]) => value !== undefined);
  return active.map(([name]) => (name === 'text' ? 'search' : name));
}

/** Whether the list holds less than all tasks. */
export function isNarrowed(filters: TaskFilters): boolean {
  return activeFilters(filters).length > 0;
}

/** What is searched through instead of looked up, which goes from the newest task back. */
export function isSearch({ text, provider }: TaskFilters): boolean {
  return text !== undefined || provider !== undefined;
}

const RANKINGS: readonly (string | undefined)[] = ['longest', 'shortest', 'costliest', 'cheapest'];

/** Whether an order is by duration or cost, which only few tasks can be put in. */
export function isRanking(order: string | undefined): boolean {
  return RANKINGS.includes(order);
}

/** The order of a list: the one that was chosen, where it can be had; undefined: newest first. */
export function orderOf(filters: TaskFilters, count: TaskCount | undefined): string | undefined {
  const { order } = filters;
  if (isSearch(filters)) return undefined;
  return isRanking(order) && count?.sortable !== true ? undefined : order;
}

/** How many tasks match. */
export function countQuery(filters: TaskFilters) {
  const { order: _, ...query } = filters;
  return queryOptions({
    queryKey: ['tasks', 'count', query],
    queryFn: ({ signal }) => get<TaskCount>('/tasks/count', query, signal),
    refetchInterval: COUNT_MS,
    enabled: !isSearch(filters),
  });
}
