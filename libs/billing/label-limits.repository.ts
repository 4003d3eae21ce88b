import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { overloaded } from '#contract/unavailable.js';
import { PrismaService } from '#database/prisma.service.js';
import { atMost } from '#limits/at-most.js';
import { lockBudgets } from './billing.sql.js';
import {
  appliedLimits,
  LABEL_KINDS,
  labelLimitsOf,
  type AppliedLimit,
  type LabelLimit,
  type Labels,
} from './label-limits.js';

/** A changed limit takes effect everywhere within this time. */
const TTL_MS = 5_000;
const MAX_ACCOUNTS = 10_000;

/** What accounts limit end users and tags to. Budgets among it are kept by ledger.sql. */
@Injectable()
export class LabelLimits {
  private readonly known = new LRUCache<string, Promise<readonly LabelLimit[]>>({
    ...atMost(MAX_ACCOUNTS),
    ttl: TTL_MS,
  });

  constructor(private readonly prisma: PrismaService) {}

  /**
   * The limits of an account that apply to a request with these labels, at most five seconds old. Costs nothing without
   * labels. Throws AppError `server_is_overloaded` without a database.
   */
  async applied(accountId: string, labels: Labels): Promise<AppliedLimit[]> {
    if (!labels.endUser && !labels.tags?.length) return [];
    let limits = this.known.get(accountId);
    if (limits === undefined) {
      limits = this.read(accountId);
      this.known.set(accountId, limits);
      limits.catch(() => this.known.delete(accountId));
    }
    const found = await limits.catch((error: unknown) => {
      throw overloaded(error);
    });
    return appliedLimits(accountId, found, labels);
  }

  /** As they are now: those for each label first, then by name. */
  async read(accountId: string): Promise<LabelLimit[]> {
    const rows = await this.prisma.labelLimit.findMany({
      where: { accountId },
      orderBy: [{ kind: 'asc' }, { name: 'asc' }],
    });
    return labelLimitsOf(rows);
  }

  /**
   * Replaces all of them. Labels get their budgets anew when they are next needed, with what they have spent this month.
   * Throws when the database does not respond, or when it waits longer than two seconds for locks.
   */
  async set(accountId: string, limits: readonly LabelLimit[]): Promise<void> {
    const data = limits.map(({ monthlyBudget, ...limit }) => ({
      ...limit,
      accountId,
      monthlyBudgetMicros: monthlyBudget === null ? null : BigInt(monthlyBudget),
    }));
    await this.prisma.$transaction(async (transaction) => {
      await lockBudgets(transaction);
      await transaction.labelLimit.deleteMany({ where: { accountId } });
      await transaction.labelLimit.createMany({ data });
      await transaction.budget.deleteMany({
        where: { owner: { in: [...LABEL_KINDS] }, ownerId: { startsWith: `${accountId} ` } },
      });
    });
    this.known.delete(accountId);
  }

  /** Removes budgets of labels that have spent nothing since a month that is over, so that they do not add up. */
  async removeUnused(): Promise<number> {
    const now = new Date();
    const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth()));
    const where = { owner: { in: [...LABEL_KINDS] }, periodStart: { lt: month } };
    if ((await this.prisma.budget.findFirst({ where, select: { ownerId: true } })) === null) return 0;
    return await this.prisma.$transaction(async (transaction) => {
      await lockBudgets(transaction);
      return (await transaction.budget.deleteMany({ where })).count;
    });
  }
}
