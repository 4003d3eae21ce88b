const NAME = 'darkroom.return-address';
/** Pages of the console; the sign-in pages lie beside them. */
const PAGE = /^\/console\/(?!sign-in|first-run|invite|reset-password)[^/\\]/;

/** Remembers the page that this tab wanted before its sign-in, wherever that leads. */
export function keepReturnAddress(): void {
  const { pathname, search } = location;
  if (PAGE.test(pathname)) sessionStorage.setItem(NAME, pathname + search);
}

/** The page that was wanted, once. */
export function takeReturnAddress(): string | undefined {
  const kept = sessionStorage.getItem(NAME);
  sessionStorage.removeItem(NAME);
  return kept !== null && PAGE.test(kept) ? kept : undefined;
}
