import { Injectable } from '@nestjs/common';
import type { Prisma } from '#database/generated/client.js';
import { inList } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import type { Transaction } from '#database/queryable.js';
import { ledgerSpent, lockBudgets } from './billing.sql.js';
import { BUDGET_PERIODS, type Budget } from './budgets.js';
import { UNPRICED } from './usage.js';

/** A budget with the name of its key; null = the budget of the account. */
export interface NamedBudget extends Budget {
  readonly keyName: string | null;
}

/** Finished images and chats without a known price. */
export interface Unpriced {
  readonly images: number;
  readonly chats: number;
}

/**
 * Budgets, and spend from the ledger. The database's functions and triggers in ledger.sql keep both. Amounts are
 * millionths of a currency.
 */
@Injectable()
export class BudgetRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** The budgets of these accounts and keys; accounts first. Keys may share one. */
  async find(ownerIds: readonly string[]): Promise<Budget[]> {
    const keys = await this.prisma.apiKey.findMany({
      where: { id: { in: inList(ownerIds) }, originalKeyId: { not: null } },
      select: { id: true, originalKeyId: true },
    });
    const payers = new Map(ownerIds.map((id) => [id, id]));
    for (const { id, originalKeyId } of keys) payers.set(id, originalKeyId ?? id);
    const rows = await this.prisma.budget.findMany({
      where: { ownerId: { in: inList([...new Set(payers.values())]) } },
      orderBy: { owner: 'asc' },
    });
    return rows.flatMap(({ ownerId: payer, owner, limitMicros, period, spentMicros, periodStart }) => {
      const isOver = period === 'month' && periodStart < monthOf(new Date());
      const budget = {
        owner: owner === 'account' ? ('account' as const) : ('key' as const),
        limit: Number(limitMicros),
        period: BUDGET_PERIODS.find((name) => name === period) ?? 'total',
        spent: isOver ? 0 : Number(spentMicros),
      };
      return ownerIds.filter((id) => payers.get(id) === payer).map((ownerId) => ({ ownerId, ...budget }));
    });
  }

  /** Whether any of these accounts and keys has a budget, or labels of the accounts may have one. */
  async any(ownerIds: readonly string[]): Promise<boolean> {
    const of = inList(ownerIds);
    const [budgets, labels] = await Promise.all([
      this.prisma.budget.count({ where: { ownerId: { in: of } } }),
      this.prisma.labelLimit.count({ where: { accountId: { in: of }, monthlyBudgetMicros: { not: null } } }),
    ]);
    return budgets > 0 || labels > 0;
  }

  /**
   * Sets the budget of an account, or of a key and those that share it; undefined removes it. Earlier spend in the
   * ledger counts, so tasks with a price wait in the meantime, both to be accepted and to end. Throws when the database
   * does not respond, or when it waits longer than two seconds for locks.
   */
  async set(
    { ownerId, owner }: Pick<Budget, 'ownerId' | 'owner'>,
    budget: Pick<Budget, 'limit' | 'period'> | undefined,
  ): Promise<void> {
    await this.prisma.$transaction(async (transaction) => {
      await lockBudgets(transaction);
      const key = await transaction.apiKey.findUnique({ where: { id: ownerId }, select: { originalKeyId: true } });
      const id = key?.originalKeyId ?? ownerId;
      await transaction.budget.deleteMany({ where: { ownerId: id } });
      if (budget === undefined) return;
      const { limit, period } = budget;
      const counted = await spentBy(transaction, { id, owner, period });
      await transaction.budget.create({ data: { ownerId: id, owner, limitMicros: BigInt(limit), period, ...counted } });
    });
  }

  /**
   * Has a key share the budget of `payer`, the first of a chain of rotations, or none with null, and gives it these limits.
   * What it has spent counts where its next tasks do, and no longer where it counted before. Waits and throws like `set`.
   */
  async share(keyId: string, payer: string | null, limits: Prisma.ApiKeyUncheckedUpdateInput): Promise<void> {
    await this.prisma.$transaction(async (transaction) => {
      await lockBudgets(transaction);
      const key = await transaction.apiKey.findUniqueOrThrow({ where: { id: keyId }, select: { originalKeyId: true } });
      if (key.originalKeyId === payer) return;
      await transaction.apiKey.update({ where: { id: keyId }, data: { ...limits, originalKeyId: payer } });
      const owners = [key.originalKeyId ?? keyId, payer ?? keyId];
      for (const { ownerId: id, period } of await transaction.budget.findMany({ where: { ownerId: { in: owners } } })) {
        const data = await spentBy(transaction, { id, owner: 'key', period });
        await transaction.budget.update({ where: { ownerId: id }, data });
      }
    });
  }

  /** The budgets of an account and of its active keys, each once, under the name of its newest key. */
  async ofAccount(accountId: string): Promise<NamedBudget[]> {
    const keys = await this.prisma.apiKey.findMany({
      where: { accountId, revokedAt: null },
      orderBy: { createdAt: 'asc' },
      select: { id: true, name: true, originalKeyId: true },
    });
    const names = new Map(keys.map(({ id, name, originalKeyId }) => [originalKeyId ?? id, name]));
    const budgets = await this.find([accountId, ...names.keys()]);
    return budgets.map((budget) => ({ ...budget, keyName: names.get(budget.ownerId) ?? null }));
  }

  /** How many budgets of accounts and of keys are spent to at least this share. */
  async countSpent(share: number): Promise<Readonly<Record<Budget['owner'], number>>> {
    const rows = await this.prisma.budget.findMany({
      where: {
        owner: { in: ['account', 'key'] },
        OR: [{ period: 'total' }, { periodStart: { gte: monthOf(new Date()) } }],
      },
      select: { owner: true, limitMicros: true, spentMicros: true },
    });
    const spent = rows.filter(({ limitMicros, spentMicros }) => Number(spentMicros) >= share * Number(limitMicros));
    const account = spent.filter(({ owner }) => owner === 'account').length;
    return { account, key: spent.length - account };
  }

  /**
   * Spend of each of an account's keys since its creation, by id: settled, and reserved for tasks that have not ended.
   * Includes chats, and excludes other currencies.
   */
  async spentByKey(accountId: string, currency: string): Promise<Map<string, number>> {
    const spent = await ledgerSpent(this.prisma, { accountIds: [accountId], keyIds: [], currency, thisMonth: false });
    return sumBy(spent, ({ keyId }) => keyId);
  }

  /**
   * Spend of each of these accounts since the start of the calendar month, in UTC, by id; otherwise like `spentByKey`.
   */
  async spentThisMonth(accountIds: readonly string[], currency: string): Promise<Map<string, number>> {
    const spent = await ledgerSpent(this.prisma, { accountIds, keyIds: [], currency, thisMonth: true });
    return sumBy(spent, ({ accountId }) => accountId);
  }

  /** What `spentByKey` leaves out, by id; keys with nothing left out are absent. */
  async unpricedByKey(accountId: string): Promise<Map<string, Unpriced>> {
    return unpricedBy(await this.unpriced([accountId]), ({ apiKeyId }) => apiKeyId);
  }

  /** What `spentThisMonth` leaves out, by id; accounts with nothing left out are absent. */
  async unpricedThisMonth(accountIds: readonly string[]): Promise<Map<string, Unpriced>> {
    return unpricedBy(await this.unpriced(accountIds, monthOf(new Date())), ({ accountId }) => accountId);
  }

  /** Reads rolled-up and pending usage in one snapshot, so a concurrent roll-up neither hides nor doubles anything. */
  private async unpriced(accountIds: readonly string[], from?: Date): Promise<UnpricedPart[]> {
    const where = { accountId: { in: inList(accountIds) }, currency: UNPRICED };
    const since = from === undefined ? {} : { gte: from };
    const [added, recent] = await this.prisma.$transaction(
      [
        this.prisma.groupedUsage.groupBy({
          by: ['accountId', 'name'],
          where: { ...where, step: 'day', dimension: 'key', time: since },
          orderBy: { name: 'asc' },
          _sum: { unpricedImages: true, chats: true },
        }),
        this.prisma.usageChange.groupBy({
          by: ['accountId', 'apiKeyId', 'kind', 'outcome'],
          where: { ...where, createdAt: since },
          orderBy: { apiKeyId: 'asc' },
          _sum: { images: true },
          _count: { _all: true },
        }),
      ],
      { isolationLevel: 'RepeatableRead' },
    );
    return [
      ...added.map(({ accountId, name, _sum: sum }) => ({
        accountId,
        apiKeyId: name,
        images: Number(sum.unpricedImages),
        chats: Number(sum.chats),
      })),
      ...recent.map(({ accountId, apiKeyId, kind, _sum: sum, _count: { _all: count } }) => {
        // A task that was canceled after a provider started it has no image, but counts as one.
        const images = kind === 'chat' ? 0 : Math.max(Number(sum.images), count);
        return { accountId, apiKeyId, images, chats: kind === 'chat' ? count : 0 };
      }),
    ];
  }
}

