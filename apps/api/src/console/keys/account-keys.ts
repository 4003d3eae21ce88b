import { Injectable } from '@nestjs/common';
import { findModel, servedNames } from '#catalog/catalog.js';
import { CatalogSource } from '#catalog/catalog-source.js';
import { AppError } from '#contract/app-error.js';
import { ApiKeyRepository } from '#accounts/api-key.repository.js';
import { hasEnded, type ApiKeyRow } from '#accounts/api-keys.js';
import { NewKeyRepository } from '#accounts/new-key.repository.js';
import { may } from '#accounts/person-rules.js';
import { RefusedCallsRepository } from '#accounts/refused-calls.repository.js';
import type { Transaction } from '#database/queryable.js';
import { BudgetRepository } from '#billing/budget.repository.js';
import type { Budget } from '#billing/budgets.js';
import { cheapestImage } from '#billing/quote.js';
import type { Session } from '#accounts/session-store.js';
import { LimitedKeys } from '../../auth/limited-keys.js';
import { budgetAfter } from '../dto/budget-body.dto.js';
import { budgetView, spentView, type BudgetView } from '../dto/budget-view.dto.js';
import { AccountDefaults } from './account-defaults.js';
import { keySettings, type KeyChangeBody, type NewKeyBody } from './dto/key-bodies.dto.js';
import { assertEnd, assertForMember, assertNotShared, assertWithinAccount, withSharedLimits } from './key-rules.js';
import { keyView, type KeyNameView, type KeyView, type NewKeyView } from './dto/key-view.dto.js';

const HOUR_MS = 3_600_000;

/**
 * The user who manages keys: admins manage all keys of their account, members those that they created. Any other key is
 * `not_found`.
 */
type Manager = Pick<Session, 'accountId' | 'personId' | 'role'>;

/** The keys of an account, as its users manage them. */
@Injectable()
export class AccountKeys {
  constructor(
    private readonly keys: ApiKeyRepository,
    private readonly newKeys: NewKeyRepository,
    private readonly budgets: BudgetRepository,
    private readonly source: CatalogSource,
    private readonly defaults: AccountDefaults,
    private readonly refused: RefusedCallsRepository,
    private readonly limited: LimitedKeys,
  ) {}

  async list(who: Manager): Promise<KeyView[]> {
    const rows = withSharedLimits(await this.rows(who));
    const budgets = await this.budgets.find(rows.map(({ id }) => id));
    const { currency } = this.source.current;
    const spends = await this.budgets.spentByKey(who.accountId, currency);
    const unpriced = await this.budgets.unpricedByKey(who.accountId);
    const refused = await this.refused.totalByKey(who.accountId, new Date(Date.now() - 24 * HOUR_MS));
    return rows.map((row) => ({
      ...keyView(row, this.budgetOf(row, budgets), spentView(spends.get(row.id) ?? 0, unpriced.get(row.id), currency)),
      refused_24h: refused.get(row.id) ?? 0,
    }));
  }

  /** The keys whose tasks the user may see. */
  async names(who: Manager): Promise<KeyNameView[]> {
    const createdBy = may(who, 'tasks.read_all') ? undefined : who.personId;
    return (await this.keys.list(who.accountId, createdBy)).map(({ id, name }) => ({ id, name }));
  }

  /** Throws AppError `account_limit_reached` when the account has its maximum number of keys. */
  async create(who: Manager, body: NewKeyBody): Promise<NewKeyView> {
    const { accountId, personId: createdBy } = who;
    const { name: _name, ...settings } = this.settingsOf(body);
    if (!may(who, 'keys.manage_all')) await this.assertMayCreate(who, body);
    assertWithinAccount(body, await this.defaults.of(accountId));
    const budget = budgetAfter(body, undefined);
    const { max_keys: defaultMaxKeys } = this.defaults.view;
    const created = await this.newKeys.create({ name: body.name, accountId, settings, createdBy }, defaultMaxKeys);
    if (budget) await this.budgets.set({ ownerId: created.id, owner: 'key' }, budget);
    return { key: await this.view(who, created.id), secret: created.key };
  }

  /**
   * The newest working key of a member that an admin has limited, or else the newest past one; undefined for admins, who
   * set limits themselves.
   */
  async limitedKey(who: Manager): Promise<Pick<ApiKeyRow, 'id' | 'name' | 'expiresAt' | 'revokedAt'> | undefined> {
    return may(who, 'keys.manage_all') ? undefined : await this.limited.of(who.accountId, who.personId);
  }

