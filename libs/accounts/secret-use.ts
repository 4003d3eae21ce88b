import type { PrismaService } from '#database/prisma.service.js';
import { secretIdOf } from '#secrets/sealed-text.js';
import { workingKeys } from './api-key.repository.js';
import { aliveSessions } from './session-store.js';
import type { TokenSecrets } from './tokens.js';

/** How many rows that still work use each SECRET_KEY. */
export interface SecretUse {
  readonly current: number;
  readonly previous: number;
  /** Neither of these keys, so they can't be used. */
  readonly other: number;
}

/** Which SECRET_KEY the stored keys, sessions, links, and tokens of clients use. */
export async function secretUse(prisma: PrismaService, secrets: TokenSecrets): Promise<Record<string, SecretUse>> {
  const open = { usedAt: null, expiresAt: { gt: new Date() } };
  const [keys, sessions, links, tokens] = await Promise.all([
    prisma.apiKey.groupBy({ by: ['secretId'], where: { ...workingKeys(), oauthClient: null }, _count: true }),
    prisma.session.groupBy({ by: ['secretId'], where: aliveSessions(), _count: true }),
    prisma.signInLink.groupBy({ by: ['secretId'], where: open, _count: true }),
    prisma.oAuthToken.groupBy({ by: ['secretId'], where: open, _count: true }),
  ]);
  const { secretKey, secretKeyPrevious } = secrets;
  const current = secretIdOf(secretKey);
  const previous = secretKeyPrevious && secretIdOf(secretKeyPrevious);
  const use = (rows: readonly { secretId: string | null; _count: number }[]): SecretUse => {
    const count = (fits: (id: string | null) => boolean): number =>
      rows.reduce((sum, row) => sum + (fits(row.secretId) ? row._count : 0), 0);
    return {
      current: count((id) => id === current),
      previous: count((id) => id === previous),
      other: count((id) => id !== current && id !== previous),
    };
  };
  return { 'API keys': use(keys), sessions: use(sessions), 'one-time links': use(links), 'client tokens': use(tokens) };
}
