import { Injectable } from '@nestjs/common';
import { Logger } from '#telemetry/logger.js';
import { ChatReserves } from './chat-reserves.js';
import { ChatUsageRepository } from './chat-usage.repository.js';
import { dueSince, removeExpired } from './remove-expired.js';

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
    return await dueSince(chatUsageRetentionDays, (time) => this.usage.oldestBefore(time));
  }

  /** Removes everything that has expired. Throws when the database fails; the next run continues. */
  async run({ chatUsageRetentionDays }: { readonly chatUsageRetentionDays: number }): Promise<void> {
    const lost = await this.reserves.releaseLost();
    if (lost > 0) this.logger.warn('retention.chat_reserves_released', { count: lost });
    await removeExpired(this.logger, 'chat_usage', chatUsageRetentionDays, (time, limit) =>
      this.usage.removeBefore(time, limit),
    );
  }
}
