import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database/prisma.service.js';
import { Logger } from '#telemetry/logger.js';

const BATCH = 1_000;
const HOUR_MS = 3_600_000;

/** A delivery that is still tried is never deleted. */
const ENDED = { state: { not: 'pending' } } as const;

/** Removes ended deliveries past the retention of tasks, and expired secrets. */
@Injectable()
export class ExpireWebhooks {
  constructor(
    private readonly prisma: PrismaService,
    private readonly logger: Logger,
  ) {}

  /** When the oldest delivery became due for deletion; undefined when none is due, or only some that have just ended. */
  async dueSince({ taskRetentionHours }: { readonly taskRetentionHours: number }): Promise<Date | undefined> {
    const keptMs = taskRetentionHours * HOUR_MS;
    const endedAt = { lt: new Date(Date.now() - HOUR_MS) };
    const oldest = await this.prisma.webhookDelivery.findFirst({
      where: { createdAt: { lt: new Date(Date.now() - keptMs) }, ...ENDED, endedAt },
      orderBy: { createdAt: 'asc' },
      select: { createdAt: true },
    });
    return oldest === null ? undefined : new Date(oldest.createdAt.getTime() + keptMs);
  }

  /** One round over everything that is due. Throws when the database fails; the next round continues. */
  async run({ taskRetentionHours }: { readonly taskRetentionHours: number }): Promise<void> {
    await this.prisma.webhookSecret.deleteMany({ where: { expiresAt: { lte: new Date() } } });
    const before = new Date(Date.now() - taskRetentionHours * HOUR_MS);
    while (await this.deleteDeliveries(before));
  }

  /** Deletes a batch of the oldest; returns whether there may be more. */
  private async deleteDeliveries(before: Date): Promise<boolean> {
    const { webhookDelivery } = this.prisma;
    const last = await webhookDelivery.findFirst({
      where: { createdAt: { lt: before }, ...ENDED },
      orderBy: { createdAt: 'asc' },
      skip: BATCH - 1,
      select: { createdAt: true },
    });
    // A range of the index: with a limit, the planner may join the batch with the whole table.
    const due = last === null ? { lt: before } : { lte: last.createdAt };
    const { count } = await webhookDelivery.deleteMany({ where: { createdAt: due, ...ENDED } });
    if (count > 0) this.logger.info('retention.deliveries_deleted', { count });
    return last !== null;
  }
}
