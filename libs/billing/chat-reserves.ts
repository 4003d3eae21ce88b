import type { Queryable } from '#database/queryable.js';

/** A chat that is about to begin. */
interface BeginningChat {
  readonly requestId: string;
  readonly accountId: string;
  readonly keyId: string;
}

/** Nothing is lost with a reserve, so the disk is not waited for. */
const RESERVE = {
  name: 'chat_reserve',
  text: `SELECT chat_reserve($1, $2, $3, $4, $5) WHERE set_config('synchronous_commit', 'off', true) IS NOT NULL`,
};

/**
 * Sets aside what a chat may cost, in millionths, until it is written down or `lifeMs` are over; null when that is not
 * known. Who has no budget is let pass. Throws what `refusalOf` (budget-refusal.ts) reads when a budget is used up.
 */
export async function reserveChat(
  database: Queryable,
  { requestId, accountId, keyId }: BeginningChat,
  amount: number | null,
  lifeMs: number,
): Promise<void> {
  await database.query({ ...RESERVE, values: [requestId, accountId, keyId, amount, lifeMs] });
}

/** Gives back what was set aside for a chat that was never sent. */
export async function releaseChat(database: Queryable, requestId: string): Promise<void> {
  await database.query('DELETE FROM chat_reserves WHERE request_id = $1', [requestId]);
}

/** Gives back what was set aside for chats whose process was lost before it wrote them down; answers with their number. */
export async function releaseLostChats(database: Queryable): Promise<number> {
  // Whoever locks the budgets of many does so alone.
  const { rowCount } = await database.query(
    `DELETE FROM chat_reserves WHERE (SELECT true FROM pg_advisory_xact_lock(hashtext('budgets of many'))) AND expires_at < now()`,
  );
  return rowCount ?? 0;
}
