import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database/prisma.service.js';
import { Logger } from '#telemetry/logger.js';
import { idleSince } from './session-store.js';

const BATCH = 1_000;

/**
 * Removes expired one-time links (used or not), expired sessions, used passkey challenges and tokens of clients that have
 * expired. What they led to is in the audit log.
 */
@Injectable()
export class ExpireSignIns {
  constructor(
    private readonly prisma: PrismaService,
    private readonly logger: Logger,
  ) {}

  /** When the oldest of them became due for deletion; undefined when none is due. */
  async dueSince(): Promise<Date | undefined> {
    const { signInLink, session, usedPasskeyChallenge } = this.prisma;
    const now = new Date();
    const idle = idleSince();
    const expired = { where: { expiresAt: { lte: now } }, orderBy: { expiresAt: 'asc' } } as const;
    const unused = { where: { lastSeenAt: { lte: idle } }, orderBy: { lastSeenAt: 'asc' } } as const;
    const link = await signInLink.findFirst({ ...expired, select: { expiresAt: true } });
    const over = await session.findFirst({ ...expired, select: { expiresAt: true } });
    const left = await session.findFirst({ ...unused, select: { lastSeenAt: true } });
    const challenge = await usedPasskeyChallenge.findFirst({ ...expired, select: { expiresAt: true } });
    const token = await this.prisma.oAuthToken.findFirst({ ...expired, select: { expiresAt: true } });
    const idleMs = now.getTime() - idle.getTime();
    const times = [link, over, challenge, token].flatMap((row) => row?.expiresAt.getTime() ?? []);
    if (left !== null) times.push(left.lastSeenAt.getTime() + idleMs);
    return times.length === 0 ? undefined : new Date(Math.min(...times));
  }

  /** Removes everything that has expired. Throws when the database fails; the next run continues. */
  async run(): Promise<void> {
    const { signInLink, usedPasskeyChallenge } = this.prisma;
    await this.removeAll('links', () =>
      signInLink.deleteMany({ where: { expiresAt: { lte: new Date() } }, limit: BATCH }),
    );
    await this.removeAll('sessions', () => this.removeExpired());
    await this.removeAll('sessions', () => this.removeIdle());
    await this.removeAll('challenges', () =>
      usedPasskeyChallenge.deleteMany({ where: { expiresAt: { lte: new Date() } }, limit: BATCH }),
    );
    await this.removeAll('client_tokens', () =>
      this.prisma.oAuthToken.deleteMany({ where: { expiresAt: { lte: new Date() } }, limit: BATCH }),
    );
    await this.endForgottenClients();
  }

  /** The key of a client that has no token left never works again. */
  private async endForgottenClients(): Promise<void> {
    await this.prisma.apiKey.updateMany({
      where: { oauthClient: { not: null }, revokedAt: null, oauthTokens: { none: {} } },
      data: { revokedAt: new Date() },
    });
  }

  /** A range of one index: a condition on both times, or a limit, would read the whole table. */
  private async removeExpired(): Promise<{ count: number }> {
    const { session } = this.prisma;
    const now = new Date();
    const where = { expiresAt: { lte: now } };
    const last = await session.findFirst({ where, orderBy: { expiresAt: 'asc' }, skip: BATCH - 1 });
    return await session.deleteMany({ where: { expiresAt: { lte: last?.expiresAt ?? now } } });
  }

  private async removeIdle(): Promise<{ count: number }> {
    const { session } = this.prisma;
    const idle = idleSince();
    const where = { lastSeenAt: { lte: idle } };
    const last = await session.findFirst({ where, orderBy: { lastSeenAt: 'asc' }, skip: BATCH - 1 });
    return await session.deleteMany({ where: { lastSeenAt: { lte: last?.lastSeenAt ?? idle } } });
  }

  private async removeAll(name: string, removeSome: () => Promise<{ count: number }>): Promise<void> {
    let count: number;
    do {
      ({ count } = await removeSome());
      if (count > 0) this.logger.info(`retention.${name}_deleted`, { count });
    } while (count >= BATCH);
  }
}
