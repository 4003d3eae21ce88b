import type { Queryable } from '#database/queryable.js';
import type { UsageStep } from './usage-rows.js';
import { UNPRICED, type LabelGroup } from './usage.js';

/** Most end users or tags that one answer lists. */
const MAX_LABELS = 100;

/** Whole days of an account, in UTC. */
interface LabeledDays {
  readonly accountId: string;
  readonly kind: LabelGroup;
  readonly from: Date;
  /** Exclusive; its whole day counts. */
  readonly to: Date;
}

const FIRST = `date_trunc('day', $3::timestamptz, 'UTC')`;

const TOP = {
  name: 'labels_top',
  // A day's largest are the first of an index, however many there are.
  text: `SELECT name FROM (
      SELECT top.* FROM generate_series(${FIRST}, $4::timestamptz - interval '1 millisecond', interval '24 hours') AS day,
        LATERAL (SELECT name, spend_micros, images + chats AS uses FROM labeled_usage
          WHERE account_id = $1 AND kind = $2 AND time = day ORDER BY spend_micros DESC, images DESC LIMIT ${MAX_LABELS}) AS top
      UNION ALL (SELECT label.name, sum(spend_micros), count(*) FROM usage_changes, LATERAL labels_of(end_user, tags) AS label
        WHERE account_id = $1 AND created_at >= ${FIRST} AND created_at < $4 AND (end_user IS NOT NULL OR tags IS NOT NULL)
          AND label.kind = $2 GROUP BY 1 ORDER BY 2 DESC LIMIT ${MAX_LABELS})) AS found
    GROUP BY name ORDER BY sum(spend_micros) DESC, sum(uses) DESC, name LIMIT ${MAX_LABELS}`,
};

/**
 * The end users or tags of an account that spent most on some of the days, at most 100. Raw for the first rows of each
 * day, which Prisma can't express.
 */
export async function topLabels(
  database: Queryable,
  { accountId, kind, from, to }: LabeledDays,
): Promise<readonly string[]> {
  const { rows } = await database.query<{ name: string }>({ ...TOP, values: [accountId, kind, from, to] });
  return rows.map(({ name }) => name);
}

const OF_LABELS = {
  name: 'labels_usage',
  text: `WITH counted (time, name, currency, images, failed, chats, unpriced_images, spend, input_tokens, output_tokens) AS (
      SELECT time, name, currency, images, failed, chats, unpriced_images, spend_micros, input_tokens, output_tokens
      FROM labeled_usage WHERE account_id = $1 AND kind = $2 AND name = ANY($5) AND time >= ${FIRST} AND time < $4
      UNION ALL
      SELECT date_trunc('day', created_at, 'UTC'), label.name, currency, images, (taken.kind = 'image' AND outcome = 'failed')::int,
        (taken.kind = 'chat')::int, CASE WHEN taken.kind = 'image' AND currency = '${UNPRICED}' THEN GREATEST(images, 1) ELSE 0 END,
        spend_micros, input_tokens, output_tokens
      FROM usage_changes AS taken, LATERAL labels_of(end_user, tags) AS label
      WHERE account_id = $1 AND created_at >= ${FIRST} AND date_trunc('day', created_at, 'UTC') < $4
        AND (end_user IS NOT NULL OR tags IS NOT NULL) AND label.kind = $2 AND label.name = ANY($5)
      UNION ALL
      SELECT date_trunc('day', hour, 'UTC'), label.name, currency, 0, 0, 0, 0, amount_micros, 0, 0
      FROM task_reserves, LATERAL labels_of(end_user, tags) AS label
      WHERE account_id = $1 AND hour >= ${FIRST} AND date_trunc('day', hour, 'UTC') < $4
        AND (end_user IS NOT NULL OR tags IS NOT NULL) AND label.kind = $2 AND label.name = ANY($5))
    SELECT time, name AS "group", sum(images)::float8 AS images, sum(failed)::float8 AS failed, sum(chats)::float8 AS chats,
      COALESCE(sum(spend) FILTER (WHERE currency IN ('', $6)), 0)::float8 AS spend, sum(unpriced_images)::float8 AS "unpricedImages",
      COALESCE(sum(chats) FILTER (WHERE currency = '${UNPRICED}'), 0)::float8 AS "unpricedChats",
      sum(input_tokens)::float8 AS "inputTokens", sum(output_tokens)::float8 AS "outputTokens", NULL AS durations
    FROM counted GROUP BY time, name ORDER BY time, name COLLATE "C"`,
};

/** Usage of these end users or tags by day, in this order. Raw for its days. */
export async function usageOfLabels(
  database: Queryable,
  {
    accountId,
    kind,
    from,
    to,
    names,
    currency,
  }: LabeledDays & { readonly names: readonly string[]; readonly currency: string },
): Promise<UsageStep[]> {
  const values = [accountId, kind, from, to, names, currency];
  return (await database.query<UsageStep>({ ...OF_LABELS, values })).rows;
}
