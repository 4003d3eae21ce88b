import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database/prisma.service.js';
import { Logger } from '#telemetry/logger.js';
import { SESSION_ALIVE } from './session-store.js';

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
    while ((await this.deleteRows('sign_in_links', 'expires_at <= now()', 'links')) === BATCH);
    while ((await this.deleteRows('sessions', `NOT (${SESSION_ALIVE})`, 'sessions')) === BATCH);
  }

  private async deleteRows(table: 'sign_in_links' | 'sessions', over: string, name: string): Promise<number> {
    // Asked again of each row: a session may have been used since it was found.
    const { rowCount } = await this.prisma.pool.query(
      `DELETE FROM ${table} WHERE ${over} AND id IN (
        SELECT id FROM ${table} WHERE ${over} LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)`,
    );
    if (rowCount) this.logger.info(`retention.${name}_deleted`, { count: rowCount });
    return rowCount ?? 0;
  }
}
