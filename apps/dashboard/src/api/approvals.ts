import { queryOptions } from '@tanstack/react-query';
import { get } from './request.ts';
import type { Schema } from './generated/schema.ts';

export type Approval = Schema['ApprovalView'];

const REFRESH_MS = 5_000;
const COUNT_MS = 15_000;

/** Requests that wait for an approval, oldest first. */
export const approvalsQuery = queryOptions({
  queryKey: ['approvals', 'list'],
  queryFn: ({ signal }) => get<Schema['ApprovalListView']>('/approvals', {}, signal),
  refetchInterval: REFRESH_MS,
});

/** How many there are. */
export const approvalCountQuery = queryOptions({
  queryKey: ['approvals', 'count'],
  queryFn: ({ signal }) => get<Schema['ApprovalCountView']>('/approvals/count', {}, signal),
  refetchInterval: COUNT_MS,
});
