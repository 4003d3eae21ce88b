import { createHmac } from 'node:crypto';

/**
 * What a key does with the identifiers of end users. `off`: fields are passed on as they are, and nothing is recorded;
 * `forward`: the identifier is recorded and passed on; `derive`: a digest of it, or of the key, takes its place;
 * `require`: like `derive`, but a request without one is refused.
 */
export const END_USER_MODES = ['off', 'forward', 'derive', 'require'] as const;
export type EndUserMode = (typeof END_USER_MODES)[number];

/** The `end_users` column of a key's row; a value of a later version must not let raw identifiers out. */
export function storedEndUserMode(text: string): EndUserMode {
  return END_USER_MODES.find((mode) => mode === text) ?? 'derive';
}

/**
 * The identifier of an end user, or of a key in its place: 46 printable characters, the same for all keys of an account,
 * and unknowable without its secret. A key and an end user never have the same one.
 */
export function derivedIdentifier(secret: Buffer, of: 'end user' | 'key', raw: string): string {
  return `eu_${createHmac('sha256', secret).update(`${of}\n${raw}`).digest('base64url')}`;
}
