import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database/prisma.service.js';
import { Logger } from '#telemetry/logger.js';

const BATCH = 1_000;

/** Removes expired Idempotency-Keys. They have no effect any more, so it does not matter when this happens. */
@Injectable()
export class ExpireIdempotencyKeys {
  constructor(
    private readonly prisma: PrismaService,
    private readonly logger: Logger,
  ) {}

  /** When the oldest expired key became due for deletion; undefined when none is due. */
  async dueSince(): Promise<Date | undefined> {
    const oldest = await this.prisma.idempotencyKey.findFirst({
      where: { expiresAt: { lte: new Date() } },
      orderBy: { expiresAt: 'asc' },
      select: { expiresAt: true },
    });
    return oldest?.expiresAt;
  }

  /** One round over everything that is due. Throws when the database fails; the next round continues. */
  async run(): Promise<void> {
    const now = new Date();
    while (await this.deleteKeys(now));
  }

  /** Deletes a batch of the oldest; returns whether there may be more. */
  private async deleteKeys(now: Date): Promise<boolean> {
    const { idempotencyKey } = this.prisma;
    const last = await idempotencyKey.findFirst({
      where: { expiresAt: { lte: now } },
      orderBy: { expiresAt: 'asc' },
      skip: BATCH - 1,
      select: { expiresAt: true },
    });
    // The deletion checks each row's expiry again, because a key may have been reused meanwhile.
    const { count } = await idempotencyKey.deleteMany({ where: { expiresAt: { lte: last?.expiresAt ?? now } } });
    if (count > 0) this.logger.info('retention.keys_deleted', { count });
    return last !== null;
  }
}
