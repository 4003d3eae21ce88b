import { QueryClient, queryOptions, useQuery } from '@tanstack/react-query';
import { get, RequestError } from './request.ts';
import type { Schema } from './generated/schema.ts';
import type { Ability, Session, SignInState, TaskDetail, TaskPage } from './types.ts';

export const queryClient = new QueryClient({
  defaultOptions: {
    // Without a connection, a request fails at once and says so. By default it would wait unseen, and an order that its
    // user has given up on would be paid once the connection is back.
    mutations: { networkMode: 'always' },
    queries: {
      networkMode: 'always',
      refetchOnReconnect: true,
      staleTime: 10_000,
      // Retries only requests without a response and server errors.
      retry: (count, error) =>
        count < 2 && (!(error instanceof RequestError) || error.status === 0 || error.status >= 500),
    },
  },
});

export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: ({ signal }) => get<Session>('/session', {}, signal),
  staleTime: 60_000,
});

export const signInQuery = queryOptions({
  queryKey: ['sign-in'],
  queryFn: ({ signal }) => get<SignInState>('/sign-in', {}, signal),
});

export const keysQuery = queryOptions({
  queryKey: ['keys'],
  queryFn: ({ signal }) => get<Schema['KeyListView']>('/keys', {}, signal),
});

/** Key names for filtering tasks; below 'keys', so that invalidating those refreshes these as well. */
export const keyNamesQuery = queryOptions({
  queryKey: ['keys', 'names'],
  queryFn: ({ signal }) => get<Schema['KeyNameListView']>('/keys/names', {}, signal),
});

export const modelsQuery = queryOptions({
  queryKey: ['models'],
  queryFn: ({ signal }) => get<Schema['PlaygroundModelListView']>('/models', {}, signal),
  staleTime: 300_000,
});

export function taskQuery(id: string) {
  return queryOptions({
    queryKey: ['task', id],
    queryFn: ({ signal }) => get<TaskDetail>(`/tasks/${encodeURIComponent(id)}`, {}, signal),
  });
}

/** The newest tasks with images that the user may see. */
export const latestImagesQuery = queryOptions({
  queryKey: ['tasks', 'latest-images'],
  queryFn: ({ signal }) => get<TaskPage>('/tasks', { images: 'true', limit: 8 }, signal),
  refetchInterval: 15_000,
});

/** Number of the account's failed tasks of today, in UTC, that can be retried. */
export const openFailuresQuery = queryOptions({
  queryKey: ['tasks', 'open-failures'],
  queryFn: ({ signal }) => get<Schema['OpenFailuresView']>('/tasks/open-failures', {}, signal),
});

/** Whether the user's role has an ability. This only hides controls: the API checks again. */
export function useMay(): (ability: Ability) => boolean {
  const { abilities } = useSession();
  return (ability) => abilities.includes(ability);
}

/** The current session; the shell renders pages only with one. */
export function useSession(): Session {
  const { data } = useQuery(sessionQuery);
  if (data === undefined) throw new Error('A page of the console was opened without a session.');
  return data;
}
