import type { Queryable } from '#database/queryable.js';

/** How the calls of a provider went of late. */
export interface ProviderFigures {
  readonly provider: string;
  readonly calls: number;
  readonly failed: number;
  /** Of calls that succeeded; null without one. */
  readonly medianMs: number | null;
}

/** More tasks would make the figures no truer, and the query dearer than it is worth. */
const MOST_TASKS = 5_000;

const FIGURES = {
  name: 'provider_figures',
  text: `SELECT call ->> 'provider' AS provider, count(*)::int AS calls,
      (count(*) FILTER (WHERE call ->> 'outcome' = 'failed'))::int AS failed,
      percentile_cont(0.5) WITHIN GROUP (ORDER BY
        EXTRACT(EPOCH FROM (call ->> 'endedAt')::timestamptz - (call ->> 'startedAt')::timestamptz) * 1000)
        FILTER (WHERE call ->> 'outcome' = 'succeeded') AS "medianMs"
    FROM (SELECT calls FROM tasks WHERE status <> 'pending' AND finished_at > now() - interval '1 hour'
      ORDER BY finished_at DESC LIMIT ${MOST_TASKS}) AS recent, jsonb_array_elements(calls) AS call
    WHERE call ->> 'outcome' <> 'not_called'
    GROUP BY 1`,
};

/** Calls for pictures that ended in the last hour; of a busy hour, those of its newest tasks. */
export async function providerFigures(database: Queryable): Promise<ProviderFigures[]> {
  return (await database.query<ProviderFigures>(FIGURES)).rows;
}
