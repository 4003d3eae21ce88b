import { infiniteQueryOptions } from '@tanstack/react-query';
import { get } from './request.ts';
import type { Schema } from './generated/schema.ts';

/** An entry of the audit log. */
export type AuditEntry = Schema['AuditEntryView'];

/** Filters of the log; kept in the URL. */
export interface AuditFilters {
  /** Id of a person, or `nobody`. */
  readonly who?: string | undefined;
  readonly kind?: string | undefined;
  /** Part of what an entry says. */
  readonly text?: string | undefined;
  /** Recorded from this time on, and before the second one; ISO 8601. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

const PAGE = 50;

export function auditQuery(filters: AuditFilters) {
  return infiniteQueryOptions({
    queryKey: ['audit', filters],
    queryFn: ({ pageParam, signal }) =>
      get<Schema['AuditPageView']>('/audit', { limit: PAGE, after: pageParam, ...filters }, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => (page.has_more ? (page.next ?? undefined) : undefined),
    staleTime: 0,
  });
}
