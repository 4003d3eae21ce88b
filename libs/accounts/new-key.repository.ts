import { Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { ulid } from 'ulid';
import { AppError } from '#contract/app-error.js';
import type { Prisma } from '#database/generated/client.js';
import { isUniqueViolation } from '#database/database-errors.js';
import { PrismaService } from '#database/prisma.service.js';
import type { Transaction } from '#database/queryable.js';
import { SecretsConfig } from '#secrets/secrets.config.js';
import { lockAccount } from './accounts.sql.js';
import { settingColumns, workingKeys } from './api-key.repository.js';
import { DEFAULT_ACCOUNT, newApiKey, prefixOf, type NewApiKey } from './api-keys.js';
import { hashColumns, renewHash } from './key-hashes.js';

/** A new key: the only place where its text can be read. */
interface CreatedKey {
  readonly id: string;
  readonly key: string;
  readonly prefix: string;
}

/** The key of a client that a person has authorized. */
interface ClientKey {
  readonly accountId: string;
  readonly personId: string;
  /** What the client calls itself. */
  readonly client: string;
  readonly like?: string | undefined;
}

/** Creates API keys: of users, commands and authorized clients, in place of an older one, at setup, and hidden ones. */
@Injectable()
export class NewKeyRepository {
  constructor(
    private readonly prisma: PrismaService,
    private readonly secrets: SecretsConfig,
  ) {}

  /**
   * Creates a key; its text can be read only in the result. Throws AppError `account_limit_reached` when the account
   * has reached its own limit, or else `defaultMaxKeys`; 0 = unlimited.
   */
  async create(
    { name, accountId = DEFAULT_ACCOUNT, settings = {}, createdBy = null }: NewApiKey,
    defaultMaxKeys = 0,
  ): Promise<CreatedKey> {
    return await this.prisma.$transaction(async (transaction) => {
      await lockAccount(transaction, accountId);
      await assertRoomForKey(transaction, accountId, defaultMaxKeys);
      return await this.insert(transaction, { name, accountId, createdBy, ...settingColumns(settings) });
    });
  }

  /**
   * Creates a key with the settings of another one. The two count as one key, and the old one ends at `end` or before.
   * The key that the old one had replaced ends at once, so there are never more than two.
   */
  async rotate(transaction: Transaction, id: string, end: Date): Promise<CreatedKey> {
    const kept = await settingsLike(transaction, id);
    const created = await this.insert(transaction, kept);
    const now = new Date();
    await transaction.apiKey.updateMany({
      where: { replacedBy: id, OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] },
      data: { expiresAt: now },
    });
    const ends = kept.expiresAt === null || kept.expiresAt > end ? end : kept.expiresAt;
    await transaction.apiKey.update({ where: { id }, data: { replacedBy: created.id, expiresAt: ends } });
    return created;
  }

  /**
   * Creates the key of a client that a person has authorized; nobody holds a secret to it. `like`: the id of a key that it
   * counts as one with, with its settings; without it, it has none. Throws like `create`.
   */
  async createForClient(
    { accountId, personId, client, like }: ClientKey,
    defaultMaxKeys: number,
    work: (transaction: Transaction, id: string) => Promise<void>,
  ): Promise<string> {
    return await this.prisma.$transaction(async (transaction) => {
      await lockAccount(transaction, accountId);
      if (like === undefined) await assertRoomForKey(transaction, accountId, defaultMaxKeys);
      const row = newRow({
        ...(like !== undefined && (await settingsLike(transaction, like))),
        accountId,
        createdBy: personId,
        name: `${client} (OAuth)`,
        oauthClient: client,
        scopes: ['images'],
        tasks: 'own',
        submitMode: 'sync',
        prefix: '',
        // Of a key that is thrown away.
        ...hashColumns(this.secrets, newApiKey()),
      });
      await transaction.apiKey.create({ data: row });
      await work(transaction, row.id);
      return row.id;
    });
  }

  /** Registers the given key, created at setup, if it is not known yet; a revoked one stays revoked. */
  async ensure(key: string, name: string): Promise<{ id: string; created: boolean; revoked: boolean }> {
    await renewHash(this.prisma, this.secrets, key);
    const columns = hashColumns(this.secrets, key);
    const { row, created } = await findOrCreate(
      () => this.prisma.apiKey.findUnique({ where: { hash: columns.hash } }),
      () =>
        this.prisma.apiKey.create({
          data: newRow({
            accountId: DEFAULT_ACCOUNT,
            name,
            prefix: prefixOf(key),
            createdBy: 'setup',
            ...columns,
          }),
        }),
    );
    return { id: row.id, created, revoked: row.revokedAt !== null };
  }

  /** The id of the account's hidden key of this name, created if missing; its secret does not exist. */
  async ensureHidden(accountId: string, name: string): Promise<string> {
    const { row } = await findOrCreate(
      () => this.prisma.apiKey.findFirst({ where: { accountId, name, hidden: true } }),
      // Random bits instead of the HMAC of a key, so no key matches them.
      () =>
        this.prisma.apiKey.create({
          data: newRow({ accountId, name, prefix: '', hash: randomBytes(32), hidden: true }),
        }),
    );
    return row.id;
  }

  private async insert(
    transaction: Transaction,
    columns: Omit<Prisma.ApiKeyUncheckedCreateInput, 'id' | 'prefix' | 'hash'>,
  ): Promise<CreatedKey> {
    const key = newApiKey();
    const prefix = prefixOf(key);
    const { id } = await transaction.apiKey.create({
      data: newRow({ ...columns, prefix, ...hashColumns(this.secrets, key) }),
    });
    return { id, key, prefix };
  }
}

