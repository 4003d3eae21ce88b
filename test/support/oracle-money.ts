import type { Pool } from 'pg';
import type { Violation } from './oracle.js';

/** Price of an image in the tests with an oracle, in millionths. */
export const PRICE = 40_000;

interface Account {
  readonly id: string;
  /** Null for a task that was taken back. */
  readonly status: string | null;
  /** A provider call may have been charged. */
  readonly called: boolean;
  readonly reserve: string | null;
  readonly settle: string | null;
  readonly refund: string | null;
}

/** A failed task costs nothing, a completed one its price, and every reserve is settled or refunded. */
export async function judgeMoney(pool: Pool): Promise<Violation[]> {
  const found: Violation[] = [];
  const { rows } = await pool.query<Account>(
    `SELECT COALESCE(t.id, c.task_id) AS id, min(t.status) AS status,
        COALESCE(bool_or(jsonb_path_exists(t.calls, '$[*] ? (@.free == false && (!exists(@.endedAt) || @.charged != "no"))')), false) AS called,
        sum(amount_micros) FILTER (WHERE kind = 'reserve') AS reserve,
        sum(amount_micros) FILTER (WHERE kind = 'settle') AS settle,
        sum(amount_micros) FILTER (WHERE kind = 'refund') AS refund
      FROM tasks AS t FULL JOIN charges AS c ON c.task_id = t.id GROUP BY 1`,
  );
  for (const { id, status, called, reserve, settle, refund } of rows) {
    const isPaid = status === 'completed' || (status === 'cancelled' && called);
    const expected = isPaid ? [PRICE, PRICE, 0] : [PRICE, 0, PRICE];
    const seen = [reserve, settle, refund].map(Number);
    if (seen.join() !== expected.join()) {
      const what = `${id}, ${status ?? 'taken back'}: reserved, settled and refunded are ${seen.join(', ')}`;
      found.push({ guarantee: 'G9', what });
    }
  }
  const budgets = await pool.query<{ owner: string; spent: string; settled: string; limit: string }>(
    `SELECT owner_id AS owner, spent_micros AS spent, limit_micros AS limit, (SELECT COALESCE(sum(amount_micros), 0) FROM charges
        WHERE kind = 'settle' AND owner_id IN (account_id, api_key_id)) AS settled FROM budgets`,
  );
  for (const { owner, spent, settled, limit } of budgets.rows) {
    if (spent !== settled) found.push({ guarantee: 'G9', what: `${owner} has spent ${spent}, and settled ${settled}` });
    if (Number(spent) > Number(limit)) found.push({ guarantee: 'G9', what: `${owner} has spent ${spent} of ${limit}` });
  }
  return found;
}
