import { Injectable } from '@nestjs/common';
import { inList } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import { addRefusedCalls, type RefusedCallsRow } from './accounts.sql.js';

/** How long refused calls are kept, in days. */
export const REFUSED_CALLS_DAYS = 7;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const BATCH = 1_000;

/** Which refused calls. */
export interface RefusedQuery {
  /** Absent: those of all accounts, and those without a valid key. */
  readonly accountId?: string | undefined;
  /** Only those of these keys; absent: those of all keys. */
  readonly keyIds?: readonly string[] | undefined;
  /** Only minutes that end after this time. */
  readonly since: Date;
  /** A single key. */
  readonly keyId?: string | undefined;
  readonly code?: string | undefined;
}

interface RefusedNames {
  readonly account: { readonly id: string; readonly name: string } | null;
  readonly key: { readonly id: string; readonly name: string } | null;
}

/** Refused calls with the names of their account and key. */
export type NamedRefusals = Omit<RefusedCallsRow, 'minute'> & RefusedNames;

/** The refused calls of a key with a code. */
export interface RefusedGroup extends Omit<RefusedCallsRow, 'minute'> {
  /** Starts of the first and the last minute. */
  readonly first: Date;
  readonly last: Date;
}

/** Refused calls of the API, counted by key, code and minute. */
@Injectable()
export class RefusedCallsRepository {
  constructor(private readonly prisma: PrismaService) {}

  async add(rows: readonly RefusedCallsRow[]): Promise<void> {
    await addRefusedCalls(this.prisma.pool, rows);
  }

  /** The number of refused calls. */
  async total(query: RefusedQuery): Promise<number> {
    const { _sum: sum } = await this.prisma.refusedCalls.aggregate({ where: filterOf(query), _sum: { count: true } });
    return sum.count ?? 0;
  }

  /** The most frequent ones by key and code, at most `limit`. */
  async groups(query: RefusedQuery, limit: number): Promise<RefusedGroup[]> {
    const rows = await this.prisma.refusedCalls.groupBy({
      by: ['accountId', 'keyId', 'code', 'status'],
      where: filterOf(query),
      _sum: { count: true },
      _min: { minute: true },
      _max: { minute: true },
      orderBy: [
        { _sum: { count: 'desc' } },
        { accountId: 'asc' },
        { keyId: 'asc' },
        { code: 'asc' },
        { status: 'asc' },
      ],
      take: limit,
    });
    return rows.map(({ _sum: sum, _min: min, _max: max, ...group }) => ({
      ...group,
      count: sum.count ?? 0,
      first: min.minute ?? query.since,
      last: max.minute ?? query.since,
    }));
  }

  /** The latest minutes with refused calls, newest first, each in rows by key and code; at most `limit` rows. */
  async minutes(query: RefusedQuery, limit: number): Promise<RefusedCallsRow[]> {
    return await this.prisma.refusedCalls.findMany({
      where: filterOf(query),
      orderBy: [{ minute: 'desc' }, { accountId: 'asc' }, { keyId: 'asc' }, { code: 'asc' }, { status: 'asc' }],
      take: limit,
    });
  }

  /** The same rows with the names of their accounts and keys. */
  async named<Row extends Pick<RefusedCallsRow, 'accountId' | 'keyId'>>(
    rows: readonly Row[],
  ): Promise<(Row & RefusedNames)[]> {
    const select = { id: true, name: true };
    const idsOf = (of: 'accountId' | 'keyId') => ({ in: inList([...new Set(rows.map((row) => row[of]))]) });
    const accounts = await this.prisma.account.findMany({ where: { id: idsOf('accountId') }, select });
    const keys = await this.prisma.apiKey.findMany({ where: { id: idsOf('keyId') }, select });
    const accountOf = new Map(accounts.map((account) => [account.id, account]));
    const keyOf = new Map(keys.map((key) => [key.id, key]));
    return rows.map((row) => ({
      ...row,
      account: accountOf.get(row.accountId) ?? null,
      key: keyOf.get(row.keyId) ?? null,
    }));
  }

  /** The number of refused calls of each key; keys without any are missing. */
  async totalByKey(accountId: string, since: Date): Promise<ReadonlyMap<string, number>> {
    const rows = await this.prisma.refusedCalls.groupBy({
      by: ['keyId'],
      where: filterOf({ accountId, since }),
      _sum: { count: true },
    });
    return new Map(rows.map(({ keyId, _sum: sum }) => [keyId, sum.count ?? 0]));
  }

  /** When the oldest expired row became due for deletion; undefined when none is due. */
  async dueSince(): Promise<Date | undefined> {
    const oldest = await this.oldestDue(expiry(), 0);
    return oldest === null ? undefined : new Date(oldest.minute.getTime() + REFUSED_CALLS_DAYS * DAY_MS);
  }

  /** Removes expired rows, in batches. Throws when the database fails; the next run continues. */
  async expire(): Promise<void> {
    const before = expiry();
    let last: { readonly minute: Date } | null;
    do {
      last = await this.oldestDue(before, BATCH - 1);
      await this.prisma.refusedCalls.deleteMany({ where: { minute: { lte: last?.minute ?? before } } });
    } while (last !== null);
  }

  private async oldestDue(before: Date, skip: number): Promise<{ minute: Date } | null> {
    const where = { minute: { lte: before } };
    return await this.prisma.refusedCalls.findFirst({
      where,
      orderBy: { minute: 'asc' },
      skip,
      select: { minute: true },
    });
  }
}

function expiry(): Date {
  return new Date(Date.now() - REFUSED_CALLS_DAYS * DAY_MS);
}

function filterOf({ accountId, keyIds, since, keyId, code }: RefusedQuery) {
  return {
    minute: { gt: new Date(since.getTime() - MINUTE_MS) },
    ...(accountId !== undefined && { accountId }),
    ...(code !== undefined && { code }),
    AND: [
      ...(keyIds === undefined ? [] : [{ keyId: { in: inList(keyIds) } }]),
      ...(keyId === undefined ? [] : [{ keyId }]),
    ],
  };
}
