import { Injectable } from '@nestjs/common';
import { ulid } from 'ulid';
import type { Account as StoredAccount } from '#database/generated/client.js';
import type { DefaultResponseFormat } from '#contract/accepted-values.js';
import { PrismaService } from '#database/prisma.service.js';
import { workingKeys } from './api-key.repository.js';
import { lockAccount } from './accounts.sql.js';
import { storedResponseFormat } from './api-keys.js';
import { erasedPerson } from './person-store.js';
import { forgetSecondFactors } from './second-factor-store.js';
import { leaveSignIn } from './shared-sign-in.js';

/** What an account may do with all its keys together. Numbers: null = the deployment's default, 0 = unlimited. */
export interface AccountLimits {
  /** Share of the queue relative to other accounts, 1 to 100. */
  readonly weight: number;
  readonly submitsPerMinute: number | null;
  readonly pollsPerMinute: number | null;
  readonly chatsPerMinute: number | null;
  /** Tasks that may wait or run at a time. */
  readonly tasksInFlight: number | null;
  /** Keys that may work at a time. */
  readonly maxKeys: number | null;
}

/** Whoever owns keys, tasks, uploads, webhooks and budgets. */
export interface Account {
  readonly id: string;
  /** Not unique: a name that is taken would tell one account of another. */
  readonly name: string;
  readonly createdAt: Date;
  readonly disabledAt: Date | null;
  /** For good: its row stays for the ledger. */
  readonly deletedAt: Date | null;
  readonly limits: AccountLimits;
  /** For keys without one of their own; null = as the deployment has it. */
  readonly defaultResponseFormat: DefaultResponseFormat | null;
  /** Whoever has a password there needs an authenticator app as well. */
  readonly requireTwoFactor: boolean;
}

/** An account, and how many it has of what. */
export interface AccountRow extends Account {
  /** Who may sign in. */
  readonly people: number;
  /** Those of them who manage the account. */
  readonly admins: number;
  /** Keys that work. */
  readonly keys: number;
}

/** Who owns keys, tasks and people. */
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

  /** Undefined for one that was deleted, too. */
  async find(id: string): Promise<Account | undefined> {
    const row = await this.prisma.account.findUnique({ where: { id, deletedAt: null } });
    return row === null ? undefined : accountOf(row);
  }

  /** `id` as `newAccountId` makes them. */
  async create(id: string, name: string, limits: Partial<AccountLimits> = {}): Promise<void> {
    await this.prisma.account.create({ data: { id, name, ...limits } });
  }

  async rename(id: string, name: string): Promise<void> {
    await this.prisma.account.updateMany({ where: { id }, data: { name } });
  }

  /** Sets the limits that are named, and leaves the others. */
  async setLimits(id: string, limits: Partial<AccountLimits>): Promise<void> {
    await this.prisma.account.updateMany({ where: { id }, data: limits });
  }

  /** What its keys without a format of their own answer with; null = the default of the deployment. */
  async setResponseFormat(id: string, format: DefaultResponseFormat | null): Promise<void> {
    await this.prisma.account.updateMany({ where: { id }, data: { defaultResponseFormat: format } });
  }

  /** Takes effect with the next request of each member. */
  async requireTwoFactor(id: string, required: boolean): Promise<void> {
    await this.prisma.account.updateMany({ where: { id }, data: { requireTwoFactor: required } });
  }

  /** Shuts an account and ends the sessions of its people, or opens it again; one that is so already stays as it is. */
  async setDisabled(id: string, disabled: boolean): Promise<void> {
    const { account, session } = this.prisma;
    if (disabled) {
      await this.prisma.$transaction([
        account.updateMany({ where: { id, disabledAt: null }, data: { disabledAt: new Date() } }),
        session.deleteMany({ where: { person: { accountId: id } } }),
      ]);
    } else await account.updateMany({ where: { id, deletedAt: null }, data: { disabledAt: null } });
  }

  /** Revokes all keys of an account, its hidden ones too. */
  async revokeKeys(id: string): Promise<void> {
    const where = { accountId: id, revokedAt: null };
    await this.prisma.apiKey.updateMany({ where, data: { revokedAt: new Date() } });
  }

  /** Deletes an account with its people and links, and revokes its keys; what it has used and spent stays. */
  async delete(id: string): Promise<void> {
    await this.revokeKeys(id);
    await this.prisma.$transaction(async (transaction) => {
      await lockAccount(transaction, id);
      const now = new Date();
      await transaction.account.update({ where: { id }, data: { deletedAt: now, disabledAt: now } });
      await transaction.signInLink.deleteMany({ where: { accountId: id } });
      const people = await transaction.person.findMany({
        where: { accountId: id, deletedAt: null },
        select: { id: true },
      });
      for (const { id: personId } of people) {
        await leaveSignIn(transaction, personId);
        await transaction.person.update({ where: { id: personId }, data: erasedPerson(personId) });
      }
      await forgetSecondFactors(transaction, { accountId: id });
      // Behind their people, as whoever switches accounts does it, so that the two don't wait in a circle.
      await transaction.session.deleteMany({ where: { person: { accountId: id } } });
    });
  }
}

function accountOf({ id, name, createdAt, disabledAt, deletedAt, ...row }: StoredAccount): Account {
  const { weight, submitsPerMinute, pollsPerMinute, chatsPerMinute, tasksInFlight, maxKeys } = row;
  const limits = { weight, submitsPerMinute, pollsPerMinute, chatsPerMinute, tasksInFlight, maxKeys };
  const defaultResponseFormat = storedResponseFormat(row.defaultResponseFormat);
  const { requireTwoFactor } = row;
  return { id, name, createdAt, disabledAt, deletedAt, limits, defaultResponseFormat, requireTwoFactor };
}

/** A new id, `acct_` and a ULID: ids of later accounts sort after it. */
export function newAccountId(): string {
  return `acct_${ulid()}`;
}
