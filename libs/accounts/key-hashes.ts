import { createHmac, hkdfSync } from 'node:crypto';
import type { PrismaService } from '#database/prisma.service.js';
import { isUniqueViolation } from '#database/database-errors.js';
import { secretIdOf } from '#secrets/sealed-text.js';
import type { TokenSecrets } from './tokens.js';

/** The stored form of a key: its HMAC-SHA-256 under a key derived from SECRET_KEY for this purpose only. */
export function hashApiKey(secretKey: string, key: string): Buffer {
  const pepper = Buffer.from(hkdfSync('sha256', secretKey, '', 'api-key', 32));
  return createHmac('sha256', pepper).update(key).digest();
}

/** The columns of a key, hashed with the current SECRET_KEY. */
export function hashColumns(
  { secretKey }: TokenSecrets,
  key: string,
): { hash: Uint8Array<ArrayBuffer>; secretId: string } {
  return { hash: new Uint8Array(hashApiKey(secretKey, key)), secretId: secretIdOf(secretKey) };
}

/** The possible stored forms of a key: with the current SECRET_KEY, and with the previous one. */
export function keyHashes({ secretKey, secretKeyPrevious }: TokenSecrets, key: string): Uint8Array<ArrayBuffer>[] {
  const secretKeys = [secretKey, ...(secretKeyPrevious === undefined ? [] : [secretKeyPrevious])];
  return secretKeys.map((secret) => new Uint8Array(hashApiKey(secret, key)));
}

/** Rehashes a stored key with the current SECRET_KEY if its hash uses the previous one. */
export async function renewHash(prisma: PrismaService, secrets: TokenSecrets, key: string): Promise<void> {
  const data = hashColumns(secrets, key);
  const isOutdated = { secretId: { not: data.secretId } };
  try {
    await prisma.apiKey.updateMany({ where: { hash: { in: keyHashes(secrets, key) }, ...isOutdated }, data });
  } catch (error) {
    // The key is already stored with the new hash as well.
    if (!isUniqueViolation(error)) throw error;
  }
}
