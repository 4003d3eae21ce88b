import type { Queryable } from '#database/queryable.js';

/** Adds up in one process at a time: another one would only wait for the same rows. */
const ALONE = `(SELECT pg_try_advisory_xact_lock(hashtext('usage rollups')))`;

/** Rows that are added up in one transaction. */
export const ROLL_UP_BATCH = 5_000;

const SUMS = ['count', 'images', 'spend_micros', 'input_tokens', 'output_tokens', 'latency_ms'] as const;

const ROLL_UP = {
  name: 'usage_roll_up',
  text: `WITH taken AS (
      DELETE FROM usage_changes WHERE id IN (SELECT id FROM usage_changes WHERE ${ALONE} ORDER BY id LIMIT ${ROLL_UP_BATCH})
      RETURNING *),
    rolled AS (
      INSERT INTO usage_rollups AS rollup (account_id, step, time, kind, api_key_id, model, provider, outcome, currency, bucket,
        count, images, spend_micros, input_tokens, output_tokens, latency_ms)
      SELECT account_id, step, date_trunc(step, created_at, 'UTC'), kind, api_key_id, model, provider, outcome, currency,
        latency_bucket(latency_ms), count(*), sum(images), sum(spend_micros), sum(input_tokens), sum(output_tokens),
        COALESCE(sum(latency_ms), 0)
      FROM taken, (VALUES ('hour'), ('day')) AS steps (step) GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
      ON CONFLICT (account_id, step, time, kind, api_key_id, model, provider, outcome, currency, bucket)
      DO UPDATE SET ${SUMS.map((sum) => `${sum} = rollup.${sum} + EXCLUDED.${sum}`).join()}),
    spent AS (
      INSERT INTO spend_totals AS total (account_id, api_key_id, month, currency, amount_micros)
      SELECT account_id, api_key_id, month_of(COALESCE((SELECT reserve.created_at FROM charges AS reserve
          WHERE reserve.task_id = taken.reference AND reserve.kind = 'reserve'), taken.created_at)), currency, sum(spend_micros)
      FROM taken WHERE spend_micros <> 0 GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
      ON CONFLICT (account_id, api_key_id, month, currency)
      DO UPDATE SET amount_micros = total.amount_micros + EXCLUDED.amount_micros)
    SELECT count(*)::int AS count FROM taken`,
};

/** Adds up some of what has ended; answers with how much. Raw: taken and added in one statement, so nothing is counted twice. */
export async function rollUp(database: Queryable): Promise<number> {
  return (await database.query<{ count: number }>(ROLL_UP)).rows[0]?.count ?? 0;
}

const CHANGE = `INSERT INTO usage_changes (reference, kind, account_id, api_key_id, model, provider, outcome, currency, created_at,
  images, spend_micros, input_tokens, output_tokens, latency_ms)`;
const IMAGES = `CASE WHEN tasks.id IS NULL THEN 1 WHEN tasks.status = 'completed' THEN GREATEST(jsonb_array_length(tasks.images), 1) ELSE 0 END`;
const MEASURED = `COALESCE((tasks.usage ->> 'input_tokens')::bigint, 0), COALESCE((tasks.usage ->> 'output_tokens')::bigint, 0),
  CASE WHEN tasks.status = 'completed' THEN round(EXTRACT(EPOCH FROM tasks.finished_at - tasks.created_at) * 1000)::bigint END`;

/** Takes a page of old rows behind the cursor, and moves it in the same statement; the last page removes it. */
const step = (source: string, page: string, change: string): { name: string; text: string } => ({
  name: `usage_backfill_${source}`,
  text: `WITH state AS (SELECT cursor, before FROM usage_backfill WHERE source = '${source}' FOR UPDATE SKIP LOCKED),
    page AS MATERIALIZED (${page} LIMIT ${ROLL_UP_BATCH}),
    changes AS (${CHANGE} ${change}),
    moved AS (UPDATE usage_backfill SET cursor = last.id FROM (SELECT max(id) AS id FROM page) AS last
      WHERE source = '${source}' AND last.id IS NOT NULL),
    over AS (DELETE FROM usage_backfill WHERE source = '${source}' AND EXISTS (SELECT 1 FROM state)
      AND NOT EXISTS (SELECT 1 FROM page))
    SELECT count(*)::int AS count FROM page`,
});

