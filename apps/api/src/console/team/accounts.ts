import { Injectable } from '@nestjs/common';
import { findModel, servedNames } from '#catalog/catalog.js';
import { cheapestImage } from '#billing/quote.js';
import { CatalogSource } from '#catalog/catalog-source.js';
import { AppError } from '#contract/app-error.js';
import { decimalOf, microsOf } from '#contract/money.js';
import { DEFAULT_ACCOUNT } from '#accounts/api-keys.js';
import { BudgetRepository } from '#billing/budget.repository.js';
import { AccountStore, newAccountId, type Account } from '#accounts/account-store.js';
import { AlertRuleRepository } from '#notifications/alerts/alert-rule.repository.js';
import { alertKindsFor } from '#notifications/alerts/alert-settings.js';
import { TaskFigures } from '#tasks/reading/task-figures.js';
import { accountLimits, type AccountChangeBody, type NewAccountBody } from './dto/account-bodies.dto.js';
import { AccountDefaults, limitsView } from '../keys/account-defaults.js';
import type { AccountRowView, OwnAccountView } from './dto/account-views.dto.js';
import { budgetAfter } from '../dto/budget-body.dto.js';
import { tagApprovalsView } from './dto/tag-approvals.dto.js';
import { budgetView, spentView } from '../dto/budget-view.dto.js';

/** The accounts of the installation: figures and limits, never their prompts or images. */
@Injectable()
export class Accounts {
  constructor(
    private readonly budgets: BudgetRepository,
    private readonly source: CatalogSource,
    private readonly accounts: AccountStore,
    private readonly defaults: AccountDefaults,
    private readonly figures: TaskFigures,
    private readonly rules: AlertRuleRepository,
  ) {}

  /** All accounts, or the one with this id. */
  async list(id?: string): Promise<AccountRowView[]> {
    const [rows, inFlight] = await Promise.all([this.accounts.list(id), this.figures.inFlightByAccount()]);
    const billingOf = await this.billing(rows);
    const defaults = this.defaults.view;
    return rows.map((row) => ({
      id: row.id,
      name: row.name,
      first: row.id === DEFAULT_ACCOUNT,
      ...billingOf(row.id),
      approve_above: thresholdView(row.approveAbove),
      require_two_factor: row.requireTwoFactor,
      limits: limitsView(row.limits),
      defaults,
      key_defaults: this.defaults.ofKeys,
      default_response_format: row.defaultResponseFormat,
      keep_seconds: row.keepSeconds,
      created_at: row.createdAt.toISOString(),
      disabled_at: row.disabledAt?.toISOString() ?? null,
      deleted_at: row.deletedAt?.toISOString() ?? null,
      people: row.people,
      admins: row.admins,
      keys: row.keys,
      tasks_in_flight: inFlight.get(row.id) ?? 0,
    }));
  }

  /** An account as its own users see it. */
  async own(id: string): Promise<OwnAccountView> {
    const account = await this.find(id);
    const billing = (await this.billing([account]))(id);
    const { name, createdAt, requireTwoFactor: require_two_factor } = account;
    return {
      id,
      name,
      created_at: createdAt.toISOString(),
      require_two_factor,
      ...billing,
      approve_above: thresholdView(account.approveAbove),
      own_approve_above: thresholdView(account.ownApproveAbove),
      tag_approvals: tagApprovalsView(account.tagApprovals),
      limits: limitsView(account.limits),
      defaults: this.defaults.view,
      key_defaults: this.defaults.ofKeys,
    };
  }

  /** Throws AppError `not_found`. */
  async find(id: string): Promise<Account> {
    const account = await this.accounts.find(id);
    if (account === undefined) throw noAccount();
    return account;
  }

  async create({ name, ...body }: Omit<NewAccountBody, 'email'>): Promise<string> {
    const id = newAccountId();
    const budget = budgetAfter(body, undefined);
    // First, because it may fail: a budget without an account is harmless, an account without its budget is not.
    if (budget) await this.budgets.set({ ownerId: id, owner: 'account' }, budget);
    await this.accounts.create(id, name, accountLimits(body));
    await this.setApproveAbove(id, body.approve_above);
    await this.rules.turnOnUsual(id, alertKindsFor(false));
    return id;
  }

  /** Throws AppError `invalid_value` for invalid values, before anything is changed. */
  async change(
    { id }: Account,
    { name, disabled, default_response_format: format, keep_seconds: keepSeconds, ...body }: AccountChangeBody,
  ): Promise<AccountRowView> {
    if (disabled === true && id === DEFAULT_ACCOUNT) {
      throw new AppError('invalid_value', 'The first account cannot be disabled.', { param: 'disabled' });
    }
    const budget = budgetAfter(body, (await this.budgets.find([id]))[0]);
    if (budget !== undefined) {
      await this.budgets.set({ ownerId: id, owner: 'account' }, budget ?? undefined);
    }
    await this.accounts.setLimits(id, accountLimits(body));
    if (format !== undefined) await this.accounts.setResponseFormat(id, format);
    if (keepSeconds !== undefined) await this.accounts.setKeepSeconds(id, keepSeconds);
    await this.setApproveAbove(id, body.approve_above);
    if (typeof name === 'string') await this.accounts.rename(id, name);
    if (typeof disabled === 'boolean') await this.accounts.setDisabled(id, disabled);
    return await this.view(id);
  }

  /** An amount, checked by its rule; null = any, undefined = unchanged. */
  async setApproveAbove(id: string, amount: string | null | undefined): Promise<void> {
    if (amount === undefined) return;
    await this.accounts.setApproveAbove(id, amount === null ? null : (microsOf(amount) ?? null));
  }

  async view(id: string): Promise<AccountRowView> {
    const [view] = await this.list(id);
    if (view === undefined) throw noAccount();
    return view;
  }

  private async billing(accounts: readonly Account[]) {
    const ids = accounts.map(({ id }) => id);
    const { current } = this.source;
    const { currency } = current;
    const now = new Date();
    const models = servedNames(current, 'image', now).flatMap((name) => findModel(current, name) ?? []);
    const cheapest = cheapestImage(current, models, now);
    const [budgets, spends, unpriced] = await Promise.all([
      this.budgets.find(ids),
      this.budgets.spentThisMonth(ids, currency),
      this.budgets.unpricedThisMonth(ids),
    ]);
    return (id: string) => ({
      budget: budgetView(
        budgets.find(({ ownerId }) => ownerId === id),
        cheapest,
      ),
      spend: spentView(spends.get(id) ?? 0, unpriced.get(id), currency),
    });
  }
}

function thresholdView(micros: number | null): string | null {
  return micros === null ? null : decimalOf(micros);
}

function noAccount(): AppError {
  return new AppError('not_found', 'Account not found.');
}
