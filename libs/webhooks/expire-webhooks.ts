import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database/prisma.service.js';
import { Logger } from '#telemetry/logger.js';

const BATCH = 1_000;
const HOUR_MS = 3_600_000;

/** Removes the log of deliveries as old as the tasks they told of, and secrets that are valid no more. */
@Injectable()
export class ExpireWebhooks {
  constructor(
    private readonly prisma: PrismaService,
    private readonly logger: Logger,
  ) {}

  /** Since when the oldest delivery should be gone; undefined when none should. */
  async dueSince({ taskRetentionHours }: { readonly taskRetentionHours: number }): Promise<Date | undefined> {
    const keptMs = taskRetentionHours * HOUR_MS;
    const oldest = await this.prisma.webhookDelivery.findFirst({
      where: { createdAt: { lt: new Date(Date.now() - keptMs) } },
      orderBy: { createdAt: 'asc' },
      select: { createdAt: true },
    });
    return oldest === null ? undefined : new Date(oldest.createdAt.getTime() + keptMs);
  }

  /** One round over everything that is due. Throws when the database fails; the next round goes on. */
  async run({ taskRetentionHours }: { readonly taskRetentionHours: number }): Promise<void> {
    await this.prisma.webhookSecret.deleteMany({ where: { expiresAt: { lte: new Date() } } });
    const where = { createdAt: { lt: new Date(Date.now() - taskRetentionHours * HOUR_MS) } };
    let count: number;
    do {
      ({ count } = await this.prisma.webhookDelivery.deleteMany({ where, limit: BATCH }));
      if (count > 0) this.logger.info('retention.deliveries_deleted', { count });
    } while (count === BATCH);
  }
}