/** Sources in the order in which retention removes them last. A task that is gone made one image, which its settlement paid. */
const BACKFILL = [
  step(
    'charges',
    `SELECT task_id AS id, created_at FROM charges, state WHERE kind = 'reserve' AND task_id > cursor ORDER BY task_id`,
    `SELECT page.id, 'image', charge.account_id, charge.api_key_id, charge.model, COALESCE(tasks.provider, ''),
        COALESCE(tasks.status, 'completed'), charge.currency, COALESCE(tasks.created_at, page.created_at), ${IMAGES},
        CASE charge.kind WHEN 'settle' THEN COALESCE(charge.amount_micros, 0) ELSE 0 END, ${MEASURED}
      FROM page JOIN LATERAL (SELECT * FROM charges WHERE task_id = page.id AND kind <> 'reserve' AND added_up IS NULL
        ORDER BY kind DESC LIMIT 1) AS charge ON true
      LEFT JOIN tasks ON tasks.id = page.id WHERE charge.kind = 'settle' OR tasks.id IS NOT NULL`,
  ),
  step(
    'tasks',
    `SELECT tasks.* FROM tasks, state WHERE id > cursor ORDER BY id`,
    `SELECT id, 'image', account_id, api_key_id, model, COALESCE(provider, ''), status, '', created_at, ${IMAGES}, 0, ${MEASURED}
      FROM page AS tasks WHERE cost IS NULL AND status <> 'pending' AND finished_at < (SELECT before FROM state)`,
  ),
  step(
    'chats',
    `SELECT request_id AS id, chat_usage.* FROM chat_usage, state WHERE request_id > cursor ORDER BY request_id`,
    `SELECT id, 'chat', account_id, api_key_id, model, provider, outcome, '', created_at, 0, COALESCE(cost_micros, 0),
        COALESCE(input_tokens, 0), COALESCE(output_tokens, 0), CASE WHEN outcome = 'completed' THEN duration_ms END
      FROM page WHERE added_up IS NULL`,
  ),
];

/**
 * Puts some of what ended before there were rollups where `rollUp` finds it; answers with how many rows it looked at.
 * Raw: cursor and rows move in one statement, so a process that dies in between has counted nothing twice.
 */
export async function backfillUsage(database: Queryable): Promise<number> {
  for (const statement of BACKFILL) {
    const { rows } = await database.query<{ count: number }>(statement);
    if ((rows[0]?.count ?? 0) > 0) return rows[0]?.count ?? 0;
  }
  return 0;
}

export const USAGE_GROUPS = ['model', 'key', 'provider'] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];

/** What an account used in some time; `spend` in millionths of the currency. */
export interface UsageFigures {
  readonly images: number;
  /** Tasks that failed. */
  readonly failed: number;
  readonly chats: number;
  /** Settled, and reserved for tasks that have not ended. */
  readonly spend: number;
  /** Tokens that providers counted. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Milliseconds from acceptance to the end, of completed tasks. */
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
}

/** The figures of a day or hour, or of all the time that was asked for. */
export interface UsageRow extends UsageFigures {
  /** First moment of the day or hour, in UTC; null: all of it. */
  readonly time: Date | null;
  /** Null: tasks that no provider was called for. */
  readonly group: string | null;
}

/** Which days or hours are summed up, and by what they are told apart. */
export interface UsageQuery {
  /** Of its day or hour, the whole counts, as of the one that `to` is in. */
  readonly from: Date;
  /** The first moment that is no longer meant. */
  readonly to: Date;
  readonly by: 'day' | 'hour';
  readonly group: UsageGroup;
  readonly currency: string;
}

