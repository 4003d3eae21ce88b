import type { Queryable } from '#database/queryable.js';

/** An identifier that is derived with an account's secret, so that no other account can have it. */
const DERIVED = '^eu_[A-Za-z0-9_-]{43}$';

/** Tasks of an end user, the latest, among which the provider has to be. */
const LATEST_TASKS = 100;

/**
 * Ids of the accounts that sent an end user's identifier to a provider, by what is still recorded of tasks and chats. Raw:
 * each account costs a look into its index of labels, and only those that have the identifier more.
 */
export async function accountsOfEndUser(database: Queryable, endUser: string, provider: string): Promise<string[]> {
  const { rows } = await database.query<{ id: string }>(
    `SELECT id FROM accounts a WHERE
       (EXISTS (SELECT 1 FROM task_labels l WHERE l.account_id = a.id AND l.kind = 'end_user' AND l.name = $1)
         OR EXISTS (SELECT 1 FROM labeled_usage u WHERE u.account_id = a.id AND u.kind = 'end_user' AND u.name = $1)
         OR EXISTS (SELECT 1 FROM usage_changes c WHERE c.account_id = a.id AND c.end_user = $1))
       AND ($1 ~ '${DERIVED}'
         OR EXISTS (SELECT 1 FROM (SELECT task_id FROM task_labels l
                WHERE l.account_id = a.id AND l.kind = 'end_user' AND l.name = $1
                ORDER BY created_at DESC LIMIT ${LATEST_TASKS}) AS latest JOIN tasks t ON t.id = latest.task_id
              WHERE t.provider = $2 OR t.calls @> jsonb_build_array(jsonb_build_object('provider', $2)))
         OR EXISTS (SELECT 1 FROM chat_usage c WHERE c.account_id = a.id AND c.end_user = $1 AND c.provider = $2))`,
    [endUser, provider],
  );
  return rows.map(({ id }) => id);
}
