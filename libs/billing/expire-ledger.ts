import { Injectable } from '@nestjs/common';
import { decodeTime, encodeTime } from 'ulid';
import { PrismaService } from '#database/prisma.service.js';
import { Logger } from '#telemetry/logger.js';
import { ChargeRepository } from './charge.repository.js';
import { UsageRepository } from './usage.repository.js';
import { ChatReserves } from './chat-reserves.js';
import { ChatUsageRepository } from './chat-usage.repository.js';

const BATCH = 1_000;
const DAY_MS = 86_400_000;
const TASK = 'task_';

/** Usage by hour is for the last days, which the console shows two of at a time: two months cover every question about them. */
export const USAGE_HOUR_DAYS = 62;
/** Usage by day is small, and is compared across years: five of them. */
export const USAGE_DAY_DAYS = 1_830;

/** Removes expired charges and usage; the monthly spend of each key is never removed. */
@Injectable()
export class ExpireLedger {
  constructor(
    private readonly charges: ChargeRepository,
    private readonly usage: UsageRepository,
    private readonly logger: Logger,
  ) {}

  /** Removes everything that has expired. Throws when the database fails; the next run continues. */
  async run({ chargeRetentionDays }: { readonly chargeRetentionDays: number }): Promise<void> {
    await removeAll(this.logger, 'usage_hours', USAGE_HOUR_DAYS, (time) =>
      this.usage.removeBefore('hour', time, BATCH),
    );
    await removeAll(this.logger, 'usage_days', USAGE_DAY_DAYS, (time) => this.usage.removeBefore('day', time, BATCH));
    await removeAll(this.logger, 'charges', chargeRetentionDays, (time) => this.charges.removeBefore(time, BATCH));
  }
}

/** Since when the oldest charges and usage should be gone; undefined when none should. */
@Injectable()
export class LedgerLag {
  constructor(private readonly prisma: PrismaService) {}

  /** By the time of a charge's task, as ChargeRepository removes them. */
  async charges(keptDays: number): Promise<Date | undefined> {
    const before = Date.now() - keptDays * DAY_MS;
    const oldest = await this.prisma.charge.findFirst({
      where: { taskId: { gte: TASK, lt: TASK + encodeTime(before) } },
      orderBy: [{ taskId: 'asc' }, { kind: 'asc' }],
      select: { taskId: true },
    });
    return oldest === null ? undefined : new Date(decodeTime(oldest.taskId.slice(TASK.length)) + keptDays * DAY_MS);
  }

  async usage(step: 'hour' | 'day', keptDays: number): Promise<Date | undefined> {
    const oldest = await this.prisma.usageRollup.findFirst({
      where: { step, time: { lt: new Date(Date.now() - keptDays * DAY_MS) } },
      orderBy: { time: 'asc' },
      select: { time: true },
    });
    return oldest === null ? undefined : new Date(oldest.time.getTime() + keptDays * DAY_MS);
  }
}

/**
 * Removes expired usage of chats, and releases reserves of chats that were never recorded. Budgets counted the usage
 * when it was recorded.
 */
@Injectable()
export class ExpireChatUsage {
  constructor(
    private readonly reserves: ChatReserves,
    private readonly usage: ChatUsageRepository,
    private readonly logger: Logger,
  ) {}

  /** When the oldest usage expired; undefined when none has. */
  async dueSince({ chatUsageRetentionDays }: { readonly chatUsageRetentionDays: number }): Promise<Date | undefined> {
    const keptMs = chatUsageRetentionDays * DAY_MS;
    const oldest = await this.usage.oldestBefore(new Date(Date.now() - keptMs));
    return oldest && new Date(oldest.getTime() + keptMs);
  }

  /** Removes everything that has expired. Throws when the database fails; the next run continues. */
  async run({ chatUsageRetentionDays }: { readonly chatUsageRetentionDays: number }): Promise<void> {
    const lost = await this.reserves.releaseLost();
    if (lost > 0) this.logger.warn('retention.chat_reserves_released', { count: lost });
    await removeAll(this.logger, 'chat_usage', chatUsageRetentionDays, (time) => this.usage.removeBefore(time, BATCH));
  }
}

/** Removes rows older than this number of days, in batches. */
async function removeAll(
  logger: Logger,
  what: string,
  days: number,
  removeBefore: (time: Date) => Promise<number>,
): Promise<void> {
  const before = new Date(Date.now() - days * DAY_MS);
  let count: number;
  do {
    count = await removeBefore(before);
    if (count > 0) logger.info(`retention.${what}_deleted`, { count });
  } while (count >= BATCH);
}
