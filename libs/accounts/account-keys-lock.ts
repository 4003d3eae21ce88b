import { AppError } from '#contract/app-error.js';
import type { Queryable } from '#database/queryable.js';

/** A connection of the caller's own. */
interface Connection extends Queryable {
  release(failure?: Error | boolean): void;
}
interface Pool {
  connect(): Promise<Connection>;
}

/**
 * Does the work in one transaction, while no other key of the account is created, rotated or changed. The account's row
 * is the lock, so its limits stay as they are as well. Throws what the work throws; nothing of it stays then.
 */
export async function withAccountKeys<T>(
  pool: Pool,
  accountId: string,
  work: (database: Queryable) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await client.query('BEGIN');
    await client.query('SELECT 1 FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [accountId]);
    const done = await work(client);
    await client.query('COMMIT');
    return done;
  } catch (error) {
    await client.query('ROLLBACK').catch((cause: unknown) => {
      broken = new Error('The transaction could not be rolled back', { cause });
    });
    throw error;
  } finally {
    client.release(broken);
  }
}

/**
 * To be asked within `withAccountKeys`, before a key is created. Counts the keys that work; a rotated key and the one in
 * its place count as one. Throws AppError `account_limit_reached` when the account has as many as it may: its own limit, or else
 * `keysPerAccount`; 0 = unlimited.
 */
export async function assertRoomForKey(database: Queryable, accountId: string, keysPerAccount: number): Promise<void> {
  const { rows } = await database.query<{ most: number; keys: number }>(
    `SELECT COALESCE(max_keys, $2) AS most,
       (SELECT count(*)::int FROM api_keys WHERE account_id = accounts.id AND NOT hidden AND replaced_by IS NULL
         AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())) AS keys
     FROM accounts WHERE id = $1`,
    [accountId, keysPerAccount],
  );
  const { most = 0, keys = 0 } = rows[0] ?? {};
  if (most === 0 || keys < most) return;
  const held = most === 1 ? 'a key already, and may have 1' : `${keys} keys, and may have ${most}`;
  throw new AppError(
    'account_limit_reached',
    `The account has ${held}. Revoke one, or ask an operator to raise the limit.`,
  );
}
