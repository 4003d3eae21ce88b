import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database/prisma.service.js';
import { Logger } from '#telemetry/logger.js';

const BATCH = 1_000;

/** Removes Idempotency-Keys whose time is over. They stand for nothing any more, so when it happens does not matter. */
@Injectable()
export class ExpireKeys {
  constructor(
    private readonly prisma: PrismaService,
    private readonly logger: Logger,
  ) {}

  /** One round over everything that is due. Throws when the database fails; the next round goes on. */
  async run(): Promise<void> {
    const now = new Date();
    while (await this.deleteKeys(now));
  }

  /** Some of the oldest. Whether there are more. */
  private async deleteKeys(now: Date): Promise<boolean> {
    const { idempotencyKey } = this.prisma;
    const last = await idempotencyKey.findFirst({
      where: { expiresAt: { lte: now } },
      orderBy: { expiresAt: 'asc' },
      skip: BATCH - 1,
      select: { expiresAt: true },
    });
    // Asked of each row once more when it is removed: a key may have been taken anew meanwhile.
    const { count } = await idempotencyKey.deleteMany({ where: { expiresAt: { lte: last?.expiresAt ?? now } } });
    if (count > 0) this.logger.info('retention.keys_deleted', { count });
    return last !== null;
  }
}
