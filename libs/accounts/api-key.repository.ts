import { Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { ulid } from 'ulid';
import { AppError } from '#contract/app-error.js';
import type { ApiKey, Prisma } from '#database/generated/client.js';
import { isUniqueViolation } from '#database/database-errors.js';
import { inList } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import type { Transaction } from '#database/queryable.js';
import { secretIdOf } from '#secrets/sealed-text.js';
import { SecretsConfig } from '#secrets/secrets.config.js';
import { lockAccount, touchKeys } from './accounts.sql.js';
import { may, roleOf, type Role } from './person-rules.js';
import {
  DEFAULT_ACCOUNT,
  hashApiKey,
  KEY_MAKERS,
  KEY_SCOPES,
  newApiKey,
  prefixOf,
  storedKeyTasks,
  storedResponseFormat,
  type ApiKeyRow,
  type ApiKeySettings,
  type KeyScope,
  type NewApiKey,
} from './api-keys.js';

type KeyChange = Partial<ApiKeySettings & Pick<ApiKeyRow, 'name'>>;
/** A new key: the only place where its text can be read. */
interface CreatedKey {
  readonly id: string;
  readonly key: string;
  readonly prefix: string;
}

/** The tasks of a person, and of some keys, where not all of the account are to be seen. */
interface SeenTasks {
  readonly personId: string | null;
  readonly keyIds: readonly string[];
}

/** What a key may do now, beyond its own settings. */
interface KeyRights {
  /** Undefined: all tasks of the account. */
  readonly own: SeenTasks | undefined;
  /** Present role of the user who created it; undefined = no user did. */
  readonly role: Role | undefined;
}

/** The API keys of accounts. Requests find theirs with ApiKeyStore (`auth` of the API), which caches what this reads. */
@Injectable()
export class ApiKeyRepository {
  constructor(
    private readonly prisma: PrismaService,
    private readonly secrets: SecretsConfig,
  ) {}

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
   * Creates a key; its text can be read only in the result. Throws AppError `account_limit_reached` when the account
   * has reached its own limit, or else `keysPerAccount`; 0 = unlimited.
   */
  async create(
    { name, accountId = DEFAULT_ACCOUNT, settings = {}, createdBy = null }: NewApiKey,
    keysPerAccount = 0,
  ): Promise<CreatedKey> {
    return await this.withAccountKeys(accountId, async (transaction) => {
      await assertRoomForKey(transaction, accountId, keysPerAccount);
      return await this.insert(transaction, { name, accountId, createdBy, ...columnsOf(settings) });
    });
  }

  /** Registers the given key, created at setup, if it is not known yet; a revoked one stays revoked. */
  async ensure(key: string, name: string): Promise<{ id: string; created: boolean; revoked: boolean }> {
    await this.renewHash(key);
    const hash = this.hash(key);
    const { row, created } = await findOrCreate(
      () => this.prisma.apiKey.findUnique({ where: { hash } }),
      () =>
        this.prisma.apiKey.create({
          data: newRow({
            accountId: DEFAULT_ACCOUNT,
            name,
            prefix: prefixOf(key),
            createdBy: 'setup',
            ...this.hashed(key),
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

  /**
   * The row of a key, with its account; undefined when there is none. The hash may still use the previous SECRET_KEY:
   * the key works with either, and its hash is then renewed.
   */
  async findByKey(key: string) {
    const hashes = this.hashes(key);
    const rows = await this.prisma.apiKey.findMany({ where: { hash: { in: hashes } }, include: { account: true } });
    const current = rows.find(({ hash }) => hashes[0] !== undefined && Buffer.compare(hash, hashes[0]) === 0);
    // The next lookup tries again.
    if (rows.length > 0 && current?.secretId !== this.secretId) await this.renewHash(key).catch(() => undefined);
    return current ?? rows[0];
  }

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
   * The tasks that a user may see and cancel: those that they ordered in the console or that their keys created,
   * including ended keys; undefined for users who may see all.
   */
  async tasksOfPerson(who: {
    readonly accountId: string;
    readonly personId: string;
    readonly role: Role;
  }): Promise<SeenTasks | undefined> {
    const { accountId, personId } = who;
    if (may(who, 'tasks.read_all')) return undefined;
    return { personId, keyIds: await this.idsOf({ accountId, createdBy: personId, hidden: false }) };
  }

  /** The tasks that a key may see and cancel (KEY_TASKS), and the role that limits what it does at all. */
  async rightsOf(key: Pick<ApiKey, 'id' | 'accountId' | 'createdBy' | 'tasks' | 'originalKeyId'>): Promise<KeyRights> {
    const { id, accountId, createdBy, tasks, originalKeyId } = key;
    const isOfUser = createdBy !== null && !KEY_MAKERS.some((maker) => maker === createdBy);
    // Deleted users keep their role, so a key that outlives its user may do no more than before.
    const reading = isOfUser ? this.prisma.person.findFirst({ where: { id: createdBy, accountId } }) : null;
    if (storedKeyTasks(tasks) === 'own') {
      const original = originalKeyId ?? id;
      const chain = { accountId, OR: [{ id: original }, { originalKeyId: original }] };
      const [person, keyIds] = await Promise.all([reading, this.idsOf(chain)]);
      return { own: { personId: null, keyIds }, role: person === null ? undefined : roleOf(person) };
    }
    if (!isOfUser) return { own: undefined, role: undefined };
    const person = await reading;
    if (person === null) return { own: { personId: createdBy, keyIds: [id] }, role: undefined };
    const role = roleOf(person);
    const isReader = may({ accountId, role }, 'tasks.read_all') && !may({ accountId, role }, 'tasks.create');
    // Programs that hold a key do not come to see more because its user now only reads.
    const own = await this.tasksOfPerson({ accountId, personId: createdBy, role: isReader ? 'member' : role });
    return { own, role };
  }

  private async idsOf(where: Prisma.ApiKeyWhereInput): Promise<string[]> {
    return (await this.prisma.apiKey.findMany({ where, select: { id: true } })).map(({ id }) => id);
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
    await database.apiKey.updateMany({ where: { id: key.id, accountId }, data: columnsOf(settings) });
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

  /**
   * Creates a key with the settings of another one. The two count as one key, and the old one ends at `end` or before.
   * The key that the old one had replaced ends at once, so there are never more than two.
   */
  async rotate(transaction: Transaction, id: string, end: Date): Promise<CreatedKey> {
    const old = await transaction.apiKey.findUniqueOrThrow({ where: { id } });
    const { accountId, createdBy, name, weight, submitsPerMinute, pollsPerMinute, tasksInFlight, models, scopes } = old;
    const { defaultResponseFormat, allowPixelSize, submitMode, expiresAt, tasks } = old;
    const created = await this.insert(transaction, {
      accountId,
      createdBy,
      name,
      weight,
      submitsPerMinute,
      pollsPerMinute,
      tasksInFlight,
      models,
      scopes,
      defaultResponseFormat,
      allowPixelSize,
      submitMode,
      expiresAt,
      tasks,
      originalKeyId: old.originalKeyId ?? old.id,
    });
    const now = new Date();
    await transaction.apiKey.updateMany({
      where: { replacedBy: id, OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] },
      data: { expiresAt: now },
    });
    const ends = expiresAt === null || expiresAt > end ? end : expiresAt;
    await transaction.apiKey.update({ where: { id }, data: { replacedBy: created.id, expiresAt: ends } });
    return created;
  }

  /** Records that keys were just used. */
  async touch(ids: readonly string[]): Promise<void> {
    await touchKeys(this.prisma.pool, ids);
  }

  /** Rehashes a key with the current SECRET_KEY if its hash uses the previous one. */
  private async renewHash(key: string): Promise<void> {
    const hashed = this.hashed(key);
    const isOutdated = { secretId: { not: this.secretId } };
    try {
      await this.prisma.apiKey.updateMany({ where: { hash: { in: this.hashes(key) }, ...isOutdated }, data: hashed });
    } catch (error) {
      // The key is already stored with the new hash as well.
      if (!isUniqueViolation(error)) throw error;
    }
  }

  private async find(
    idOrPrefix: string,
    accountId: string,
    database: Transaction,
  ): Promise<ApiKeyRow | 'unknown' | 'ambiguous'> {
    const rows = await this.list(accountId, undefined, database);
    const found = rows.filter(({ id, prefix }) => id === idOrPrefix || prefix === idOrPrefix);
    if (found.length > 1) return 'ambiguous';
    return found[0] ?? 'unknown';
  }

  private async insert(
    transaction: Transaction,
    columns: Omit<Prisma.ApiKeyUncheckedCreateInput, 'id' | 'prefix' | 'hash'>,
  ): Promise<CreatedKey> {
    const key = newApiKey();
    const prefix = prefixOf(key);
    const { id } = await transaction.apiKey.create({ data: newRow({ ...columns, prefix, ...this.hashed(key) }) });
    return { id, key, prefix };
  }

  private get secretId(): string {
    return secretIdOf(this.secrets.secretKey);
  }

  private hashed(key: string): { hash: Uint8Array<ArrayBuffer>; secretId: string } {
    return { hash: this.hash(key), secretId: this.secretId };
  }

  private hash(key: string): Uint8Array<ArrayBuffer> {
    return new Uint8Array(hashApiKey(this.secrets.secretKey, key));
  }

  /** With the current SECRET_KEY, and with the previous one. */
  private hashes(key: string): Uint8Array<ArrayBuffer>[] {
    const { secretKeyPrevious: previous } = this.secrets;
    return [this.hash(key), ...(previous === undefined ? [] : [new Uint8Array(hashApiKey(previous, key))])];
  }
}

/**
 * Counts the active keys; a key and its replacements count as one, as long as any of them is active. Throws AppError
 * `account_limit_reached` when the account has reached its limit.
 */
async function assertRoomForKey(transaction: Transaction, accountId: string, keysPerAccount: number): Promise<void> {
  const account = await transaction.account.findUnique({ where: { id: accountId }, select: { maxKeys: true } });
  const most = account?.maxKeys ?? keysPerAccount;
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

function newRow(columns: Omit<Prisma.ApiKeyUncheckedCreateInput, 'id'>): Prisma.ApiKeyUncheckedCreateInput {
  return { ...columns, id: `key_${ulid()}` };
}

function columnsOf({ models, scopes, ...columns }: KeyChange) {
  return { ...columns, ...(models && { models: [...models] }), ...(scopes && { scopes: [...scopes] }) };
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
    expiresAt,
    models,
    allowPixelSize,
    weight,
    submitsPerMinute,
    pollsPerMinute,
    tasksInFlight,
    scopes: row.scopes.filter(isScope),
    tasks: storedKeyTasks(row.tasks),
    defaultResponseFormat: storedResponseFormat(format),
    submitMode: row.submitMode === 'apimart' ? 'apimart' : 'sync',
    createdBy: makers.find((person) => person.id === row.createdBy) ?? null,
    madeBy: KEY_MAKERS.find((maker) => maker === row.createdBy) ?? null,
  };
}

function isScope(scope: string): scope is KeyScope {
  return KEY_SCOPES.some((known) => known === scope);
}
