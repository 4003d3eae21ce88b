import { createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { secretIdOf } from '#secrets/sealed-text.js';

/** 256 random bits, for a cookie or a link. */
export function newToken(): string {
  return randomBytes(32).toString('base64url');
}

/** The keys for hashing tokens and API keys; the previous one only for lookups. */
export interface TokenSecrets {
  readonly secretKey: string;
  readonly secretKeyPrevious?: string | undefined;
}

type Purpose = 'session' | 'link' | 'client' | 'client token';

/** The stored form of a token: its HMAC-SHA-256 under a key derived from SECRET_KEY for each purpose. */
export function hashToken(secretKey: string, purpose: Purpose, token: string): Uint8Array<ArrayBuffer> {
  const pepper = Buffer.from(hkdfSync('sha256', secretKey, '', `console ${purpose}`, 32));
  return new Uint8Array(createHmac('sha256', pepper).update(token).digest());
}

/** The columns of a token, hashed with the current SECRET_KEY. */
export function tokenColumns(
  { secretKey }: TokenSecrets,
  purpose: Purpose,
  token: string,
): { tokenHash: Uint8Array<ArrayBuffer>; secretId: string } {
  return { tokenHash: hashToken(secretKey, purpose, token), secretId: secretIdOf(secretKey) };
}

/** The possible stored forms of a token: with the current SECRET_KEY, and with the previous one. */
export function tokenHashes(
  { secretKey, secretKeyPrevious }: TokenSecrets,
  purpose: Purpose,
  token: string,
): Uint8Array<ArrayBuffer>[] {
  const keys = [secretKey, ...(secretKeyPrevious === undefined ? [] : [secretKeyPrevious])];
  return keys.map((key) => hashToken(key, purpose, token));
}