  async change(who: Manager, id: string, body: KeyChangeBody): Promise<KeyView> {
    const settings = this.settingsOf(body);
    const limits = await this.defaults.of(who.accountId);
    const [before] = await this.budgets.find([id]);
    const budget = await this.keys.withAccountKeys(who.accountId, async (transaction) => {
      const row = await this.find(who, id, transaction);
      if (!may(who, 'keys.manage_all')) assertForMember(body, row, before);
      assertNotShared(body, row);
      assertWithinAccount(body, limits);
      assertEnd(body, row);
      const after = budgetAfter(body, before);
      await this.keys.update(row.id, settings, who.accountId, transaction);
      return may(who, 'keys.manage_all') ? after : undefined;
    });
    if (budget !== undefined) await this.budgets.set({ ownerId: id, owner: 'key' }, budget ?? undefined);
    return await this.view(who, id);
  }

  /**
   * Creates a key with the settings of the old one, which works for `overlapHours` more. Meanwhile both count as one
   * key and share its budget. A key that the old one itself replaced ends at once.
   */
  async rotate(who: Manager, id: string, overlapHours: number): Promise<NewKeyView> {
    const created = await this.keys.withAccountKeys(who.accountId, async (transaction) => {
      const old = await this.find(who, id, transaction);
      if (hasEnded(old)) {
        throw new AppError('invalid_value', 'This key is revoked or expired. Create a new one.');
      }
      if (old.oauthClient !== null) {
        throw new AppError('invalid_value', 'This key has no secret: its client renews its tokens itself.');
      }
      if (old.replacedBy !== null) {
        throw new AppError('invalid_value', 'This key was already rotated. Rotate its replacement instead.');
      }
      return await this.newKeys.rotate(transaction, old.id, new Date(Date.now() + overlapHours * HOUR_MS));
    });
    return { key: await this.view(who, created.id), secret: created.key };
  }

  /** `changed` is false when the key was already revoked. */
  async revoke(who: Manager, id: string): Promise<{ key: KeyView; changed: boolean }> {
    const row = await this.find(who, id);
    const outcome = await this.keys.revoke(row.id, who.accountId);
    return { key: await this.view(who, row.id), changed: typeof outcome === 'object' && outcome.changed };
  }

  /** A budget that does not cover the cheapest image of the key's models is used up. */
  private budgetOf({ id, models, scopes }: ApiKeyRow, budgets: readonly Budget[]): BudgetView | null {
    const { current } = this.source;
    const makesImages = scopes.length === 0 || scopes.includes('images');
    const names = makesImages ? servedNames(current, 'image', new Date()) : [];
    const allowed = names.filter((name) => models.length === 0 || models.includes(name));
    const entries = allowed.flatMap((name) => findModel(current, name) ?? []);
    return budgetView(
      budgets.find(({ ownerId }) => ownerId === id),
      cheapestImage(current, entries, new Date()),
    );
  }

  private async rows(who: Manager, transaction?: Transaction): Promise<ApiKeyRow[]> {
    const seesOwn = may(who, 'keys.manage') && !may(who, 'keys.manage_all');
    return await this.keys.list(who.accountId, seesOwn ? who.personId : undefined, transaction);
  }

  private async find(who: Manager, id: string, transaction?: Transaction): Promise<ApiKeyRow> {
    const row = withSharedLimits(await this.rows(who, transaction)).find((key) => key.id === id);
    if (row === undefined) throw new AppError('not_found', 'Key not found.');
    return row;
  }

  private async view(who: Manager, id: string): Promise<KeyView> {
    const view = (await this.list(who)).find((key) => key.id === id);
    if (view === undefined) throw new AppError('not_found', 'Key not found.');
    return view;
  }

  /** A new key must not bypass the limits that an admin set on any of the member's keys, past or present. */
  private async assertMayCreate(who: Manager, body: NewKeyBody): Promise<void> {
    assertForMember(body);
    const limited = await this.limitedKey(who);
    if (limited === undefined) return;
    const message = `Your key ${limited.name} has limits, so only an owner or admin can create another key for you.`;
    throw new AppError('not_permitted', message);
  }

  /** Replaces model aliases with model names. Throws AppError `invalid_value`. */
  private settingsOf(body: KeyChangeBody | NewKeyBody): ReturnType<typeof keySettings> {
    const settings = keySettings(body);
    const models = settings.models?.map((name, at) => {
      const model = findModel(this.source.current, name);
      if (model !== undefined) return model.name;
      throw new AppError('invalid_value', 'Model not found.', { param: `models[${at}]` });
    });
    return models === undefined ? settings : { ...settings, models: [...new Set(models)] };
  }
}
