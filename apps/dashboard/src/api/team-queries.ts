import { queryOptions } from '@tanstack/react-query';
import { get } from './request.ts';
import type { AccountRow, Invitation, OwnAccount, Person } from './team-types.ts';

interface List<Item> {
  readonly data: readonly Item[];
}

export const peopleQuery = queryOptions({
  queryKey: ['people'],
  queryFn: ({ signal }) => get<List<Person>>('/people', {}, signal),
});

export const invitationsQuery = queryOptions({
  queryKey: ['invitations'],
  queryFn: ({ signal }) => get<List<Invitation>>('/invitations', {}, signal),
});

export const ownAccountQuery = queryOptions({
  queryKey: ['own-account'],
  queryFn: ({ signal }) => get<OwnAccount>('/account', {}, signal),
});

export const accountsQuery = queryOptions({
  queryKey: ['accounts'],
  queryFn: ({ signal }) => get<List<AccountRow>>('/accounts', {}, signal),
});
