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
  text: `SELECT owner_id AS "ownerId", owner, limit_micros::float8 AS "limit", period,
      budget_spent(budgets, now())::float8 AS spent
    FROM budgets WHERE owner_id = ANY($1) ORDER BY owner`,
};

/** The budgets of those who have one, by ids of accounts and keys; accounts first. */
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

const LEDGER = `SELECT
    (SELECT COALESCE(sum(reserve.amount_micros - COALESCE(refund.amount_micros, 0)), 0) FROM charges AS reserve
      LEFT JOIN charges AS refund ON refund.task_id = reserve.task_id AND refund.kind = 'refund'
      WHERE reserve.kind = 'reserve' AND $1 IN (reserve.account_id, reserve.api_key_id)
        AND ($2 = 'total' OR reserve.created_at >= month_of(clock_timestamp())))
    + (SELECT COALESCE(sum(cost_micros), 0) FROM chat_usage
      WHERE $1 IN (account_id, api_key_id) AND ($2 = 'total' OR created_at >= month_of(clock_timestamp())))`;

/**
 * Sets the budget of an account or a key; undefined takes it away. What was spent before counts, as the ledger has it:
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
    await client.query('DELETE FROM budgets WHERE owner_id = $1', [owner.ownerId]);
    if (budget !== undefined) {
      await client.query(
        `INSERT INTO budgets (owner_id, owner, limit_micros, period, spent_micros, period_start)
         SELECT $1, $3, $4, $2, (${LEDGER})::bigint, month_of(clock_timestamp())`,
        [owner.ownerId, budget.period, owner.owner, budget.limit],
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

/** Gives a key the budget of the key that it replaces, with what that has spent of it; nothing where there is none. */
export async function inheritBudget(database: Queryable, heirId: string, keyId: string): Promise<void> {
  await database.query(
    `INSERT INTO budgets (owner_id, owner, limit_micros, period, spent_micros, period_start)
     SELECT $1, owner, limit_micros, period, spent_micros, period_start FROM budgets WHERE owner_id = $2`,
    [heirId, keyId],
  );
}
