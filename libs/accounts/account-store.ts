import { Injectable } from '@nestjs/common';
import { ulid } from 'ulid';
import type { Account as StoredAccount } from '#database/generated/client.js';
import { ACCOUNT_LIMITS, type AccountLimitColumn } from '#contract/account-limits.js';
import type { DefaultResponseFormat } from '#contract/accepted-values.js';
import { definedFields, jsonOf } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import { workingKeys } from './api-key.repository.js';
import { lockAccount } from './accounts.sql.js';
import { storedResponseFormat } from './api-keys.js';
import { erasedPerson } from './person-store.js';
import { deleteSecondFactors } from './second-factor-store.js';
import { leaveSignIn } from './shared-sign-in.js';

/** Limits of an account across all its keys. Those of ACCOUNT_LIMITS: null = the deployment's default, 0 = unlimited. */
export type AccountLimits = Readonly<Record<AccountLimitColumn, number | null>> & {
  /** Share of the queue relative to other accounts, 1 to 100. */
  readonly weight: number;
};

/** The owner of keys, tasks, uploads, webhooks and budgets. */
export interface Account {
  readonly id: string;
  /** Not unique: a "name taken" error would reveal other accounts. */
  readonly name: string;
  readonly createdAt: Date;
  readonly disabledAt: Date | null;
  /** Set when the account is deleted for good; the row stays for the ledger. */
  readonly deletedAt: Date | null;
  readonly limits: AccountLimits;
  /** For keys without their own setting; null = the deployment's default. */
  readonly defaultResponseFormat: DefaultResponseFormat | null;
  /** How long tasks of keys without their own setting are kept, from their acceptance; null = as retention has it. */
  readonly keepSeconds: number | null;
  /** What a request of any of its keys may cost without an approval, as operators have it, in millionths; null = any amount. */
  readonly approveAbove: number | null;
  /** The same, as its own admins have it. */
  readonly ownApproveAbove: number | null;
  /** The same for requests with a tag, by tag, as its own admins have it. */
  readonly tagApprovals: Readonly<Record<string, number>>;
  /** Whether users who sign in with a password also need an authenticator app. */
  readonly requireTwoFactor: boolean;
}

/** An account with its counts. */
export interface AccountRow extends Account {
  /** People who may sign in. */
  readonly people: number;
  /** Those of them who may manage the account. */
  readonly admins: number;
  /** Active keys. */
  readonly keys: number;
}

/** What an account's own admins set, in millionths; `above`: null = any amount. */
interface OwnApprovals {
  readonly above?: number | null | undefined;
  readonly byTag?: ReadonlyMap<string, number> | undefined;
}

/** Accounts: the owners of keys, tasks and people. */
@Injectable()
export class AccountStore {
  constructor(private readonly prisma: PrismaService) {}

  /** All accounts, or the one with this id, oldest first. */
  async list(id?: string): Promise<AccountRow[]> {
    const { account, person, apiKey } = this.prisma;
    const owner = id === undefined ? {} : { accountId: id };
    const rows = await account.findMany({
      where: id === undefined ? {} : { id },
      orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
    });
    const roles = await person.groupBy({
      by: ['accountId', 'role'],
      where: { ...owner, disabledAt: null },
      _count: true,
    });
    const keys = await apiKey.groupBy({ by: ['accountId'], where: { ...owner, ...workingKeys() }, _count: true });
    return rows.map((row) => {
      const ours = roles.filter(({ accountId }) => accountId === row.id);
      return {
        ...accountOf(row),
        people: ours.reduce((sum, { _count }) => sum + _count, 0),
        admins: ours.find(({ role }) => role === 'admin')?._count ?? 0,
        keys: keys.find(({ accountId }) => accountId === row.id)?._count ?? 0,
      };
    });
  }

  /** Undefined for a deleted account, too. */
  async find(id: string): Promise<Account | undefined> {
    const row = await this.prisma.account.findUnique({ where: { id, deletedAt: null } });
    return row === null ? undefined : accountOf(row);
  }

  /** `id` comes from `newAccountId`. */
  async create(id: string, name: string, limits: Partial<AccountLimits> = {}): Promise<void> {
    await this.prisma.account.create({ data: { id, name, ...limits } });
  }

  async rename(id: string, name: string): Promise<void> {
    await this.prisma.account.updateMany({ where: { id }, data: { name } });
  }

  /** Sets only the limits that are given. */
  async setLimits(id: string, limits: Partial<AccountLimits>): Promise<void> {
    await this.prisma.account.updateMany({ where: { id }, data: limits });
  }

  /** Response format for keys without their own setting; null = the deployment's default. */
  async setResponseFormat(id: string, format: DefaultResponseFormat | null): Promise<void> {
    await this.prisma.account.updateMany({ where: { id }, data: { defaultResponseFormat: format } });
  }

