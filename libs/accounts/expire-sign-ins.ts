import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database/prisma.service.js';
import { Logger } from '#telemetry/logger.js';
import { aliveSessions } from './session-store.js';

const BATCH = 1_000;

/**
 * Removes expired one-time links (used or not), expired sessions, and used passkey challenges that have expired. What
 * they led to is in the audit log.
 */
@Injectable()
export class ExpireSignIns {
  constructor(
    private readonly prisma: PrismaService,
    private readonly logger: Logger,
  ) {}

  /** Removes everything that has expired. Throws when the database fails; the next run continues. */
  async run(): Promise<void> {
    const { signInLink, session, usedPasskeyChallenge } = this.prisma;
    await this.removeAll('links', () =>
      signInLink.deleteMany({ where: { expiresAt: { lte: new Date() } }, limit: BATCH }),
    );
    await this.removeAll('sessions', () => session.deleteMany({ where: { NOT: aliveSessions() }, limit: BATCH }));
    await this.removeAll('challenges', () =>
      usedPasskeyChallenge.deleteMany({ where: { expiresAt: { lte: new Date() } }, limit: BATCH }),
    );
  }

  private async removeAll(name: string, removeSome: () => Promise<{ count: number }>): Promise<void> {
    let count: number;
    do {
      ({ count } = await removeSome());
      if (count > 0) this.logger.info(`retention.${name}_deleted`, { count });
    } while (count === BATCH);
  }
}
