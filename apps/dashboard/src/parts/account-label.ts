/** The name of the first account until it is renamed. */
export const UNNAMED = 'Default';

/** The account's name within a sentence; "this account" if it has only the default name. */
export function accountLabel(name: string): string {
  return name === UNNAMED ? 'this account' : name;
}
