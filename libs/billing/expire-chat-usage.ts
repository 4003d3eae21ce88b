import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database/prisma.service.js';
import { Logger } from '#telemetry/logger.js';
import { releaseLostChats } from './chat-reserves.js';

const BATCH = 1_000;

/**
 * Removes what was written down of chats when its time is over, and gives back what was set aside for those that never were.
 * Budgets have counted it when it was written.
 */
@Injectable()
export class ExpireChatUsage {
  constructor(
    private readonly prisma: PrismaService,
    private readonly logger: Logger,
  ) {}

  /** One round over everything that is due. Throws when the database fails; the next round goes on. */
  async run({ chatUsageRetentionDays }: { readonly chatUsageRetentionDays: number }): Promise<void> {
    const lost = await releaseLostChats(this.prisma.pool);
    if (lost > 0) this.logger.warn('retention.chat_reserves_released', { count: lost });
    while ((await this.deleteRows(chatUsageRetentionDays)) === BATCH);
  }

  private async deleteRows(days: number): Promise<number> {
    const { rowCount } = await this.prisma.pool.query({
      text: `DELETE FROM chat_usage WHERE request_id IN (SELECT request_id FROM chat_usage
        WHERE created_at < now() - $1 * interval '1 day' ORDER BY created_at LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)`,
      values: [days],
    });
    if (rowCount) this.logger.info('retention.chat_usage_deleted', { count: rowCount });
    return rowCount ?? 0;
  }
}
