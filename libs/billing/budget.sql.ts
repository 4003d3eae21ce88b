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

/** What each of them has spent. Raw: the ledger joined with itself, because what ends later belongs to the month it began in. */
export async function ledgerSpent(database: Transaction, { owner, ids, period, currency }: Spenders): Promise<Spent[]> {
  const payer = owner === 'account' ? Prisma.sql`account_id = spender` : Prisma.sql`api_key_id = spender`;
  const since = period === 'total' ? Prisma.sql`true` : Prisma.sql`created_at >= month_of(statement_timestamp())`;
  const paidIn = currency === null ? Prisma.sql`true` : Prisma.sql`reserve.currency = ${currency}`;
  return await database.$queryRaw<Spent[]>`
    SELECT spender AS id, month_of(statement_timestamp()) AS month, (
      (SELECT COALESCE(sum(reserve.amount_micros - COALESCE(refund.amount_micros, 0)), 0) FROM charges AS reserve
        LEFT JOIN charges AS refund ON refund.task_id = reserve.task_id AND refund.kind = 'refund'
        WHERE reserve.kind = 'reserve' AND reserve.${payer} AND ${paidIn}
          AND ${period === 'total' ? since : Prisma.sql`reserve.${since}`})
      + (SELECT COALESCE(sum(cost_micros), 0) FROM chat_usage WHERE ${payer} AND ${since}))::bigint AS charged,
      (SELECT COALESCE(sum(amount_micros), 0) FROM chat_reserves WHERE ${payer} AND ${since})::bigint AS reserved
    FROM unnest(${[...ids]}::text[]) AS spender`;
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
