import { createHmac, hkdfSync, randomBytes } from 'node:crypto';

/** 256 random bits, for a cookie or a link. */
export function newToken(): string {
  return randomBytes(32).toString('base64url');
}

/** What is stored of a token: its HMAC-SHA-256 under a key of SECRET_KEY; each purpose has its own. */
export function hashToken(secretKey: string, purpose: 'session' | 'link', token: string): Buffer {
  const pepper = Buffer.from(hkdfSync('sha256', secretKey, '', `console ${purpose}`, 32));
  return createHmac('sha256', pepper).update(token).digest();
}