/** A place among so many sorted durations; those of a bucket count as their mean. */
const percentile = (share: number): string => {
  const [low, high] = ['floor', 'ceil'].map(
    (side) => `min(mean) FILTER (WHERE bucket >= 0 AND upto > ${side}(${share} * (total - 1)))`,
  );
  return `${low} + (${high} - ${low}) * (${share} * (min(total) - 1) - floor(${share} * (min(total) - 1)))`;
};

const USAGE = {
  name: 'usage',
  text: `WITH counted AS (
      SELECT time, kind, api_key_id, model, provider, outcome, currency, bucket, count, images, spend_micros, input_tokens,
        output_tokens, latency_ms
      FROM usage_rollups WHERE account_id = $1 AND step = $4 AND time >= date_trunc($4, $2::timestamptz, 'UTC') AND time < $3
      UNION ALL
      SELECT date_trunc($4, created_at, 'UTC'), kind, api_key_id, model, provider, outcome, currency, latency_bucket(latency_ms),
        1, images, spend_micros, input_tokens, output_tokens, latency_ms
      FROM usage_changes WHERE account_id = $1 AND created_at >= date_trunc($4, $2::timestamptz, 'UTC') AND created_at < $3
      UNION ALL
      SELECT date_trunc($4, created_at, 'UTC'), 'image', api_key_id, model, COALESCE(provider, ''), 'pending', cost ->> 'currency', -1,
        0, 0, COALESCE((cost ->> 'reserved')::bigint, 0), 0, 0, 0
      FROM (SELECT * FROM tasks WHERE finished_at IS NULL OFFSET 0) AS open WHERE account_id = $1
        AND created_at >= date_trunc($4, $2::timestamptz, 'UTC') AND created_at < $3),
    named AS (
      SELECT counted.*, CASE $5 WHEN 'model' THEN model WHEN 'provider' THEN provider ELSE COALESCE(keys.name, api_key_id) END AS name,
        CASE WHEN kind = 'image' AND outcome = 'completed' THEN bucket ELSE -1 END AS part
      FROM counted LEFT JOIN api_keys AS keys ON $5 = 'key' AND keys.id = api_key_id),
    parts AS (
      SELECT time, name, part AS bucket, sum(images) AS images, sum(count) FILTER (WHERE kind = 'image' AND outcome = 'failed') AS failed,
        sum(count) FILTER (WHERE kind = 'chat') AS chats,
        sum(spend_micros) FILTER (WHERE kind = 'chat' OR currency = $6) AS spend,
        sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens, sum(latency_ms) / NULLIF(sum(count), 0) AS mean, sum(count) AS count,
        GROUPING(time) AS whole
      FROM named GROUP BY GROUPING SETS ((time, name, part), (part)) HAVING sum(count) + sum(spend_micros) > 0),
    placed AS (
      SELECT *, sum(count) FILTER (WHERE bucket >= 0) OVER (PARTITION BY whole, time, name ORDER BY bucket) AS upto,
        sum(count) FILTER (WHERE bucket >= 0) OVER (PARTITION BY whole, time, name) AS total
      FROM parts)
    SELECT time, NULLIF(name, '') AS "group", sum(images)::float8 AS images, COALESCE(sum(failed), 0)::float8 AS failed,
      COALESCE(sum(chats), 0)::float8 AS chats, COALESCE(sum(spend), 0)::float8 AS spend,
      sum(input_tokens)::float8 AS "inputTokens", sum(output_tokens)::float8 AS "outputTokens",
      (${percentile(0.5)})::float8 AS "p50Ms", (${percentile(0.95)})::float8 AS "p95Ms"
    FROM placed GROUP BY whole, time, name ORDER BY whole, time, name`,
};

/**
 * What an account used, by time and group, and last all of it together. Raw for its days and its percentiles, which are
 * made of merged histograms.
 */
export async function usageOf(database: Queryable, accountId: string, query: UsageQuery): Promise<UsageRow[]> {
  const values = [accountId, query.from, query.to, query.by, query.group, query.currency];
  return (await database.query<UsageRow>({ ...USAGE, values })).rows;
}
