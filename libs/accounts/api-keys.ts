import { createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { ulid } from 'ulid';
import type { Queryable } from '#database/queryable.js';

/** The account that owns everything until accounts are told apart; made by the first migration. */
export const DEFAULT_ACCOUNT = 'acct_default';

/** Characters of a key that are stored and shown, and the share of a short foreign key that may be. */
const PREFIX_LENGTH = 12;
const PREFIX_SHARE = 1 / 4;

/**
 * What a key may be used for. `images`: to make pictures, upload references, and read and cancel tasks;
 * `tasks`: only to read tasks; `chat`: for chats, and with `images` for pictures in chats.
 */
export const KEY_SCOPES = ['images', 'tasks', 'chat'] as const;
export type KeyScope = (typeof KEY_SCOPES)[number];

/** What can be set for one key. */
export interface ApiKeySettings {
  /** Turns in the queue, relative to other keys; at least 1. */
  readonly weight: number;
  /** These three: 0 = any number, null = as many as the deployment allows each key. */
  readonly submitsPerMinute: number | null;
  readonly pollsPerMinute: number | null;
  readonly tasksInFlight: number | null;
  /** Models it may use; empty means all. */
  readonly models: readonly string[];
  /** What it may be used for; empty means everything. */
  readonly scopes: readonly KeyScope[];
  /** What `response_format` is when a request does not say; null = as the endpoint has it. */
  readonly defaultResponseFormat: 'url' | 'b64_json' | null;
  /** Whether generations take `<w>x<h>` sizes of the table. */
  readonly allowPixelSize: boolean;
  readonly submitMode: 'sync' | 'apimart';
  readonly expiresAt: Date | null;
}

/** What the list of keys shows; never the key. */
export interface ApiKeyRow extends ApiKeySettings {
  readonly id: string;
  readonly name: string;
  readonly prefix: string;
  readonly createdAt: Date;
  readonly revokedAt: Date | null;
  /** To the minute; null = never. */
  readonly lastUsedAt: Date | null;
  /** Who made it in the console; null = a command, or a version that did not keep it. */
  readonly createdBy: { readonly id: string; readonly name: string } | null;
  /** Id of the key that a rotation made in its place. */
  readonly replacedBy: string | null;
}

interface NewApiKey {
  readonly name: string;
  readonly accountId?: string;
  /** What is left out is as usual. */
  readonly settings?: Partial<ApiKeySettings>;
  /** Id of the person who makes it in the console. */
  readonly createdBy?: string | null;
}

const COLUMNS: Readonly<Record<keyof ApiKeySettings, string>> = {
  weight: 'weight',
  submitsPerMinute: 'submits_per_minute',
  pollsPerMinute: 'polls_per_minute',
  tasksInFlight: 'tasks_in_flight',
  models: 'models',
  scopes: 'scopes',
  defaultResponseFormat: 'default_response_format',
  allowPixelSize: 'allow_pixel_size',
  submitMode: 'submit_mode',
  expiresAt: 'expires_at',
};
const SETTINGS = Object.entries(COLUMNS)
  .map(([name, column]) => `${column} AS "${name}"`)
  .join(', ');

/** `sk-dr-` and 256 random bits. */
export function newApiKey(): string {
  return `sk-dr-${randomBytes(32).toString('base64url')}`;
}

/** What is stored of a key: its HMAC-SHA-256 under a key of its own, derived from SECRET_KEY. */
export function hashApiKey(secretKey: string, key: string): Buffer {
  const pepper = Buffer.from(hkdfSync('sha256', secretKey, '', 'api-key', 32));
  return createHmac('sha256', pepper).update(key).digest();
}

/** Makes a key; the answer is the only place where it can be read. */
export async function createApiKey(
  database: Queryable,
  secretKey: string,
  { name, accountId = DEFAULT_ACCOUNT, settings = {}, createdBy = null }: NewApiKey,
): Promise<{ id: string; key: string; prefix: string }> {
  const key = newApiKey();
  const { id } = await insert(database, secretKey, key, { name, accountId, createdBy });
  await change(database, id, accountId, settings);
  return { id, key, prefix: prefixOf(key) };
}

/** Stores a key's hash under this SECRET_KEY, if it is under the one before it. */
export async function renewApiKeyHash(
  database: Queryable,
  { secretKey, secretKeyPrevious }: { readonly secretKey: string; readonly secretKeyPrevious?: string | undefined },
  key: string,
): Promise<void> {
  if (secretKeyPrevious === undefined) return;
  await database.query(
    `UPDATE api_keys SET hash = $1 WHERE hash = $2 AND NOT EXISTS (SELECT 1 FROM api_keys WHERE hash = $1)`,
    [hashApiKey(secretKey, key), hashApiKey(secretKeyPrevious, key)],
  );
}

/** Makes the given key known unless it is; a revoked one stays revoked. */
export async function ensureApiKey(
  database: Queryable,
  secretKey: string,
  key: string,
  name: string,
  secretKeyPrevious?: string,
): Promise<{ id: string; created: boolean; revoked: boolean }> {
  await renewApiKeyHash(database, { secretKey, secretKeyPrevious }, key);
  return await insert(database, secretKey, key, { name, accountId: DEFAULT_ACCOUNT, createdBy: null });
}

/** The account's keys that somebody holds, or those of them that one person made, newest first. */
export async function listApiKeys(
  database: Queryable,
  accountId = DEFAULT_ACCOUNT,
  createdBy?: string,
): Promise<ApiKeyRow[]> {
  const result = await database.query<ApiKeyRow>(
    `SELECT id, name, prefix, created_at AS "createdAt", revoked_at AS "revokedAt", last_used_at AS "lastUsedAt",
       replaced_by AS "replacedBy", ${SETTINGS},
       (SELECT json_build_object('id', people.id, 'name', people.name) FROM people WHERE people.id = created_by)
         AS "createdBy"
     FROM api_keys WHERE account_id = $1 AND NOT hidden AND ($2::text IS NULL OR created_by = $2)
     ORDER BY created_at DESC, id DESC`,
    [accountId, createdBy ?? null],
  );
  return result.rows;
}

/**
 * Notes that a key takes the place of another one, which ends at `end` or before. The one that this had taken the
 * place of ends at once, so that there are never more than two.
 */
export async function replaceApiKey(database: Queryable, id: string, replacedBy: string, end: Date): Promise<void> {
  await database.query(
    `UPDATE api_keys SET replaced_by = CASE id WHEN $1 THEN $2 ELSE replaced_by END,
       expires_at = LEAST(expires_at, CASE id WHEN $1 THEN $3::timestamptz ELSE now() END)
     WHERE id = $1 OR replaced_by = $1`,
    [id, replacedBy, end],
  );
}

/**
 * Revokes the key with this id or prefix; one that is revoked already keeps its time.
 * `unknown` when there is none, `ambiguous` when several keys share the prefix: nothing is changed then.
 */
export async function revokeApiKey(
  database: Queryable,
  idOrPrefix: string,
  accountId = DEFAULT_ACCOUNT,
): Promise<ApiKeyRow | 'unknown' | 'ambiguous'> {
  const key = await findApiKey(database, idOrPrefix, accountId);
  if (typeof key === 'string') return key;
  const result = await database.query<{ revokedAt: Date }>(
    `UPDATE api_keys SET revoked_at = coalesce(revoked_at, now()) WHERE id = $1 AND account_id = $2
     RETURNING revoked_at AS "revokedAt"`,
    [key.id, accountId],
  );
  return { ...key, revokedAt: result.rows[0]?.revokedAt ?? key.revokedAt };
}

/** The id of the account's hidden key of this name, made when there is none; its secret is known to nobody. */
export async function ensureHiddenKey(database: Queryable, accountId: string, name: string): Promise<string> {
  const result = await database.query<{ id: string }>(
    `INSERT INTO api_keys (id, account_id, name, prefix, hash, hidden) VALUES ($1, $2, $3, '', $4, true)
     ON CONFLICT (account_id, name) WHERE hidden DO UPDATE SET name = excluded.name RETURNING id`,
    // Random bits that are the HMAC of nothing that anyone could find.
    [`key_${ulid()}`, accountId, name, randomBytes(32)],
  );
  const [row] = result.rows;
  if (row === undefined) throw new Error('The database did not answer with the stored key');
  return row.id;
}

/** Sets what is named for the key with this id or prefix, and leaves the rest. Answers like `revokeApiKey`. */
export async function updateApiKey(
  database: Queryable,
  idOrPrefix: string,
  settings: Partial<ApiKeySettings & Pick<ApiKeyRow, 'name'>>,
  accountId = DEFAULT_ACCOUNT,
): Promise<ApiKeyRow | 'unknown' | 'ambiguous'> {
  const key = await findApiKey(database, idOrPrefix, accountId);
  if (typeof key === 'string') return key;
  await change(database, key.id, accountId, settings);
  return { ...key, ...settings };
}

async function findApiKey(
  database: Queryable,
  idOrPrefix: string,
  accountId: string,
): Promise<ApiKeyRow | 'unknown' | 'ambiguous'> {
  const found = (await listApiKeys(database, accountId)).filter(
    ({ id, prefix }) => id === idOrPrefix || prefix === idOrPrefix,
  );
  if (found.length > 1) return 'ambiguous';
  return found[0] ?? 'unknown';
}

async function change(
  database: Queryable,
  id: string,
  accountId: string,
  settings: Partial<ApiKeySettings & Pick<ApiKeyRow, 'name'>>,
): Promise<void> {
  const names = Object.keys(settings) as (keyof typeof settings)[];
  if (names.length === 0) return;
  await database.query(
    `UPDATE api_keys SET ${names.map((name, index) => `${name === 'name' ? name : COLUMNS[name]} = $${index + 3}`).join(', ')}
     WHERE id = $1 AND account_id = $2`,
    [id, accountId, ...names.map((name) => settings[name])],
  );
}

function prefixOf(key: string): string {
  return key.slice(0, Math.min(PREFIX_LENGTH, Math.floor(key.length * PREFIX_SHARE)));
}

async function insert(
  database: Queryable,
  secretKey: string,
  key: string,
  { name, accountId, createdBy }: Required<Omit<NewApiKey, 'settings'>>,
): Promise<{ id: string; created: boolean; revoked: boolean }> {
  const hash = hashApiKey(secretKey, key);
  const id = `key_${ulid()}`;
  // Written in a way that answers with the row that stands, whoever wrote it first.
  const result = await database.query<{ id: string; revoked: boolean }>(
    `INSERT INTO api_keys (id, account_id, name, prefix, hash, created_by) VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (hash) DO UPDATE SET hash = excluded.hash
     RETURNING id, revoked_at IS NOT NULL AS revoked`,
    [id, accountId, name, prefixOf(key), hash, createdBy],
  );
  const row = result.rows[0];
  if (row === undefined) throw new Error('The database did not answer with the stored key');
  return { id: row.id, created: row.id === id, revoked: row.revoked };
}
