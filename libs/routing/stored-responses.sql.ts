import { Prisma } from '#database/generated/client.js';
import type { Transaction } from '#database/queryable.js';

/** A row of a response that its provider stores. */
export interface StoredResponseRow {
  readonly account_id: string;
  readonly id: string;
  readonly api_key_id: string;
  readonly model: string;
  readonly provider: string;
  readonly provider_key: string | null;
  readonly provider_server: string | null;
  readonly tokens: number;
  /** ISO 8601. */
  readonly expires_at: string;
}

/**
 * Inserts rows, or replaces those of the same responses; no two may be of the same one. Raw: Prisma has no upsert
 * of many rows.
 */
export async function upsertResponses(database: Transaction, rows: readonly StoredResponseRow[]): Promise<void> {
  if (rows[0] === undefined) return;
  const columns = Prisma.raw(Object.keys(rows[0]).join());
  await database.$executeRaw`
    INSERT INTO stored_responses (${columns})
    SELECT ${columns} FROM json_populate_recordset(NULL::stored_responses, ${JSON.stringify(rows)}::json)
    ON CONFLICT (account_id, id) DO UPDATE SET api_key_id = EXCLUDED.api_key_id, model = EXCLUDED.model,
      provider = EXCLUDED.provider, provider_key = EXCLUDED.provider_key,
      provider_server = EXCLUDED.provider_server, tokens = EXCLUDED.tokens,
      expires_at = EXCLUDED.expires_at`;
}
