import { Injectable } from '@nestjs/common';
import type { ApiKey } from '#database/generated/client.js';
import { inList } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import type { Transaction } from '#database/queryable.js';
import { lockAccount } from './accounts.sql.js';
import {
  DEFAULT_ACCOUNT,
  KEY_MAKERS,
  KEY_SCOPES,
  storedKeyTasks,
  storedResponseFormat,
  storedSubmitMode,
  type ApiKeyRow,
  type ApiKeySettings,
  type KeyScope,
} from './api-keys.js';
import { storedEndUserMode } from './end-users.js';

type KeyChange = Partial<ApiKeySettings & Pick<ApiKeyRow, 'name'>>;

/**
 * The API keys of accounts: lists, changes, and revocations. NewKeyRepository creates them, and FindKey finds those that
 * requests send.
 */
@Injectable()
export class ApiKeyRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** The account's visible keys, or those that one person created, newest first. */
  async list(
    accountId = DEFAULT_ACCOUNT,
    createdBy?: string,
    database: Transaction = this.prisma,
  ): Promise<ApiKeyRow[]> {
    const rows = await database.apiKey.findMany({
      where: { accountId, hidden: false, ...(createdBy === undefined ? {} : { createdBy }) },
      orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    });
    const makers = await database.person.findMany({
      where: { id: { in: rows.flatMap((row) => row.createdBy ?? []) } },
      select: { id: true, name: true },
    });
    return rows.map((row) => shown(row, makers));
  }

  /** Those of these ids that the account has, including ended keys. */
  async existing(accountId: string, ids: readonly string[]): Promise<string[]> {
    const where = { id: { in: inList(ids) }, accountId };
    return (await this.prisma.apiKey.findMany({ where, select: { id: true } })).map(({ id }) => id);
  }

  /** The keys that a person created, including ended ones, newest first. */
  async ofCreator(accountId: string, createdBy: string): Promise<ApiKey[]> {
    return await this.prisma.apiKey.findMany({ where: { accountId, createdBy }, orderBy: { createdAt: 'desc' } });
  }

  /**
   * Runs `work` in one transaction while no other key of the account is created, rotated or changed. It locks the
   * account's row, so the account's limits can't change either. Throws what `work` throws, after a rollback.
   */
  async withAccountKeys<T>(accountId: string, work: (transaction: Transaction) => Promise<T>): Promise<T> {
    return await this.prisma.$transaction(async (transaction) => {
      await lockAccount(transaction, accountId);
      return await work(transaction);
    });
  }

  /**
   * Changes the given settings of the key with this id or prefix. `unknown` when there is none, `ambiguous` when
   * several keys share the prefix; nothing changes then.
   */
  async update(
    idOrPrefix: string,
    settings: KeyChange,
    accountId = DEFAULT_ACCOUNT,
    database: Transaction = this.prisma,
  ): Promise<ApiKeyRow | 'unknown' | 'ambiguous'> {
    const key = await this.find(idOrPrefix, accountId, database);
    if (typeof key === 'string') return key;
    await database.apiKey.updateMany({ where: { id: key.id, accountId }, data: settingColumns(settings) });
    return { ...key, ...settings };
  }

  /**
   * Revokes the key with this id or prefix and returns whether that changed anything: a key that is already revoked
   * keeps its time. 'unknown' and 'ambiguous' as in `update`.
   */
  async revoke(
    idOrPrefix: string,
    accountId = DEFAULT_ACCOUNT,
  ): Promise<{ key: ApiKeyRow; changed: boolean } | 'unknown' | 'ambiguous'> {
    const found = await this.find(idOrPrefix, accountId, this.prisma);
    if (typeof found === 'string') return found;
    const where = { id: found.id, accountId, revokedAt: null };
    const { count } = await this.prisma.apiKey.updateMany({ where, data: { revokedAt: new Date() } });
    const key = await this.find(found.id, accountId, this.prisma);
    return typeof key === 'string' ? key : { key, changed: count > 0 };
  }

  /** Revokes the keys that a person created, and returns their number. */
  async revokeOf(accountId: string, createdBy: string): Promise<number> {
    return await revokeKeysOf(this.prisma, accountId, createdBy);
  }

  private async find(
    idOrPrefix: string,
    accountId: string,
    database: Transaction,
  ): Promise<ApiKeyRow | 'unknown' | 'ambiguous'> {
    const rows = await this.list(accountId, undefined, database);
    // Keys of clients have no prefix.
    if (idOrPrefix === '') return 'unknown';
    const found = rows.filter(({ id, prefix }) => id === idOrPrefix || prefix === idOrPrefix);
    if (found.length > 1) return 'ambiguous';
    return found[0] ?? 'unknown';
  }
}

/** Revokes the keys that a person of an account created, and returns their number. */
export async function revokeKeysOf(database: Transaction, accountId: string, createdBy: string): Promise<number> {
  const where = { accountId, createdBy, hidden: false, revokedAt: null };
  return (await database.apiKey.updateMany({ where, data: { revokedAt: new Date() } })).count;
}

/** Filter for visible keys that are active now. */
export function workingKeys() {
  const alive = [{ expiresAt: null }, { expiresAt: { gt: new Date() } }];
  return { hidden: false, revokedAt: null, OR: alive };
}

/** The columns of the given settings. */
export function settingColumns({ models, scopes, tags, ...columns }: KeyChange) {
  return {
    ...columns,
    ...(models && { models: [...models] }),
    ...(scopes && { scopes: [...scopes] }),
    ...(tags && { tags: [...tags] }),
  };
}

function shown(row: ApiKey, makers: readonly { id: string; name: string }[]): ApiKeyRow {
  const { id, name, prefix, createdAt, revokedAt, lastUsedAt, replacedBy, expiresAt, models, allowPixelSize } = row;
  const { weight, submitsPerMinute, pollsPerMinute, tasksInFlight, defaultResponseFormat: format } = row;
  return {
    id,
    name,
    prefix,
    createdAt,
    revokedAt,
    lastUsedAt,
    replacedBy,
    oauthClient: row.oauthClient,
    originalKeyId: row.originalKeyId,
    expiresAt,
    models,
    allowPixelSize,
    keepSeconds: row.keepSeconds,
    weight,
    submitsPerMinute,
    pollsPerMinute,
    tasksInFlight,
    scopes: row.scopes.filter(isScope),
    tasks: storedKeyTasks(row.tasks),
    defaultResponseFormat: storedResponseFormat(format),
    submitMode: storedSubmitMode(row.submitMode),
    region: row.region,
    approveAboveMicros: row.approveAboveMicros === null ? null : Number(row.approveAboveMicros),
    endUsers: storedEndUserMode(row.endUsers),
    tags: row.tags,
    createdBy: makers.find((person) => person.id === row.createdBy) ?? null,
    madeBy: KEY_MAKERS.find((maker) => maker === row.createdBy) ?? null,
  };
}

function isScope(scope: string): scope is KeyScope {
  return KEY_SCOPES.some((known) => known === scope);
}
