import { Inject, Injectable } from '@nestjs/common';
import { CatalogueSource } from '#catalogue/catalogue-source.js';
import { AppError } from '#contract/app-error.js';
import { createApiKey, listApiKeys, revokeApiKey, updateApiKey, type ApiKeyRow } from '#database/api-keys.js';
import { Database } from '#database/database.js';
import { findBudgets, setBudget, shareBudget } from '#money/budgets.js';
import { spendByKey } from '#money/spend.js';
import { SecretsConfig } from '#secrets/secrets.config.js';
import { budgetAfter } from '../budget-body.js';
import { keySettings, type KeyChangeBody, type NewKeyBody } from './key-bodies.js';
import { keyView, type KeyView, type NewKeyView } from './key-view.js';

const HOUR_MS = 3_600_000;

/** The keys of an account, as its people manage them. Another account's key is none: `not_found`. */
@Injectable()
export class AccountKeys {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(SecretsConfig) private readonly secrets: SecretsConfig,
    @Inject(CatalogueSource) private readonly source: CatalogueSource,
  ) {}

  async list(accountId: string): Promise<KeyView[]> {
    const rows = await listApiKeys(this.database.pool, accountId);
    const budgets = await findBudgets(
      this.database.pool,
      rows.map(({ id }) => id),
    );
    const { currency } = this.source.current;
    const spends = await spendByKey(this.database.pool, accountId, currency);
    const budgetOf = (id: string) => budgets.find(({ ownerId }) => ownerId === id);
    return rows.map((row) => keyView(row, budgetOf(row.id), spends.get(row.id) ?? 0, currency));
  }

  async create(accountId: string, body: NewKeyBody): Promise<NewKeyView> {
    this.assertModels(body.models ?? []);
    const budget = budgetAfter(body, undefined);
    const { name: _name, ...settings } = keySettings(body);
    const made = await createApiKey(this.database.pool, this.secrets.secretKey, {
      name: body.name,
      accountId,
      settings,
    });
    if (budget) await setBudget(this.database.pool, { ownerId: made.id, owner: 'key' }, budget);
    return { key: await this.view(accountId, made.id), secret: made.key };
  }

  async change(accountId: string, id: string, body: KeyChangeBody): Promise<KeyView> {
    this.assertModels(body.models ?? []);
    const row = await this.find(accountId, id);
    const [before] = await findBudgets(this.database.pool, [row.id]);
    const budget = budgetAfter(body, before);
    await updateApiKey(this.database.pool, row.id, keySettings(body), accountId);
    if (budget !== undefined) {
      await setBudget(this.database.pool, { ownerId: row.id, owner: 'key' }, budget ?? undefined);
    }
    return await this.view(accountId, row.id);
  }

  /** A new key with the settings of the old one, which works for `overlapHours` more. Both draw on one budget. */
  async rotate(accountId: string, id: string, overlapHours: number): Promise<NewKeyView> {
    const old = await this.find(accountId, id);
    const end = new Date(Date.now() + overlapHours * HOUR_MS);
    if (old.revokedAt !== null || (old.expiresAt !== null && old.expiresAt <= new Date())) {
      throw new AppError('invalid_value', 'The key is revoked or expired; create a new one.');
    }
    const { pool } = this.database;
    const { name, weight, submitsPerMinute, pollsPerMinute, tasksInFlight, models, scopes } = old;
    const { defaultResponseFormat, allowPixelSize, submitMode, expiresAt } = old;
    const settings = {
      ...{ weight, submitsPerMinute, pollsPerMinute, tasksInFlight, models, scopes },
      ...{ defaultResponseFormat, allowPixelSize, submitMode, expiresAt },
    };
    const made = await createApiKey(pool, this.secrets.secretKey, { name, accountId, settings });
    await shareBudget(pool, made.id, old.id);
    if (expiresAt === null || end < expiresAt) await updateApiKey(pool, old.id, { expiresAt: end }, accountId);
    return { key: await this.view(accountId, made.id), secret: made.key };
  }

  async revoke(accountId: string, id: string): Promise<KeyView> {
    const row = await this.find(accountId, id);
    await revokeApiKey(this.database.pool, row.id, accountId);
    return await this.view(accountId, row.id);
  }

  private async find(accountId: string, id: string): Promise<ApiKeyRow> {
    const row = (await listApiKeys(this.database.pool, accountId)).find((key) => key.id === id);
    if (row === undefined) throw new AppError('not_found', 'There is no such key.');
    return row;
  }

  private async view(accountId: string, id: string): Promise<KeyView> {
    const view = (await this.list(accountId)).find((key) => key.id === id);
    if (view === undefined) throw new AppError('not_found', 'There is no such key.');
    return view;
  }

  private assertModels(models: readonly string[]): void {
    const at = models.findIndex((name) => !this.source.current.models.has(name));
    if (at === -1) return;
    throw new AppError('invalid_value', 'There is no such model.', { param: `models[${at}]` });
  }
}
