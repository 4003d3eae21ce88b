import { Prisma } from '#database/generated/client.js';
import type { Queryable, Transaction } from '#database/queryable.js';
import type { UsageStep } from './usage-rows.js';
import { MAX_FIGURES, UNPRICED, type UsageQuery } from './usage.js';

// Billing statements outside ledger.sql: locking budgets, reading what was spent, recording chats, rolling up usage.

/** Locks the budgets until the transaction ends, so nothing is counted into them. Raw: Prisma can't lock tables. */
export async function lockBudgets(transaction: Transaction): Promise<void> {
  await transaction.$executeRaw`LOCK TABLE budgets IN EXCLUSIVE MODE`;
}

/** Accounts, keys, or both, whose spend is read. */
interface Spenders {
  readonly accountIds: readonly string[];
  readonly keyIds: readonly string[];
  /** Absent: all currencies. */
  readonly currency?: string;
  /** Only since the start of the calendar month, in UTC. */
  readonly thisMonth: boolean;
}

interface Spent {
  /** Null in the single row of an empty result. */
  readonly accountId: string | null;
  readonly keyId: string | null;
  /** Millionths: settled, reserved for tasks that have not ended, and recorded chats. */
  readonly amount: bigint;
  /** Start of the calendar month, by the database's clock. */
  readonly month: Date;
}

/** Spend by key. Raw: a database function includes changes that are not rolled up yet. */
export async function ledgerSpent(database: Transaction, spenders: Spenders): Promise<Spent[]> {
  const { accountIds, keyIds, currency = null, thisMonth } = spenders;
  return await database.$queryRaw<Spent[]>`
    SELECT account_id AS "accountId", api_key_id AS "keyId", COALESCE(sum(amount), 0)::bigint AS amount, this.month
    FROM (SELECT month_of(statement_timestamp()) AS month) AS this
    LEFT JOIN spend_of(${[...accountIds]}::text[], ${[...keyIds]}::text[]) AS spent
      ON (${currency}::text IS NULL OR currency IN ('', ${currency})) AND (NOT ${thisMonth} OR spent.month >= this.month)
    GROUP BY 1, 2, 4`;
}

/** A chat that is about to start. */
export interface BeginningChat {
  readonly requestId: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly endUser?: string | undefined;
  readonly tags?: readonly string[];
}

/**
 * Reserves an amount, or raises an error for `refusalOf`. Raw: the function locks budgets and uses the database's
 * clock.
 */
export async function reserveChat(
  database: Queryable,
  { requestId, accountId, keyId, endUser, tags }: BeginningChat,
  amount: number | null,
  lifeMs: number,
): Promise<void> {
  await database.query({
    name: 'chat_reserve',
    // A lost reserve does no harm, so this does not wait for the disk.
    text: `SELECT chat_reserve($1, $2, $3, $4, $5, $6, $7) WHERE set_config('synchronous_commit', 'off', true) IS NOT NULL`,
    values: [requestId, accountId, keyId, amount, lifeMs, endUser, tags],
  });
}

/**
 * Inserts usage of chats that isn't there yet; all rows have the same columns. Raw: a batch of any size is one statement
 * with one parameter. Prisma's takes fifty times the CPU, and a separate statement for each size. In the order of end
 * users, whom a trigger may pause: two processes don't wait for each other.
 */
export async function insertChats(database: Transaction, rows: readonly object[]): Promise<void> {
  if (rows[0] === undefined) return;
  const columns = Prisma.raw(Object.keys(rows[0]).join());
  await database.$executeRaw`
    INSERT INTO chat_usage (${columns})
    SELECT ${columns} FROM json_populate_recordset(NULL::chat_usage, ${JSON.stringify(rows)}::json)
    ORDER BY account_id, end_user
    ON CONFLICT DO NOTHING`;
}

/** Only one process rolls up at a time: a second one would just wait for the same rows. */
const ROLLUP_LOCK = `(SELECT pg_try_advisory_xact_lock(hashtext('usage rollups')))`;

/** Rows per transaction. */
export const ROLL_UP_BATCH = 5_000;

const SUMS = ['count', 'images', 'spend_micros', 'input_tokens', 'output_tokens', 'latency_ms'] as const;

