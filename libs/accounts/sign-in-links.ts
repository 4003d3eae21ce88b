import { ulid } from 'ulid';
import { DEFAULT_ACCOUNT } from './api-keys.js';
import type { Queryable } from '#database/queryable.js';
import type { Role } from './person-store.js';
import { hashToken, newToken } from './tokens.js';

/** How long a link works. */
export const LINK_HOURS = 24;

interface LinkFor {
  readonly purpose: 'first_admin' | 'invite' | 'password';
  readonly accountId?: string;
  /** Whom it is for, as `storedEmailOf` spells it; null = whoever holds it. */
  readonly email?: string | null;
  readonly role?: Role;
}

/** Where the console's pages take each kind of link; the token is a fragment, which browsers never send. */
const PAGES = { first_admin: 'first-run', invite: 'invite', password: 'reset-password' } as const;

/**
 * Makes a link that works once, for 24 hours. The answer is the only place where it can be read. It takes the place of
 * an unused one of the same purpose for the same person; of links for the first admin only the newest works.
 */
export async function createSignInLink(
  database: Queryable,
  secretKey: string,
  publicUrl: string,
  { purpose, accountId = DEFAULT_ACCOUNT, email = null, role = 'admin' }: LinkFor,
): Promise<string> {
  const token = newToken();
  await database.query(
    `WITH older AS (
       DELETE FROM sign_in_links
       WHERE purpose = $3 AND account_id = $4 AND email IS NOT DISTINCT FROM $5 AND used_at IS NULL)
     INSERT INTO sign_in_links (id, token_hash, purpose, account_id, email, role, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, now() + interval '${LINK_HOURS} hours')`,
    [`link_${ulid()}`, hashToken(secretKey, 'link', token), purpose, accountId, email, role],
  );
  return `${publicUrl}/console/${PAGES[purpose]}#token=${token}`;
}
