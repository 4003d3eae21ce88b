import type { Queryable } from '#database/queryable.js';

export const USAGE_GROUPS = ['model', 'key', 'provider'] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];

/** An account's tasks of some time; `spend` in millionths of the currency. */
export interface UsageRow {
  /** First moment of the day or hour, in UTC. */
  readonly time: Date;
  /** Null: tasks that no provider was called for. */
  readonly group: string | null;
  readonly pictures: number;
  readonly failed: number;
  /** Settled, and reserved for tasks that have not ended. */
  readonly spend: number;
  /** Milliseconds from acceptance to the end, of completed tasks. */
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
}

interface UsageQuery {
  readonly from: Date;
  /** The first moment that is no longer meant. */
  readonly to: Date;
  readonly by: 'day' | 'hour';
  readonly group: UsageGroup;
  readonly currency: string;
}

/** What was drawn, from the tasks that are still kept, by time and group. */
export async function usageOf(
  database: Queryable,
  accountId: string,
  { from, to, by, group, currency }: UsageQuery,
): Promise<UsageRow[]> {
  const { rows } = await database.query<UsageRow>(
    `WITH counted AS (
       SELECT tasks.status, tasks.cost, tasks.created_at,
         EXTRACT(EPOCH FROM finished_at - tasks.created_at) * 1000 AS ms,
         CASE $5 WHEN 'model' THEN tasks.model WHEN 'provider' THEN tasks.provider ELSE COALESCE(keys.name, api_key_id) END AS name
       FROM tasks LEFT JOIN api_keys AS keys ON $5 = 'key' AND keys.id = api_key_id
       WHERE tasks.account_id = $1 AND tasks.created_at >= $2 AND tasks.created_at < $3)
     SELECT date_trunc($4, created_at AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' AS time, name AS "group",
       (count(*) FILTER (WHERE status = 'completed'))::int AS pictures,
       (count(*) FILTER (WHERE status = 'failed'))::int AS failed,
       COALESCE(sum(CASE WHEN cost ->> 'currency' <> $6 THEN 0
         WHEN status IN ('completed', 'cancelled') THEN COALESCE(cost ->> 'settled', cost ->> 'reserved')::bigint
         WHEN status = 'pending' THEN (cost ->> 'reserved')::bigint END), 0)::float8 AS spend,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FILTER (WHERE status = 'completed') AS "p50Ms",
       percentile_cont(0.95) WITHIN GROUP (ORDER BY ms) FILTER (WHERE status = 'completed') AS "p95Ms"
     FROM counted GROUP BY 1, 2 ORDER BY 1, 2`,
    [accountId, from, to, by, group, currency],
  );
  return rows;
}