/** What an account, or a key and those that share its budget, have spent in the present period. */
async function spentBy(
  transaction: Transaction,
  { id, owner, period }: { readonly id: string; readonly owner: Budget['owner']; readonly period: string },
) {
  const sharing = await transaction.apiKey.findMany({ where: { originalKeyId: id }, select: { id: true } });
  const ids = [...new Set([id, ...sharing.map((sharer) => sharer.id)])];
  const [accountIds, keyIds] = owner === 'account' ? [ids, []] : [[], ids];
  const spent = await ledgerSpent(transaction, { accountIds, keyIds, thisMonth: period === 'month' });
  const periodStart = spent[0]?.month ?? monthOf(new Date());
  const { _sum: chats } = await transaction.chatReserve.aggregate({
    where: {
      ...(owner === 'account' ? { accountId: { in: ids } } : { apiKeyId: { in: ids } }),
      ...(period === 'month' && { createdAt: { gte: periodStart } }),
    },
    _sum: { amountMicros: true },
  });
  return { spentMicros: spent.reduce((sum, { amount }) => sum + amount, chats.amountMicros ?? 0n), periodStart };
}

interface UnpricedPart extends Unpriced {
  readonly accountId: string;
  readonly apiKeyId: string;
}

function unpricedBy(parts: readonly UnpricedPart[], idOf: (part: UnpricedPart) => string): Map<string, Unpriced> {
  const sums = new Map<string, Unpriced>();
  for (const part of parts) {
    const { images, chats } = sums.get(idOf(part)) ?? { images: 0, chats: 0 };
    sums.set(idOf(part), { images: images + part.images, chats: chats + part.chats });
  }
  return sums;
}

function sumBy<T extends { readonly amount: bigint }>(
  spent: readonly T[],
  idOf: (row: T) => string | null,
): Map<string, number> {
  const sums = new Map<string, number>();
  for (const row of spent) {
    const id = idOf(row);
    if (id !== null) sums.set(id, (sums.get(id) ?? 0) + Number(row.amount));
  }
  return sums;
}

function monthOf(at: Date): Date {
  return new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth()));
}
