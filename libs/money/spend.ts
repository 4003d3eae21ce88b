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
