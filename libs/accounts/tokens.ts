import { createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { secretIdOf } from '#secrets/sealed-text.js';

/** 256 random bits, for a cookie or a link. */
export function newToken(): string {
  return randomBytes(32).toString('base64url');
}

/** What tokens are hashed under; the key before this one is for looking up alone. */
export interface TokenSecrets {
  readonly secretKey: string;
  readonly secretKeyPrevious?: string | undefined;
}

type Purpose = 'session' | 'link';

/** What is stored of a token: its HMAC-SHA-256 under a key of SECRET_KEY; each purpose has its own. */
export function hashToken(secretKey: string, purpose: Purpose, token: string): Uint8Array<ArrayBuffer> {
  const pepper = Buffer.from(hkdfSync('sha256', secretKey, '', `console ${purpose}`, 32));
  return new Uint8Array(createHmac('sha256', pepper).update(token).digest());
}

/** The columns of a token under this SECRET_KEY. */
export function tokenColumns(
  { secretKey }: TokenSecrets,
  purpose: Purpose,
  token: string,
): { tokenHash: Uint8Array<ArrayBuffer>; secretId: string } {
  return { tokenHash: hashToken(secretKey, purpose, token), secretId: secretIdOf(secretKey) };
}

/** What may be stored of a token: under this SECRET_KEY, and under the one before it. */
export function tokenHashes(
  { secretKey, secretKeyPrevious }: TokenSecrets,
  purpose: Purpose,
  token: string,
): Uint8Array<ArrayBuffer>[] {
  const keys = [secretKey, ...(secretKeyPrevious === undefined ? [] : [secretKeyPrevious])];
  return keys.map((key) => hashToken(key, purpose, token));
}
