/** What the first account is called until somebody names it. */
export const UNNAMED = 'Default';

/** The account's name within a sentence; that of an account without one says nothing. */
export function accountLabel(name: string): string {
  return name === UNNAMED ? 'this account' : name;
}
