import { Prisma } from '#database/generated/client.js';
import type { Queryable, Transaction } from '#database/queryable.js';
import type { Budget, BudgetPeriod } from './budgets.js';

/** Until the transaction has ended nobody counts anything into a budget. Raw: Prisma locks no tables. */
export async function lockBudgets(transaction: Transaction): Promise<void> {
  await transaction.$executeRaw`LOCK TABLE budgets IN EXCLUSIVE MODE`;
}

/** Whose spending is asked for. */
interface Spenders {
  readonly owner: Budget['owner'];
  readonly ids: readonly string[];
  readonly period: BudgetPeriod;
  /** Null: whatever the currency. */
  readonly currency: string | null;
}

interface Spent {
  readonly id: string;
  /** Millionths: settled, reserved for tasks that have not ended, and chats that were written down. */
  readonly charged: bigint;
  /** Millionths that are set aside for chats. */
  readonly reserved: bigint;
  /** When the month of the calendar began, in UTC. */
  readonly month: Date;
}

/** What each of them has spent. Raw: a function of the database adds up what may not have been added up yet. */
export async function ledgerSpent(database: Transaction, { owner, ids, period, currency }: Spenders): Promise<Spent[]> {
  const payer = owner === 'account' ? Prisma.sql`account_id` : Prisma.sql`api_key_id`;
  const [accounts, keys] = owner === 'account' ? [ids, []] : [[], ids];
  const paidIn = currency === null ? Prisma.sql`true` : Prisma.sql`currency IN ('', ${currency})`;
  const since = Prisma.sql`month >= month_of(statement_timestamp())`;
  const reservedSince = Prisma.sql`created_at >= month_of(statement_timestamp())`;
  const always = Prisma.sql`true`;
  return await database.$queryRaw<Spent[]>`
    SELECT spender AS id, month_of(statement_timestamp()) AS month, COALESCE(amount, 0)::bigint AS charged,
      (SELECT COALESCE(sum(amount_micros), 0) FROM chat_reserves
        WHERE ${payer} = spender AND ${period === 'total' ? always : reservedSince})::bigint AS reserved
    FROM unnest(${[...ids]}::text[]) AS spender LEFT JOIN (
      SELECT ${payer} AS payer, sum(amount) AS amount FROM spend_of(${[...accounts]}::text[], ${[...keys]}::text[])
      WHERE ${paidIn} AND ${period === 'total' ? always : since} GROUP BY 1) AS spent ON payer = spender`;
}

/** What each key of an account has spent since it was made, in millionths; as `ledgerSpent` has it. */
export async function spentByKey(
  database: Queryable,
  accountId: string,
  currency: string,
): Promise<{ readonly id: string; readonly amount: number }[]> {
  const { rows } = await database.query<{ id: string; amount: number }>({
    name: 'spent_by_key',
    text: `SELECT api_key_id AS id, sum(amount)::float8 AS amount FROM spend_of(ARRAY[$1::text], '{}')
      WHERE currency IN ('', $2) GROUP BY 1`,
    values: [accountId, currency],
  });
  return rows;
}

/** A chat that is about to begin. */
export interface BeginningChat {
  readonly requestId: string;
  readonly accountId: string;
  readonly keyId: string;
}

/** Sets an amount aside, or raises what `refusalOf` reads. Raw: the function locks budgets and goes by the database's clock. */
export async function reserveChat(
  database: Queryable,
  { requestId, accountId, keyId }: BeginningChat,
  amount: number | null,
  lifeMs: number,
): Promise<void> {
  await database.query({
    name: 'chat_reserve',
    // Nothing is lost with a reserve, so the disk is not waited for.
    text: `SELECT chat_reserve($1, $2, $3, $4, $5) WHERE set_config('synchronous_commit', 'off', true) IS NOT NULL`,
    values: [requestId, accountId, keyId, amount, lifeMs],
  });
}

/** Writes rows that are not there yet. Raw: a batch of any size is one text with one value, once a second in each process. */
export async function insertChatUsage(database: Queryable, rows: readonly object[]): Promise<void> {
  await database.query({
    name: 'chat_usage',
    text: `INSERT INTO chat_usage
      SELECT request_id, account_id, api_key_id, model, provider, provider_key, provider_model, streamed, status, outcome,
        input_tokens, output_tokens, cached_tokens, first_byte_ms, duration_ms, created_at, cost_micros
      FROM json_populate_recordset(NULL::chat_usage, $1) ON CONFLICT DO NOTHING`,
    values: [JSON.stringify(rows)],
  });
}
