import type { Transaction } from '#database/queryable.js';
import type { TaskScope } from '#tasks/row/task.js';

/** What a view shows of a row. */
export interface ErasureRow {
  readonly id: string;
  readonly deleted: number;
  readonly createdAt: Date;
  readonly selectedAt: Date | null;
}

/**
 * The newest deletions of an account of which a reader sees all tasks. Raw: what a deletion covers is JSON, and filtered
 * afterwards, those of others would leave no room for the reader's own.
 */
export async function latestErasures(
  database: Transaction,
  { accountId, own }: TaskScope,
  limit: number,
): Promise<(ErasureRow & { readonly filter: unknown })[]> {
  return await database.$queryRaw`
    SELECT id, deleted, created_at AS "createdAt", selected_at AS "selectedAt", filter FROM erasures
    WHERE account_id = ${accountId} AND (${own === undefined} OR (jsonb_typeof(scope -> 'own') = 'object'
      AND COALESCE(scope #>> '{own,personId}' = ${own?.personId ?? null}, scope #>> '{own,personId}' IS NULL)
      AND scope #> '{own,keyIds}' <@ to_jsonb(${[...(own?.keyIds ?? [])]}::text[])))
    ORDER BY created_at DESC, id DESC LIMIT ${limit}`;
}
