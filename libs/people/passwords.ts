import { hash, verify } from '@node-rs/argon2';

/** Code points a password has at least, and at most: hashing longer ones would only cost time. */
export const MIN_PASSWORD_LENGTH = 12;
export const MAX_PASSWORD_LENGTH = 256;

/** Argon2id with 19 MiB and two passes, as OWASP recommends; about 20 ms of one core. */
const OPTIONS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

let nobodys: Promise<string> | undefined;

/** What is stored of a password. */
export async function hashPassword(password: string): Promise<string> {
  return await hash(password, OPTIONS);
}

/**
 * Whether a password belongs to a stored hash. Without a hash the same work is done and the answer is no, so that its
 * time does not tell who exists.
 */
export async function isPassword(stored: string | null | undefined, password: string): Promise<boolean> {
  nobodys ??= hashPassword('nobody signs in with this');
  const matches = await verify(stored ?? (await nobodys), password);
  return matches && stored !== null && stored !== undefined;
}
