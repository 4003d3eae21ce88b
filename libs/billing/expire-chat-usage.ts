import { Injectable } from '@nestjs/common';
import { Logger } from '#telemetry/logger.js';
import { ChatReserves } from './chat-reserves.js';
import { ChatUsageRepository } from './chat-usage.repository.js';
import { UsageRepository } from './usage.repository.js';

const BATCH = 1_000;
const DAY_MS = 86_400_000;

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
    const before = new Date(Date.now() - chatUsageRetentionDays * DAY_MS);
    let count: number;
    do {
      count = await this.usage.removeBefore(before, BATCH);
      if (count > 0) this.logger.info('retention.chat_usage_deleted', { count });
    } while (count === BATCH);
  }
}
