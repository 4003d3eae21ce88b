import { Injectable } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import { PrismaService } from '#database/prisma.service.js';
import { backfillUsage } from './usage-backfill.js';
import { rollUp, usageOf } from './billing.sql.js';
import { MOST_FIGURES, type UsageQuery, type UsageRow } from './usage.js';

type Step = 'hour' | 'day';

/** Usage by hour and day: what has been added up, and what workers are still to add up. */
@Injectable()
export class UsageRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** By time and group, then by group, and last, if there is anything, all of it together. Throws AppError `invalid_value` when that is too much. */
  async read(accountId: string, query: UsageQuery): Promise<UsageRow[]> {
    const rows = await usageOf(this.prisma.pool, accountId, query);
    if (rows.length <= MOST_FIGURES + 1) return rows;
    const most = MOST_FIGURES.toLocaleString('en');
    throw new AppError('invalid_value', `That is more than ${most} figures. Ask for fewer ${query.by}s at a time.`, {
      param: 'from',
    });
  }

  /** The first day of which there are figures that were added up; undefined when there is none. */
  async since(accountId: string): Promise<Date | undefined> {
    const first = await this.prisma.usageRollup.findFirst({
      where: { accountId, step: 'day' },
      orderBy: { time: 'asc' },
      select: { time: true },
    });
    return first?.time;
  }

  /** Adds up some of what has ended; answers with how much. Another process may do the same: then that is 0. */
  async rollUp(): Promise<number> {
    return await rollUp(this.prisma.pool);
  }

  /** Hands some of what ended before there were rollups to `rollUp`; 0 when nothing is left. */
  async backfill(): Promise<number> {
    return await backfillUsage(this.prisma);
  }

  /** Whether a source of the figures is still to be read. */
  async needs(source: 'charges' | 'tasks' | 'chats'): Promise<boolean> {
    return (await this.prisma.usageBackfill.count({ where: { source } })) > 0;
  }

  /** Removes so many rows at most of either table from before a time; answers with the larger number. */
  async removeBefore(step: Step, time: Date, limit: number): Promise<number> {
    const due = { where: { step, time: { lt: time } }, limit };
    const rollups = await this.prisma.usageRollup.deleteMany(due);
    const byGroup = await this.prisma.usageByGroup.deleteMany(due);
    return Math.max(rollups.count, byGroup.count);
  }
}
