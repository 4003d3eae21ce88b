import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database/prisma.service.js';
import { Logger } from '#telemetry/logger.js';
import { deleteOver } from './accounts.sql.js';

const BATCH = 1_000;

/** Removes one-time links whose day is over, used or not, and sessions that are over. What they led to is in the audit log. */
@Injectable()
export class ExpireSignIns {
  constructor(
    private readonly prisma: PrismaService,
    private readonly logger: Logger,
  ) {}

  /** One round over everything that is due. Throws when the database fails; the next round goes on. */
  async run(): Promise<void> {
    while ((await this.deleteRows('sign_in_links', 'links')) === BATCH);
    while ((await this.deleteRows('sessions', 'sessions')) === BATCH);
  }

  private async deleteRows(table: 'sign_in_links' | 'sessions', name: string): Promise<number> {
    const count = await deleteOver(this.prisma.pool, table, BATCH);
    if (count > 0) this.logger.info(`retention.${name}_deleted`, { count });
    return count;
  }
}
