import { createHash, hkdfSync } from 'node:crypto';

/** Names a SECRET_KEY beside what was hashed with it; tells nothing of the key. */
export function secretIdOf(secretKey: string): string {
  const key = Buffer.from(hkdfSync('sha256', secretKey, '', 'secret id', 32));
  return createHash('sha256').update(key).digest('hex').slice(0, 12);
}
