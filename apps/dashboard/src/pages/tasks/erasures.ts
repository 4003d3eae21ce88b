import { queryOptions } from '@tanstack/react-query';
import type { Schema } from '../../api/generated/schema.ts';
import { get } from '../../api/request.ts';
import type { TaskFilters } from './task-filters.ts';

export type Erasure = Schema['ErasureView'];

const REFRESH_MS = 2_000;

/** The latest deletions of tasks by a filter; read again while one is in progress. */
export const erasuresQuery = queryOptions({
  queryKey: ['erasures'],
  queryFn: ({ signal }) => get<Schema['ErasureListView']>('/erasures', {}, signal),
  refetchInterval: ({ state }) =>
    state.data?.data.some(({ status }) => status === 'in_progress') === true ? REFRESH_MS : false,
});

const STATUSES = ['pending', 'completed', 'failed', 'cancelled'] as const;

/** What the API can delete by; undefined when the list is filtered by anything else. */
export function erasureOf({
  status,
  end_user,
  tag,
  to,
  order: _,
  ...others
}: TaskFilters): Schema['ErasureBody'] | undefined {
  if (Object.values(others).some((value) => value !== undefined)) return undefined;
  const known = STATUSES.find((one) => one === status);
  if (status !== undefined && known === undefined) return undefined;
  return {
    ...(known !== undefined && { status: known }),
    ...(end_user !== undefined && { end_user }),
    ...(tag !== undefined && { tag }),
    ...(to !== undefined && { before: to }),
  };
}

/** Whether that leaves none of the tasks, or none before a time. */
export function isForAll({ status, end_user, tag }: Schema['ErasureBody']): boolean {
  return status === undefined && end_user === undefined && tag === undefined;
}
