import { Injectable } from '@nestjs/common';
import { inList } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';

/** How long refusals are kept, in days. */
export const END_USER_REFUSALS_DAYS = 30;
const DAY_MS = 86_400_000;
const BATCH = 1_000;

/** When an end user is paused. */
export interface PauseRule {
  /** After so many refused requests ... */
  readonly refusals: number;
  /** ... within so many minutes ... */
  readonly windowMinutes: number;
  /** ... for so many. */
  readonly pauseMinutes: number;
}

/** How many requests of an end user were refused for their content. */
export interface RefusalCounts {
  readonly endUser: string;
  /** Before anything was generated, after it, and where the provider did not say. */
  readonly input: number;
  readonly output: number;
  readonly unknown: number;
  readonly last: Date;
}

/** Requests with an end user that providers refused for their content. A trigger counts them, and pauses end users. */
@Injectable()
export class EndUserRefusals {
  constructor(private readonly prisma: PrismaService) {}

  /** When end users of the account are paused; undefined: never. */
  async rule(accountId: string): Promise<PauseRule | undefined> {
    const account = await this.prisma.account.findUnique({
      where: { id: accountId },
      select: { pauseAfter: true, pauseWindowMinutes: true, pauseMinutes: true },
    });
    const { pauseAfter: refusals, pauseWindowMinutes: windowMinutes, pauseMinutes } = account ?? {};
    return refusals && windowMinutes && pauseMinutes ? { refusals, windowMinutes, pauseMinutes } : undefined;
  }

  async setRule(accountId: string, rule: PauseRule | undefined): Promise<void> {
    const data = {
      pauseAfter: rule?.refusals ?? null,
      pauseWindowMinutes: rule?.windowMinutes ?? null,
      pauseMinutes: rule?.pauseMinutes ?? null,
    };
    await this.prisma.account.updateMany({ where: { id: accountId }, data });
  }

  /** The end users of an account with the most refusals since a time, or those that are named. */
  async counts(
    accountId: string,
    { since, endUsers, limit }: { since: Date; endUsers?: readonly string[]; limit: number },
  ): Promise<RefusalCounts[]> {
    const where = { accountId, refusedAt: { gt: since } };
    const top = await this.prisma.endUserRefusal.groupBy({
      by: ['endUser'],
      where: { ...where, ...(endUsers !== undefined && { endUser: { in: inList(endUsers) } }) },
      _count: { taskId: true },
      _max: { refusedAt: true },
      orderBy: [{ _count: { taskId: 'desc' } }, { endUser: 'asc' }],
      take: limit,
    });
    const stages = await this.prisma.endUserRefusal.groupBy({
      by: ['endUser', 'stage'],
      where: { ...where, endUser: { in: inList(top.map(({ endUser }) => endUser)) } },
      _count: true,
    });
    return top.map(({ endUser, _max: max }) => {
      const of = (stage: string) => stages.find((row) => row.endUser === endUser && row.stage === stage)?._count ?? 0;
      const counts = { input: of('input'), output: of('output'), unknown: of('unknown') };
      return { endUser, ...counts, last: max.refusedAt ?? since };
    });
  }

  /** When the oldest refusal became due for deletion; undefined when none is due. */
  async dueSince(): Promise<Date | undefined> {
    const oldest = await this.oldestDue(0);
    return oldest === null ? undefined : new Date(oldest.refusedAt.getTime() + END_USER_REFUSALS_DAYS * DAY_MS);
  }

  /** Removes old refusals, in batches. Throws when the database fails; the next run continues. */
  async expire(): Promise<void> {
    let last: { readonly refusedAt: Date } | null;
    do {
      last = await this.oldestDue(BATCH - 1);
      await this.prisma.endUserRefusal.deleteMany({ where: { refusedAt: { lte: last?.refusedAt ?? expiry() } } });
    } while (last !== null);
  }

  private async oldestDue(skip: number): Promise<{ refusedAt: Date } | null> {
    return await this.prisma.endUserRefusal.findFirst({
      where: { refusedAt: { lte: expiry() } },
      orderBy: { refusedAt: 'asc' },
      skip,
      select: { refusedAt: true },
    });
  }
}

function expiry(): Date {
  return new Date(Date.now() - END_USER_REFUSALS_DAYS * DAY_MS);
}
