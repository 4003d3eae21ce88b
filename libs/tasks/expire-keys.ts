import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database/prisma.service.js';
import { Logger } from '#telemetry/logger.js';

const BATCH = 1_000;

/** Removes Idempotency-Keys whose time is over. They stand for nothing any more, so when it happens does not matter. */
@Injectable()
export class ExpireKeys {
  constructor(
    private readonly prisma: PrismaService,
    private readonly logger: Logger,
  ) {}

  /** One round over everything that is due. Throws when the database fails; the next round goes on. */
  async run(): Promise<void> {
    while ((await this.deleteKeys()) === BATCH);
  }

  private async deleteKeys(): Promise<number> {
    // The time is asked again of each row: a key may have been taken anew since it was found.
    const { rowCount } = await this.prisma.pool.query(
      `DELETE FROM idempotency_keys WHERE expires_at <= now() AND (account_id, key) IN (
        SELECT account_id, key FROM idempotency_keys WHERE expires_at <= now()
        ORDER BY expires_at LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)`,
    );
    if (rowCount) this.logger.info('retention.keys_deleted', { count: rowCount });
    return rowCount ?? 0;
  }
}
