import type { Queryable } from '#database/queryable.js';

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

const PUT = {
  name: 'stored_responses_put',
  text: `INSERT INTO stored_responses
      (account_id, id, api_key_id, model, provider, provider_key, provider_server, tokens, expires_at)
    SELECT account_id, id, api_key_id, model, provider, provider_key, provider_server, tokens, expires_at
    FROM json_populate_recordset(NULL::stored_responses, $1::json)
    ON CONFLICT (account_id, id) DO UPDATE SET api_key_id = EXCLUDED.api_key_id, model = EXCLUDED.model,
      provider = EXCLUDED.provider, provider_key = EXCLUDED.provider_key,
      provider_server = EXCLUDED.provider_server, tokens = EXCLUDED.tokens, expires_at = EXCLUDED.expires_at`,
};

/**
 * Inserts rows, or replaces those of the same responses; no two may be of the same one. Raw: Prisma has no upsert
 * of many rows, and the end of each response waits for this one, so that it is prepared.
 */
export async function upsertResponses(database: Queryable, rows: readonly StoredResponseRow[]): Promise<void> {
  if (rows.length > 0) await database.query({ ...PUT, values: [JSON.stringify(rows)] });
}
