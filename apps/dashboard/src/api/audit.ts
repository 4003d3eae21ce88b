import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { get } from './request.ts';
import type { Page } from './types.ts';

/** Something that was done, as the console API tells it. */
export interface AuditEntry {
  readonly id: string;
  /** Null: nobody of the account. */
  readonly person: { readonly id: string; readonly name: string; readonly email: string } | null;
  readonly who: string;
  /** What was done, to follow `who`. */
  readonly sentence: string;
  readonly action: string;
  readonly target: string | null;
  /** Whether the account still has what it is about. */
  readonly target_exists: boolean;
  readonly details: Readonly<Record<string, unknown>>;
  readonly created_at: string;
}

/** What the log is narrowed to; kept in the address. */
export interface AuditFilters {
  /** Id of a person, or `nobody`. */
  readonly who?: string | undefined;
  readonly kind?: string | undefined;
}

const PAGE = 50;

export function auditQuery(filters: AuditFilters) {
  return infiniteQueryOptions({
    queryKey: ['audit', filters],
    queryFn: ({ pageParam, signal }) =>
      get<Page<AuditEntry>>('/audit', { limit: PAGE, after: pageParam, ...filters }, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => (page.has_more ? (page.next ?? undefined) : undefined),
    staleTime: 0,
  });
}

/** Whose deeds can be looked for. */
export const auditPeopleQuery = queryOptions({
  queryKey: ['audit-people'],
  queryFn: ({ signal }) =>
    get<{ data: readonly { readonly id: string; readonly name: string; readonly email: string }[] }>(
      '/people',
      {},
      signal,
    ),
});
