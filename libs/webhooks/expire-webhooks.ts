import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database/prisma.service.js';
import { Logger } from '#telemetry/logger.js';

const BATCH = 1_000;

/** Removes the log of deliveries as old as the tasks they told of, and secrets that are valid no more. */
@Injectable()
export class ExpireWebhooks {
  constructor(
    private readonly prisma: PrismaService,
    private readonly logger: Logger,
  ) {}

  /** One round over everything that is due. Throws when the database fails; the next round goes on. */
  async run({ taskRetentionHours }: { readonly taskRetentionHours: number }): Promise<void> {
    await this.prisma.pool.query('DELETE FROM webhook_secrets WHERE expires_at <= now()');
    while ((await this.deleteDeliveries(taskRetentionHours)) === BATCH);
  }

  private async deleteDeliveries(hours: number): Promise<number> {
    const { rowCount } = await this.prisma.pool.query({
      text: `DELETE FROM webhook_deliveries WHERE id IN (SELECT id FROM webhook_deliveries
        WHERE created_at < now() - $1 * interval '1 hour' ORDER BY created_at LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)`,
      values: [hours],
    });
    if (rowCount) this.logger.info('retention.deliveries_deleted', { count: rowCount });
    return rowCount ?? 0;
  }
}
