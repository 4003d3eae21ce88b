import { queryOptions } from '@tanstack/react-query';
import { send } from './request.ts';
import type { Schema } from './generated/schema.ts';

/** What a client asks the user for, as it stands in the address; other parameters have no effect. */
export type AuthorizationAsked = Readonly<Partial<Record<(typeof ASKED)[number], string>>>;
type AuthorizationRequest = Schema['AuthorizationRequestView'];

const ASKED = [
  ...(['response_type', 'client_id', 'redirect_uri', 'code_challenge', 'code_challenge_method'] as const),
  ...(['state', 'resource'] as const),
] as const;

/** Reads the address of the page. */
export function askedIn(search: Readonly<Record<string, unknown>>): AuthorizationAsked {
  const given = ASKED.flatMap((name) => {
    const value = search[name];
    return typeof value === 'string' && value !== '' ? [[name, value]] : [];
  });
  return Object.fromEntries(given) as AuthorizationAsked;
}

/** Who asks, and where the user is sent then. */
export const authorizationQuery = (asked: AuthorizationAsked) =>
  queryOptions({
    queryKey: ['authorization', asked],
    queryFn: () => send<AuthorizationRequest>('POST', '/authorizations/check', asked),
    retry: false,
  });

/** Gives the client a key of the user. */
export async function authorize(asked: AuthorizationAsked): Promise<Schema['AuthorizationView']> {
  return await send('POST', '/authorizations', asked);
}
