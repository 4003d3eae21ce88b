import { ulid } from 'ulid';
import type pg from 'pg';
import { DEFAULT_ACCOUNT, newApiKey, prefixOf } from '#accounts/api-keys.js';
import { hashApiKey } from '#accounts/key-hashes.js';
import { hashToken, newToken } from '#accounts/tokens.js';
import { secretIdOf } from '#secrets/sealed-text.js';

type Pool = Pick<pg.Pool, 'query'>;

/** Creates an API key the way the service does; without Prisma, which would load in every test process. */
export async function createKey(
  pool: Pool,
  secretKey: string,
  { name, accountId = DEFAULT_ACCOUNT }: { readonly name: string; readonly accountId?: string | undefined },
): Promise<{ id: string; key: string }> {
  const id = `key_${ulid()}`;
  const key = newApiKey();
  await pool.query(
    'INSERT INTO api_keys (id, account_id, name, prefix, hash, secret_id) VALUES ($1, $2, $3, $4, $5, $6)',
    [...[id, accountId, name, prefixOf(key), hashApiKey(secretKey, key), secretIdOf(secretKey)]],
  );
  return { id, key };
}

/** The recipient and purpose of a link. */
export interface LinkFor {
  readonly purpose: 'first_admin' | 'invite' | 'password';
  readonly accountId?: string;
  readonly email?: string | null;
  readonly role?: 'admin' | 'member' | 'viewer' | 'billing';
}

/** Creates a one-time link, which replaces an earlier one of the same kind, and returns its token. */
export async function createLinkToken(
  pool: Pool,
  secretKey: string,
  { purpose, accountId = DEFAULT_ACCOUNT, email = null, role = 'admin' }: LinkFor,
): Promise<string> {
  const token = newToken();
  await pool.query(
    `WITH older AS (
       DELETE FROM sign_in_links
       WHERE purpose = $3 AND account_id = $4 AND email IS NOT DISTINCT FROM $5 AND used_at IS NULL)
     INSERT INTO sign_in_links (id, token_hash, secret_id, purpose, account_id, email, role, expires_at)
     VALUES ($1, $2, $7, $3, $4, $5, $6, now() + interval '1 day')`,
    [
      ...[`link_${ulid()}`, Buffer.from(hashToken(secretKey, 'link', token)), purpose, accountId, email, role],
      secretIdOf(secretKey),
    ],
  );
  return token;
}
