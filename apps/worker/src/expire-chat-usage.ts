import type { Database } from '#database/database.js';
import { releaseLostChats } from '#money/chat-reserves.js';
import type { Logger } from '#telemetry/logger.js';
import type { WorkerConfig } from './worker.config.js';

const BATCH = 1_000;

/**
 * Removes what was written down of chats when its time is over, and gives back what was set aside for those that never were.
 * Budgets have counted it when it was written.
 */
export class ExpireChatUsage {
  constructor(
    private readonly database: Database,
    private readonly config: WorkerConfig,
    private readonly logger: Logger,
  ) {}

  /** One round over everything that is due. Throws when the database fails; the next round goes on. */
  async run(): Promise<void> {
    const lost = await releaseLostChats(this.database.pool);
    if (lost > 0) this.logger.warn('retention.chat_reserves_released', { count: lost });
    while ((await this.deleteRows()) === BATCH);
  }

  private async deleteRows(): Promise<number> {
    const { rowCount } = await this.database.pool.query({
      text: `DELETE FROM chat_usage WHERE request_id IN (SELECT request_id FROM chat_usage
        WHERE created_at < now() - $1 * interval '1 day' ORDER BY created_at LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)`,
      values: [this.config.chatUsageRetentionDays],
    });
    if (rowCount) this.logger.info('retention.chat_usage_deleted', { count: rowCount });
    return rowCount ?? 0;
  }
}
