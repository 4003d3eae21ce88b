import { CONSOLE } from '../api/place.ts';

const NAME = 'darkroom.return-address';
const INVITATION = 'darkroom.invitation';
/** Pages of the console, without the sign-in pages. */
const PAGE = /^\/(?!sign-in|first-run|invite|reset-password)[^/\\]/;

/** Remembers the page that this tab requested before the sign-in. */
export function keepReturnAddress(): void {
  const { pathname, search } = location;
  if (isPage(pathname)) sessionStorage.setItem(NAME, pathname + search);
}

/** Keeps the token of an invitation to accept after signing in, in this tab only. */
export function keepInvitation(token: string): void {
  sessionStorage.setItem(INVITATION, token);
}

/** The token of the invitation to accept. */
export function keptInvitation(): string {
  return sessionStorage.getItem(INVITATION) ?? '';
}

/** Forgets the invitation once its page has read it. */
export function forgetInvitation(): void {
  sessionStorage.removeItem(INVITATION);
}

/** Returns the requested page and forgets it. */
export function takeReturnAddress(): string | undefined {
  if (keptInvitation() !== '') return `${CONSOLE}/invite`;
  const kept = sessionStorage.getItem(NAME);
  sessionStorage.removeItem(NAME);
  return kept !== null && isPage(kept) ? kept : undefined;
}

function isPage(address: string): boolean {
  return address.startsWith(`${CONSOLE}/`) && PAGE.test(address.slice(CONSOLE.length));
}
