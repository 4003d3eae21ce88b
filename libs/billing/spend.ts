import type { Queryable } from '#database/queryable.js';

/**
 * What each of an account's keys has spent since it was made, by id, in millionths of a currency: settled, and reserved
 * for tasks that have not ended. Chats count too; what was paid in other currencies does not.
 */
export async function spendByKey(
  database: Queryable,
  accountId: string,
  currency: string,
): Promise<Map<string, number>> {
  const { rows } = await database.query<{ keyId: string; spend: number }>(
    `SELECT api_key_id AS "keyId", sum(amount)::float8 AS spend FROM (
       SELECT api_key_id, CASE kind WHEN 'reserve' THEN amount_micros WHEN 'refund' THEN -amount_micros END AS amount
       FROM charges WHERE account_id = $1 AND currency = $2
       UNION ALL
       SELECT api_key_id, cost_micros FROM chat_usage WHERE account_id = $1) AS spent
     GROUP BY api_key_id`,
    [accountId, currency],
  );
  return new Map(rows.map(({ keyId, spend }) => [keyId, spend]));
}

/**
 * What each of these accounts has spent since the month of the calendar began, in UTC, by id; otherwise like
 * `spendByKey`.
 */
export async function spendThisMonth(
  database: Queryable,
  accountIds: readonly string[],
  currency: string,
): Promise<Map<string, number>> {
  const { rows } = await database.query<{ accountId: string; spend: number }>(
    `SELECT account_id AS "accountId", COALESCE(sum(amount), 0)::float8 AS spend FROM (
       SELECT reserve.account_id, reserve.amount_micros - COALESCE(refund.amount_micros, 0) AS amount
       FROM charges AS reserve LEFT JOIN charges AS refund ON refund.task_id = reserve.task_id AND refund.kind = 'refund'
       WHERE reserve.kind = 'reserve' AND reserve.account_id = ANY($1) AND reserve.currency = $2
         AND reserve.created_at >= month_of(now())
       UNION ALL
       SELECT account_id, cost_micros FROM chat_usage WHERE account_id = ANY($1) AND created_at >= month_of(now())) AS spent
     GROUP BY account_id`,
    [accountIds, currency],
  );
  return new Map(rows.map(({ accountId, spend }) => [accountId, spend]));
}
