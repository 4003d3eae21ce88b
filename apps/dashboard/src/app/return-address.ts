const NAME = 'darkroom.return-address';
const INVITATION = 'darkroom.invitation';
/** Pages of the console; the sign-in pages lie beside them. */
const PAGE = /^\/console\/(?!sign-in|first-run|invite|reset-password)[^/\\]/;

/** Remembers the page that this tab wanted before its sign-in, wherever that leads. */
export function keepReturnAddress(): void {
  const { pathname, search } = location;
  if (PAGE.test(pathname)) sessionStorage.setItem(NAME, pathname + search);
}

/** Keeps the token of an invitation that is accepted after signing in, in this tab alone. */
export function keepInvitation(token: string): void {
  sessionStorage.setItem(INVITATION, token);
}

/** The token of the invitation that was to be accepted. */
export function keptInvitation(): string {
  return sessionStorage.getItem(INVITATION) ?? '';
}

/** The invitation was opened. */
export function forgetInvitation(): void {
  sessionStorage.removeItem(INVITATION);
}

/** The page that was wanted, once. */
export function takeReturnAddress(): string | undefined {
  if (keptInvitation() !== '') return '/console/invite';
  const kept = sessionStorage.getItem(NAME);
  sessionStorage.removeItem(NAME);
  return kept !== null && PAGE.test(kept) ? kept : undefined;
}
