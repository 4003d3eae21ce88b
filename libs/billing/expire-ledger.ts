import { Injectable } from '@nestjs/common';
import { Logger } from '#telemetry/logger.js';
import { ChargeRepository } from './charge.repository.js';
import { UsageRepository } from './usage.repository.js';
import { ChatReserves } from './chat-reserves.js';
import { ChatUsageRepository } from './chat-usage.repository.js';

const BATCH = 1_000;
const DAY_MS = 86_400_000;

interface Retention {
  readonly chargeRetentionDays: number;
  readonly usageHourRetentionDays: number;
  readonly usageDayRetentionDays: number;
}

/** Removes charges and usage when their time is over; what each key has spent in each month is never removed. */
@Injectable()
export class ExpireLedger {
  constructor(
    private readonly charges: ChargeRepository,
    private readonly usage: UsageRepository,
    private readonly logger: Logger,
  ) {}

  /** One round over everything that is due. Throws when the database fails; the next round goes on. */
  async run({ chargeRetentionDays, usageHourRetentionDays, usageDayRetentionDays }: Retention): Promise<void> {
    await removeAll(this.logger, 'usage_hours', usageHourRetentionDays, (time) =>
      this.usage.removeBefore('hour', time, BATCH),
    );
    await removeAll(this.logger, 'usage_days', usageDayRetentionDays, (time) =>
      this.usage.removeBefore('day', time, BATCH),
    );
    // What is not added up yet would be lost.
    if (await this.usage.needs('charges')) return;
    await removeAll(this.logger, 'charges', chargeRetentionDays, (time) => this.charges.removeBefore(time, BATCH));
  }
}

/**
 * Removes what was written down of chats when its time is over, and gives back what was set aside for those that never were.
 * Budgets have counted it when it was written.
 */
@Injectable()
export class ExpireChatUsage {
  constructor(
    private readonly reserves: ChatReserves,
    private readonly usage: ChatUsageRepository,
    private readonly rollups: UsageRepository,
    private readonly logger: Logger,
  ) {}

  /** Since when the oldest usage should be gone; undefined when none should. */
  async dueSince({ chatUsageRetentionDays }: { readonly chatUsageRetentionDays: number }): Promise<Date | undefined> {
    const keptMs = chatUsageRetentionDays * DAY_MS;
    const oldest = await this.usage.oldestBefore(new Date(Date.now() - keptMs));
    return oldest && new Date(oldest.getTime() + keptMs);
  }

  /** One round over everything that is due. Throws when the database fails; the next round goes on. */
  async run({ chatUsageRetentionDays }: { readonly chatUsageRetentionDays: number }): Promise<void> {
    const lost = await this.reserves.releaseLost();
    if (lost > 0) this.logger.warn('retention.chat_reserves_released', { count: lost });
    // What is not added up yet would be lost.
    if (await this.rollups.needs('chats')) return;
    await removeAll(this.logger, 'chat_usage', chatUsageRetentionDays, (time) => this.usage.removeBefore(time, BATCH));
  }
}

/** Batch after batch of what is older than so many days. */
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
  } while (count === BATCH);
}
