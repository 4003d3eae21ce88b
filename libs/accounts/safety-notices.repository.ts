import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database/prisma.service.js';
import type { DueNotice, NoticeOutcome, SafetyNotice, UnmatchedNotice } from './safety-notice.js';
import { takeDueNotices } from './safety-notices.sql.js';

/** How long a notice is kept after it arrived, in days: far longer than its signature is accepted. */
const SAFETY_NOTICE_DAYS = 30;
const DAY_MS = 86_400_000;

/** Providers' notices about end users, from their receipt until they are acted on; then for 30 days. */
@Injectable()
export class SafetyNotices {
  constructor(private readonly prisma: PrismaService) {}

  /** Keeps a notice; one that was received before stays as it is. Throws when the database does not answer. */
  async receive({ provider, id, type, caseId }: SafetyNotice): Promise<void> {
    await this.prisma.safetyNotice.createMany({ data: { provider, id, type, caseId }, skipDuplicates: true });
  }

  /** Takes notices that are due, each for one process, which has `leaseMs` until another may try. */
  async takeDue(limit: number, leaseMs: number): Promise<DueNotice[]> {
    return await takeDueNotices(this.prisma.pool, limit, leaseMs);
  }

  async retryAt({ provider, id }: SafetyNotice, nextTryAt: Date): Promise<void> {
    await this.prisma.safetyNotice.updateMany({ where: { provider, id, endedAt: null }, data: { nextTryAt } });
  }

  async end({ provider, id }: SafetyNotice, outcome: NoticeOutcome, endUser: string | null): Promise<void> {
    const data = { endedAt: new Date(), outcome, endUser };
    await this.prisma.safetyNotice.updateMany({ where: { provider, id, endedAt: null }, data });
  }

  /** Notices without effect that ended since a time, latest first. */
  async unmatchedSince(since: Date, limit: number): Promise<UnmatchedNotice[]> {
    const rows = await this.prisma.safetyNotice.findMany({
      where: { endedAt: { gt: since }, outcome: { in: ['unknown', 'unreadable'] } },
      orderBy: { receivedAt: 'desc' },
      take: limit,
    });
    return rows.map((row) => row as UnmatchedNotice);
  }

  /** When the oldest notice became due for deletion; undefined when none is due. */
  async dueSince(): Promise<Date | undefined> {
    const oldest = await this.prisma.safetyNotice.findFirst({
      where: { receivedAt: { lte: expiry() } },
      orderBy: { receivedAt: 'asc' },
      select: { receivedAt: true },
    });
    return oldest === null ? undefined : new Date(oldest.receivedAt.getTime() + SAFETY_NOTICE_DAYS * DAY_MS);
  }

  /** Removes old notices. Throws when the database fails. */
  async expire(): Promise<void> {
    await this.prisma.safetyNotice.deleteMany({ where: { receivedAt: { lte: expiry() } } });
  }
}

function expiry(): Date {
  return new Date(Date.now() - SAFETY_NOTICE_DAYS * DAY_MS);
}
