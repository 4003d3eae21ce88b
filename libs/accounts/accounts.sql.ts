import type { Queryable, Transaction } from '#database/queryable.js';

/**
 * Locks an account before something of it is counted and added to. A second transaction waits here until the first has
 * ended; reading the row, or inserting rows that refer to it, does not wait.
 */
export async function lockAccount(transaction: Transaction, id: string): Promise<void> {
  // Raw: Prisma can't lock a row without writing it.
  await transaction.$queryRaw`SELECT id FROM accounts WHERE id = ${id} FOR NO KEY UPDATE`;
}

/** Records that keys were just used. Skips rows that another process is updating, because it writes the same. */
export async function touchKeys(database: Queryable, ids: readonly string[]): Promise<void> {
  // Raw: SKIP LOCKED, because processes that update the same keys in a different order would wait for each other.
  await database.query(
    `UPDATE api_keys SET last_used_at = now()
     WHERE id IN (SELECT id FROM api_keys WHERE id = ANY($1) FOR UPDATE SKIP LOCKED)`,
    [ids],
  );
}

/** A number of refused calls; `minute` is its start. */
export interface RefusedCallsRow {
  readonly minute: Date;
  readonly accountId: string;
  readonly keyId: string;
  readonly code: string;
  readonly status: number;
  readonly count: number;
}

/** Adds numbers of refused calls to those that this and other processes have written. */
export async function addRefusedCalls(database: Queryable, rows: readonly RefusedCallsRow[]): Promise<void> {
  // Raw: Prisma can't add to many rows in one statement. Sorted, so that two processes never wait for each other's rows.
  await database.query(
    `INSERT INTO refused_calls (minute, account_id, key_id, code, status, count)
     SELECT * FROM unnest($1::timestamptz[], $2::text[], $3::text[], $4::text[], $5::int[], $6::int[])
       AS added (minute, account_id, key_id, code, status, count)
     ORDER BY minute, account_id, key_id, code, status
     ON CONFLICT (minute, account_id, key_id, code, status)
       DO UPDATE SET count = refused_calls.count + excluded.count`,
    [
      rows.map(({ minute }) => minute),
      rows.map(({ accountId }) => accountId),
      rows.map(({ keyId }) => keyId),
      rows.map(({ code }) => code),
      rows.map(({ status }) => status),
      rows.map(({ count }) => count),
    ],
  );
}

/**
 * Adds a view to those of a person, or replaces the one with its name; false when they have `most` others. Raw: of two
 * tabs that save at once, each keeps its view.
 */
export async function saveView(
  database: Queryable,
  personId: string,
  name: string,
  filters: Readonly<Record<string, string>>,
  most: number,
): Promise<boolean> {
  const { rowCount } = await database.query(
    `UPDATE people SET task_views = COALESCE(task_views, '{}') || jsonb_build_object($2::text, $3::jsonb)
     WHERE id = $1 AND deleted_at IS NULL AND (COALESCE(task_views, '{}') ? $2
       OR (SELECT count(*) FROM jsonb_object_keys(COALESCE(task_views, '{}'))) < $4)`,
    [personId, name, JSON.stringify(filters), most],
  );
  return rowCount === 1;
}

/** Removes a view of a person. Raw for the same reason. */
export async function removeView(database: Queryable, personId: string, name: string): Promise<void> {
  await database.query('UPDATE people SET task_views = task_views - $2::text WHERE id = $1', [personId, name]);
}