const ROLL_UP = {
  name: 'usage_roll_up',
  text: `WITH taken AS (
      DELETE FROM usage_changes WHERE id IN (SELECT id FROM usage_changes WHERE ${ROLLUP_LOCK} ORDER BY id LIMIT ${ROLL_UP_BATCH})
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

/**
 * Rolls up a batch of usage changes and returns its size. Raw: deletes and adds up in one statement, so nothing counts
 * twice.
 */
export async function rollUp(database: Queryable): Promise<number> {
  return (await database.query<{ count: number }>(ROLL_UP)).rows[0]?.count ?? 0;
}

/** The columns to group and filter by. */
interface Columns {
  readonly model?: string;
  readonly key?: string;
  readonly provider?: string;
}
const GROUPED: Columns = { model: 'of_model', key: 'name', provider: 'of_provider' };
/** Another provider may generate the image in the end, so a reserve belongs to none. */
const RESERVED: Columns = { provider: "''" };

/** Filters; null means all. A key and its replacements share one name. */
const asked = ({ model = 'model', key = 'api_key_id', provider = 'provider' }: Columns): string =>
  `($7::text IS NULL OR ${model} = $7) AND ($9::text IS NULL OR ${provider} = $9)
        AND ($8::text IS NULL OR ${key} IN (SELECT id FROM api_keys WHERE account_id = $1 AND name = $8))
        AND ($10::text[] IS NULL OR ${key} = ANY ($10))`;

/** The column to group by. */
const groupOf = ({ model = 'model', key = 'api_key_id', provider = 'provider' }: Columns): string =>
  `CASE $5 WHEN 'model' THEN ${model} WHEN 'provider' THEN ${provider} ELSE ${key} END`;

/** Whole days or hours, whether rolled up or not. */
const during = (time: string, step = time): string =>
  `account_id = $1 AND ${time} >= date_trunc($4, $2::timestamptz, 'UTC') AND ${step} < $3`;
const DURING_CREATED = during('created_at', "date_trunc($4, created_at, 'UTC')");

/** Grouped and ordered by the same collation, so one sort does both. */
const NAME = 'COALESCE(keys.name, id) COLLATE "C"';

const usage = (isNarrowed: boolean) => ({
  name: isNarrowed ? 'usage_narrowed' : 'usage',
  // Sums of float8 are exact to 2^53; sums of bigint are numeric and take twice as long. OFFSET keeps the planner from applying
  // the last conditions to each of the many reserves instead of their few sums.
  text: `WITH counted (time, id, currency, images, failed, chats, unpriced_images, spend, input_tokens, output_tokens, durations) AS (
      SELECT time, ${isNarrowed ? groupOf(GROUPED) : 'name'}, currency, images::float8, failed::float8, chats::float8, unpriced_images::float8,
        spend_micros::float8, input_tokens::float8, output_tokens::float8, NULLIF(durations, '')
      FROM grouped_usage WHERE ${during('time')} AND step = $4 AND ${isNarrowed ? `dimension = 'each' AND ${asked(GROUPED)}` : 'dimension = $5'}
      UNION ALL
      SELECT time, group_id, currency, sum(images), count(*) FILTER (WHERE kind = 'image' AND outcome = 'failed'),
        count(*) FILTER (WHERE kind = 'chat'), sum(GREATEST(images, 1)) FILTER (WHERE kind = 'image' AND currency = '${UNPRICED}'),
        sum(spend_micros), sum(input_tokens), sum(output_tokens),
        CASE WHEN bucket >= 0 THEN concat_ws(':', bucket, count(*), sum(latency_ms)) END
      FROM (SELECT *, date_trunc($4, created_at, 'UTC') AS time, ${groupOf({})} AS group_id,
          usage_bucket(kind, outcome, latency_bucket(latency_ms)) AS bucket
        FROM usage_changes WHERE ${DURING_CREATED} AND ${asked({})}) AS changes
      GROUP BY time, group_id, currency, bucket
      UNION ALL
      SELECT date_trunc($4, hour, 'UTC'), ${groupOf(RESERVED)}, currency, 0, 0, 0, 0, reserved::float8, 0, 0, NULL
      FROM (SELECT hour, api_key_id, model, currency, sum(amount_micros) AS reserved FROM task_reserves
        WHERE account_id = $1 AND hour >= date_trunc($4, $2::timestamptz, 'UTC') GROUP BY 1, 2, 3, 4 OFFSET 0) AS open
      WHERE date_trunc($4, hour, 'UTC') < $3 AND ${asked(RESERVED)})
    SELECT time, NULLIF(${NAME}, '') AS "group", sum(images) AS images, COALESCE(sum(failed), 0) AS failed,
      COALESCE(sum(chats), 0) AS chats, COALESCE(sum(spend) FILTER (WHERE currency IN ('', $6)), 0) AS spend,
      COALESCE(sum(unpriced_images), 0) AS "unpricedImages", COALESCE(sum(chats) FILTER (WHERE currency = '${UNPRICED}'), 0) AS "unpricedChats",
      sum(input_tokens) AS "inputTokens", sum(output_tokens) AS "outputTokens", string_agg(durations, ' ') AS durations
    FROM counted LEFT JOIN (SELECT id AS key, name FROM api_keys) AS keys ON $5 = 'key' AND key = id
    GROUP BY time, ${NAME} ORDER BY time, ${NAME} LIMIT ${MAX_FIGURES + 1}`,
});
const USAGE = usage(false);
const NARROWED_USAGE = usage(true);

/** Usage of an account by time and group, in this order; at most one row more than an answer may have. Raw for its days and histograms. */
export async function usageOf(database: Queryable, accountId: string, query: UsageQuery): Promise<UsageStep[]> {
  const { from, to, by, group, currency, model = null, key = null, provider = null, keyIds = null } = query;
  const values = [accountId, from, to, by, group, currency, model, key, provider, keyIds];
  const isNarrowed = model !== null || key !== null || provider !== null || keyIds !== null;
  return (await database.query<UsageStep>({ ...(isNarrowed ? NARROWED_USAGE : USAGE), values })).rows;
}

/** Removes up to `limit` rows from before a time; returns their number. Raw: Prisma finds each row again by its whole key, or scans the table. */
export async function removeUsage(
  database: Queryable,
  table: 'usage_rollups' | 'grouped_usage',
  { step, time, limit }: { readonly step: 'hour' | 'day'; readonly time: Date; readonly limit: number },
): Promise<number> {
  const { rowCount } = await database.query({
    name: `remove_${table}`,
    text: `DELETE FROM ${table}
      WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${table} WHERE step = $1 AND time < $2 ORDER BY time LIMIT $3))`,
    values: [step, time, limit],
  });
  return rowCount ?? 0;
}

/** The same of usage by end user and tag. */
export async function removeLabeledUsage(
  database: Queryable,
  { time, limit }: { readonly time: Date; readonly limit: number },
): Promise<number> {
  const { rowCount } = await database.query({
    name: 'remove_labeled_usage',
    text: `DELETE FROM labeled_usage
      WHERE ctid = ANY (ARRAY(SELECT ctid FROM labeled_usage WHERE time < $1 ORDER BY time LIMIT $2))`,
    values: [time, limit],
  });
  return rowCount ?? 0;
}
