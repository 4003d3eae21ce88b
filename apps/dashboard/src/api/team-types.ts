import type { ApiKey, BudgetPeriod, Money, Role } from './types.ts';

/** Somebody of one's own account. */
export interface Person {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly role: Role;
  readonly signs_in_with: readonly ('password' | 'openid')[];
  readonly created_at: string;
  readonly last_seen_at: string | null;
  readonly disabled_at: string | null;
}

export interface Invitation {
  readonly id: string;
  readonly email: string;
  readonly role: Role;
  readonly created_at: string;
  /** May be past. */
  readonly expires_at: string;
}

export interface OneTimeLink {
  readonly link: string;
  /** For how long it works. */
  readonly hours: number;
}

export interface OwnAccount {
  readonly id: string;
  readonly name: string;
  readonly budget: ApiKey['budget'];
  /** Since the month began. */
  readonly spend: Money;
}

export interface AccountRow extends OwnAccount {
  /** The first account cannot be disabled. */
  readonly first: boolean;
  readonly created_at: string;
  readonly disabled_at: string | null;
  readonly people: number;
  readonly admins: number;
  readonly keys: number;
  readonly tasks_in_flight: number;
}

export interface NewAccount extends OneTimeLink {
  readonly account: AccountRow;
}

export interface AccountChange {
  readonly name?: string;
  readonly budget?: string | null;
  readonly budget_period?: BudgetPeriod;
  readonly disabled?: boolean;
}
