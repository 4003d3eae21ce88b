import type { Queryable } from '#database/queryable.js';

/** Whose completed tasks to measure; `installation`: those of all accounts that ended in the last hour. */
export type Measured =
  | 'installation'
  | {
      readonly accountId: string;
      /** Accepted from then on, and before `to`. */
      readonly from: Date;
      readonly to: Date;
      readonly model?: string | undefined;
      /** Name of a key. */
      readonly key?: string | undefined;
      readonly provider?: string | undefined;
    };

/** The median and the 95th percentile, in ms; null without tasks. */
export interface Percentiles {
  readonly p50: number | null;
  readonly p95: number | null;
}

/** Where the time of completed tasks went, from acceptance, or approval, to completion; without lines of batches. */
export interface LatencySplit {
  /** How many tasks were measured. */
  readonly tasks: number;
  readonly total: Percentiles;
  /** Before the first call to a provider, and between calls. */
  readonly waiting: Percentiles;
  /** In calls to providers, until the provider had answered. */
  readonly provider: Percentiles;
  /** From the provider's answer until the images were stored. */
  readonly saving: Percentiles;
}

/** Tasks to read: more would make the query slower, but the figures no more accurate. */
export const MAX_MEASURED = 2_000;

const PARTS = ['total', 'waiting', 'provider', 'saving'] as const;

const ms = (from: string, to: string): string => `EXTRACT(EPOCH FROM ${to} - ${from})::float8 * 1000`;

/** Called providers only: what was completed without a recorded call tells nothing of its parts. */
const split = (name: string, chosen: string) => ({
  name,
  text: `SELECT count(*)::int AS tasks, ${PARTS.map(
    (part) => `percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY ${part}) AS ${part}`,
  ).join(', ')}
    FROM (SELECT total, GREATEST(0, total - called) AS waiting, GREATEST(0, called - saving) AS provider, saving
      FROM (SELECT ${ms(`COALESCE((approval ->> 'decidedAt')::timestamptz, created_at)`, 'finished_at')} AS total, calls FROM tasks
        WHERE status = 'completed' AND batch_id IS NULL AND ${chosen} LIMIT ${MAX_MEASURED}) AS newest,
      LATERAL (SELECT sum(${ms(`(call ->> 'startedAt')::timestamptz`, `(call ->> 'endedAt')::timestamptz`)}) AS called,
          COALESCE(sum((call ->> 'storingMs')::float8), 0) AS saving
        FROM jsonb_array_elements(calls) AS call WHERE call ->> 'outcome' <> 'not_called') AS parts
      WHERE called IS NOT NULL) AS measured`,
});

const OF_ALL = split(
  'latency_of_all',
  `status <> 'pending' AND finished_at > now() - interval '1 hour' ORDER BY finished_at DESC`,
);
const OF_ACCOUNT = split(
  'latency_of_account',
  `account_id = $1 AND created_at >= $2 AND created_at < $3 AND ($4::text IS NULL OR model = $4)
        AND ($5::text IS NULL OR provider = $5)
        AND ($6::text IS NULL OR api_key_id IN (SELECT id FROM api_keys WHERE account_id = $1 AND name = $6))
        ORDER BY created_at DESC`,
);

type Row = { readonly tasks: number } & Readonly<Record<(typeof PARTS)[number], readonly number[] | null>>;

/** Of the newest MAX_MEASURED tasks. Raw for the percentiles, and because calls are a JSON column. */
export async function latencySplit(database: Queryable, of: Measured): Promise<LatencySplit> {
  const query =
    of === 'installation'
      ? OF_ALL
      : {
          ...OF_ACCOUNT,
          values: [of.accountId, of.from, of.to, of.model ?? null, of.provider ?? null, of.key ?? null],
        };
  const { tasks, total, waiting, provider, saving } = (await database.query<Row>(query)).rows[0] as Row;
  const percentiles = (pair: readonly number[] | null) => ({ p50: pair?.[0] ?? null, p95: pair?.[1] ?? null });
  return {
    tasks,
    total: percentiles(total),
    waiting: percentiles(waiting),
    provider: percentiles(provider),
    saving: percentiles(saving),
  };
}
