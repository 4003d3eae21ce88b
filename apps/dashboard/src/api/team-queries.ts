import { queryOptions } from '@tanstack/react-query';
import { get } from './request.ts';
import type { Schema } from './generated/schema.ts';

export const peopleQuery = queryOptions({
  queryKey: ['people'],
  queryFn: ({ signal }) => get<Schema['TeamView']>('/people', {}, signal),
});

export const invitationsQuery = queryOptions({
  queryKey: ['invitations'],
  queryFn: ({ signal }) => get<Schema['InvitationListView']>('/invitations', {}, signal),
});

export const ownAccountQuery = queryOptions({
  queryKey: ['own-account'],
  queryFn: ({ signal }) => get<Schema['OwnAccountView']>('/account', {}, signal),
});

export const accountsQuery = queryOptions({
  queryKey: ['accounts'],
  queryFn: ({ signal }) => get<Schema['AccountListView']>('/accounts', {}, signal),
});