  /** Lifetime of tasks of keys without their own setting; null = none. */
  async setKeepSeconds(id: string, keepSeconds: number | null): Promise<void> {
    await this.prisma.account.updateMany({ where: { id }, data: { keepSeconds } });
  }

  /** What a request may cost without an approval, as operators have it, in millionths; null = any amount. */
  async setApproveAbove(id: string, micros: number | null): Promise<void> {
    await this.prisma.account.updateMany({ where: { id }, data: { approveAboveMicros: micros } });
  }

  /** The same, as the account's own admins have it, for any request and by tag; undefined = unchanged. */
  async setOwnApprovals(id: string, { above, byTag }: OwnApprovals): Promise<void> {
    const tagApprovals = byTag && jsonOf(Object.fromEntries(byTag));
    const data = definedFields({ ownApproveAboveMicros: above, tagApprovals });
    await this.prisma.account.updateMany({ where: { id }, data });
  }

  /**
   * Takes the turn to tell those who may approve that requests wait; undefined when that was done within `everyMs`, or
   * the account is disabled.
   */
  async takeApprovalMail(id: string, everyMs: number): Promise<{ readonly name: string } | undefined> {
    const now = await this.prisma.now();
    const before = new Date(now.getTime() - everyMs);
    const [taken] = await this.prisma.account.updateManyAndReturn({
      where: { id, disabledAt: null, OR: [{ approvalsMailedAt: null }, { approvalsMailedAt: { lte: before } }] },
      data: { approvalsMailedAt: now },
      select: { name: true },
    });
    return taken;
  }

  /** Takes effect with the next request of each member. */
  async requireTwoFactor(id: string, required: boolean): Promise<void> {
    await this.prisma.account.updateMany({ where: { id }, data: { requireTwoFactor: required } });
  }

  /** Disables an account and ends the sessions of its people, or enables it again; does nothing when it already is. */
  async setDisabled(id: string, disabled: boolean): Promise<void> {
    const { account, session } = this.prisma;
    if (disabled) {
      await this.prisma.$transaction([
        account.updateMany({ where: { id, disabledAt: null }, data: { disabledAt: new Date() } }),
        session.deleteMany({ where: { person: { accountId: id } } }),
      ]);
    } else await account.updateMany({ where: { id, deletedAt: null }, data: { disabledAt: null } });
  }

  /** Revokes all keys of an account, including hidden ones. */
  async revokeKeys(id: string): Promise<void> {
    const where = { accountId: id, revokedAt: null };
    await this.prisma.apiKey.updateMany({ where, data: { revokedAt: new Date() } });
  }

  /** Deletes an account with its people and links, and revokes its keys; its usage and spend stay. */
  async delete(id: string): Promise<void> {
    await this.revokeKeys(id);
    await this.prisma.$transaction(async (transaction) => {
      await lockAccount(transaction, id);
      const now = new Date();
      await transaction.account.update({ where: { id }, data: { deletedAt: now, disabledAt: now } });
      const people = await transaction.person.findMany({
        where: { accountId: id, deletedAt: null },
        select: { id: true },
      });
      for (const { id: personId } of people) {
        await leaveSignIn(transaction, personId);
        await transaction.person.update({ where: { id: personId }, data: erasedPerson(personId) });
      }
      await transaction.signInLink.deleteMany({ where: { accountId: id } });
      await deleteSecondFactors(transaction, { accountId: id });
      await transaction.session.deleteMany({ where: { person: { accountId: id } } });
    });
  }
}

function accountOf({ id, name, createdAt, disabledAt, deletedAt, ...row }: StoredAccount): Account {
  const columns = Object.values(ACCOUNT_LIMITS).map(({ column }) => [column, row[column]] as const);
  const limits = { weight: row.weight, ...(Object.fromEntries(columns) as Record<AccountLimitColumn, number | null>) };
  const defaultResponseFormat = storedResponseFormat(row.defaultResponseFormat);
  const { keepSeconds, requireTwoFactor, approveAboveMicros: micros } = row;
  const approveAbove = micros === null ? null : Number(micros);
  const ownApproveAbove = row.ownApproveAboveMicros === null ? null : Number(row.ownApproveAboveMicros);
  const needed = { approveAbove, ownApproveAbove, tagApprovals: row.tagApprovals as Record<string, number> };
  const kept = { defaultResponseFormat, keepSeconds, ...needed, requireTwoFactor };
  return { id, name, createdAt, disabledAt, deletedAt, limits, ...kept };
}

/** A new id, `acct_` and a ULID, so ids sort by creation time. */
export function newAccountId(): string {
  return `acct_${ulid()}`;
}
