import type { Queryable } from '#database/queryable.js';

export const BUDGET_PERIODS = ['month', 'total'] as const;
export type BudgetPeriod = (typeof BUDGET_PERIODS)[number];

/** What an account or a key may spend, in millionths; `month` begins anew with each month of the calendar, in UTC. */
export interface Budget {
  readonly ownerId: string;
  readonly owner: 'account' | 'key';
  readonly limit: number;
  readonly period: BudgetPeriod;
  /** Settled, and reserved for tasks that have not ended. */
  readonly spent: number;
}

const FIND = {
  name: 'budgets_find',
  text: `SELECT wanted.id AS "ownerId", owner, limit_micros::float8 AS "limit", period,
      budget_spent(budgets, now())::float8 AS spent
    FROM unnest($1::text[]) AS wanted (id) JOIN budgets ON owner_id = budget_of(wanted.id) ORDER BY owner`,
};

/** The budgets of those who have one, by ids of accounts and keys; accounts first. Keys may share one. */
export async function findBudgets(database: Queryable, ownerIds: readonly string[]): Promise<Budget[]> {
  return (await database.query<Budget>(FIND.text, [ownerIds])).rows;
}

/** What may still be spent by whom all these budgets bind; null when there are none. */
export function leftOf(budgets: readonly Budget[]): number | null {
  return budgets.length === 0 ? null : Math.min(...budgets.map(({ limit, spent }) => Math.max(limit - spent, 0)));
}

/** A connection of the caller's own. */
interface Connection extends Queryable {
  release(failure?: Error | boolean): void;
}
interface Pool {
  connect(): Promise<Connection>;
}

/** An account, or a key with all those that share its budget. */
const PAYERS = `SELECT budget_of($1) AS id,
    ARRAY(SELECT id FROM api_keys WHERE budget_id = budget_of($1)) || ARRAY[$1, budget_of($1)] AS payers`;
const LEDGER = `SELECT
    (SELECT COALESCE(sum(reserve.amount_micros - COALESCE(refund.amount_micros, 0)), 0) FROM charges AS reserve
      LEFT JOIN charges AS refund ON refund.task_id = reserve.task_id AND refund.kind = 'refund'
      WHERE reserve.kind = 'reserve' AND (reserve.account_id = ANY($5) OR reserve.api_key_id = ANY($5))
        AND ($2 = 'total' OR reserve.created_at >= month_of(clock_timestamp())))
    + (SELECT COALESCE(sum(cost_micros), 0) FROM chat_usage
      WHERE (account_id = ANY($5) OR api_key_id = ANY($5)) AND ($2 = 'total' OR created_at >= month_of(clock_timestamp())))
    + (SELECT COALESCE(sum(amount_micros), 0) FROM chat_reserves
      WHERE (account_id = ANY($5) OR api_key_id = ANY($5)) AND ($2 = 'total' OR created_at >= month_of(clock_timestamp())))`;

/**
 * Sets the budget of an account, or of a key and those that share it; undefined takes it away. What was spent before counts, as the ledger has it:
 * for that moment no task with a price is accepted or ended. Throws when the database does not answer, or those in
 * front of it take longer than two seconds.
 */
export async function setBudget(
  pool: Pool,
  owner: Pick<Budget, 'ownerId' | 'owner'>,
  budget: Pick<Budget, 'limit' | 'period'> | undefined,
): Promise<void> {
  const client = await pool.connect();
  let failure: Error | undefined;
  try {
    await client.query('BEGIN');
    // Whoever comes after waits, too, so rather give up than let them.
    await client.query(`SET LOCAL lock_timeout = '2s'`);
    await client.query('LOCK TABLE budgets IN EXCLUSIVE MODE');
    const { rows } = await client.query<{ id: string; payers: string[] }>(PAYERS, [owner.ownerId]);
    const { id = owner.ownerId, payers = [] } = rows[0] ?? {};
    await client.query('DELETE FROM budgets WHERE owner_id = $1', [id]);
    if (budget !== undefined) {
      await client.query(
        `INSERT INTO budgets (owner_id, owner, limit_micros, period, spent_micros, period_start)
         SELECT $1, $3, $4, $2, (${LEDGER})::bigint, month_of(clock_timestamp())`,
        [id, budget.period, owner.owner, budget.limit, payers],
      );
    }
    await client.query('COMMIT');
  } catch (error) {
    failure = error instanceof Error ? error : new Error('the transaction failed');
    throw error;
  } finally {
    client.release(failure);
  }
}

/** Lets a key draw on the budget of the key that it replaces, whenever one is set or changed for either of them. */
export async function shareBudget(database: Queryable, heirId: string, keyId: string): Promise<void> {
  await database.query('UPDATE api_keys SET budget_id = budget_of($2) WHERE id = $1', [heirId, keyId]);
}
