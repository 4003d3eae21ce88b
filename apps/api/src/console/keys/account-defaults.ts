import { Injectable } from '@nestjs/common';
import { AccountStore, type AccountLimits } from '#accounts/account-store.js';
import { AccountsConfig } from '#accounts/accounts.config.js';
import { eachAccountLimit } from '#contract/account-limits.js';
import { TasksConfig } from '#tasks/row/tasks.config.js';
import { LimitsConfig } from '../../limits/limits.config.js';
import type { AccountDefaultsView, AccountLimitsView, KeyDefaultsView } from '../team/dto/account-views.dto.js';

/** Default limits of accounts and keys; 0 = unlimited. */
@Injectable()
export class AccountDefaults {
  readonly view: AccountDefaultsView;
  /** Those of each key. */
  readonly ofKeys: KeyDefaultsView;

  constructor(
    private readonly store: AccountStore,
    limits: LimitsConfig,
    tasks: TasksConfig,
    accounts: AccountsConfig,
  ) {
    this.view = {
      weight: 1,
      submits_per_minute: limits.account.submits,
      polls_per_minute: limits.account.polls,
      chats_per_minute: limits.account.chats,
      tasks_in_flight: tasks.accountTasksInFlight,
      max_keys: accounts.keysPerAccount,
    };
    this.ofKeys = {
      submits_per_minute: limits.submitsPerMinute,
      polls_per_minute: limits.pollsPerMinute,
      tasks_in_flight: tasks.maxTasksInFlight,
    };
  }

  /** The effective settings of an account: its own, or else the defaults. */
  async of(accountId: string): Promise<AccountDefaultsView> {
    const account = await this.store.find(accountId);
    if (account === undefined) return this.view;
    const set = Object.entries(limitsView(account.limits)).filter(([, value]) => value !== null);
    return { ...this.view, ...(Object.fromEntries(set) as Partial<AccountDefaultsView>) };
  }
}

/** The limits that an operator has set for an account. */
export function limitsView(limits: AccountLimits): AccountLimitsView {
  return { weight: limits.weight, ...eachAccountLimit((_name, column) => limits[column]) };
}