/**
 * Counts the active keys; a key and its replacements count as one, as long as any of them is active. Throws AppError
 * `account_limit_reached` when the account has reached its limit.
 */
async function assertRoomForKey(transaction: Transaction, accountId: string, defaultMaxKeys: number): Promise<void> {
  const account = await transaction.account.findUnique({ where: { id: accountId }, select: { maxKeys: true } });
  const most = account?.maxKeys ?? defaultMaxKeys;
  if (most === 0) return;
  const working = await transaction.apiKey.findMany({
    where: { ...workingKeys(), accountId },
    select: { id: true, originalKeyId: true },
  });
  const keys = new Set(working.map(({ id, originalKeyId }) => originalKeyId ?? id)).size;
  if (keys < most) return;
  const held = most === 1 ? 'a key already, and is limited to 1' : `${keys} of at most ${most} keys`;
  throw new AppError(
    'account_limit_reached',
    `The account has ${held}. Revoke a key, or ask an operator to raise the limit.`,
  );
}

/** Finds the row or creates it; when two callers create it at once, the second gets the row of the first. */
async function findOrCreate<T>(
  find: () => Promise<T | null>,
  create: () => Promise<T>,
): Promise<{ row: T; created: boolean }> {
  const row = await find();
  if (row !== null) return { row, created: false };
  try {
    return { row: await create(), created: true };
  } catch (error) {
    const first = isUniqueViolation(error) ? await find() : null;
    if (first === null) throw error;
    return { row: first, created: false };
  }
}

/** The columns of a key that counts as one with this one, and has its settings. */
async function settingsLike(transaction: Transaction, id: string) {
  const old = await transaction.apiKey.findUniqueOrThrow({ where: { id } });
  // All other columns are settings, and so is a new one until it is named here.
  const { id: _id, prefix: _prefix, hash: _hash, secretId: _secretId, ...state } = old;
  const { createdAt: _created, lastUsedAt: _lastUsed, revokedAt: _revoked, replacedBy: _replaced, ...kept } = state;
  return { ...kept, originalKeyId: old.originalKeyId ?? old.id };
}

function newRow(columns: Omit<Prisma.ApiKeyUncheckedCreateInput, 'id'>): Prisma.ApiKeyUncheckedCreateInput {
  return { ...columns, id: `key_${ulid()}` };
}
