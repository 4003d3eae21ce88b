import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database/prisma.service.js';
import { Logger } from '#telemetry/logger.js';

/** How long a batch can be read after its end, in days, as its files. */
const BATCH_DAYS = 30;
const DAY_MS = 86_400_000;
const PAGE = 200;

/** Removes batches that ended long ago, with lines that a killed process left. */
@Injectable()
export class ExpireBatches {
  constructor(
    private readonly prisma: PrismaService,
    private readonly logger: Logger,
  ) {}

  /** Throws when the database fails; the next run continues. */
  async run(): Promise<void> {
    let ids: string[];
    do {
      const where = { endedAt: { lt: before() } };
      const page = await this.prisma.batch.findMany({
        where,
        orderBy: { endedAt: 'asc' },
        take: PAGE,
        select: { id: true },
      });
      ids = page.map(({ id }) => id);
      if (ids.length === 0) return;
      await this.prisma.batchLine.deleteMany({ where: { batchId: { in: ids } } });
      await this.prisma.batch.deleteMany({ where: { id: { in: ids } } });
      this.logger.info('retention.batches_deleted', { count: ids.length });
    } while (ids.length === PAGE);
  }

  /** When the oldest of them became due for deletion; undefined when none is due. */
  async dueSince(): Promise<Date | undefined> {
    const where = { endedAt: { lt: before() } };
    const oldest = await this.prisma.batch.findFirst({ where, orderBy: { endedAt: 'asc' }, select: { endedAt: true } });
    return oldest?.endedAt ? new Date(oldest.endedAt.getTime() + BATCH_DAYS * DAY_MS) : undefined;
  }
}

function before(): Date {
  return new Date(Date.now() - BATCH_DAYS * DAY_MS);
}
