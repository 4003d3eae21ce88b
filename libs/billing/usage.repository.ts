import { Injectable } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import { PrismaService } from '#database/prisma.service.js';
import { removeLabeledUsage, removeUsage, rollUp, usageOf } from './billing.sql.js';
import { usageRows } from './usage-rows.js';
import { MAX_FIGURES, type UsageQuery, type UsageRow } from './usage.js';

type Step = 'hour' | 'day';

/** Usage by hour and day: rolled up, and still to be rolled up. */
@Injectable()
export class UsageRepository {
  constructor(private readonly prisma: PrismaService) {}

  /**
   * Rows by time and group, then by group, and last, if there are any, the total. Throws AppError `invalid_value` when
   * there are too many.
   */
  async read(accountId: string, query: UsageQuery): Promise<UsageRow[]> {
    const steps = await usageOf(this.prisma.pool, accountId, query);
    if (steps.length <= MAX_FIGURES) {
      const rows = await usageRows(steps);
      if (rows.length <= MAX_FIGURES + 1) return rows;
    }
    const most = MAX_FIGURES.toLocaleString('en');
    throw new AppError(
      'invalid_value',
      `The result has more than ${most} rows. Request fewer ${query.by}s at a time.`,
      {
        param: 'from',
      },
    );
  }

  /** The first day with rolled-up usage; undefined when there is none. */
  async since(accountId: string): Promise<Date | undefined> {
    const first = await this.prisma.usageRollup.findFirst({
      where: { accountId, step: 'day' },
      orderBy: { time: 'asc' },
      select: { time: true },
    });
    return first?.time;
  }

  /** The time of the oldest rolled-up usage from before a time. */
  async oldestBefore(step: Step, time: Date): Promise<Date | undefined> {
    const oldest = await this.prisma.usageRollup.findFirst({
      where: { step, time: { lt: time } },
      orderBy: { time: 'asc' },
      select: { time: true },
    });
    return oldest?.time;
  }

  /** Rolls up a batch and returns its size; 0 also while another process does it. */
  async rollUp(): Promise<number> {
    return await rollUp(this.prisma.pool);
  }

  /** Removes at most `limit` rows of each table from before a time; returns the larger number. */
  async removeBefore(step: Step, time: Date, limit: number): Promise<number> {
    const due = { step, time, limit };
    const rollups = await removeUsage(this.prisma.pool, 'usage_rollups', due);
    const grouped = await removeUsage(this.prisma.pool, 'grouped_usage', due);
    const labeled = step === 'day' ? await removeLabeledUsage(this.prisma.pool, due) : 0;
    return Math.max(rollups, grouped, labeled);
  }
}
