import type { Queryable } from '#database/queryable.js';
import { NO_CODE } from './failed-with.js';
import type { OwnTasks } from './task.js';

/** Most tasks to examine, because each costs a read of its row. */
const MAX_EXAMINED = 5_000;
/** The same of one person's tasks, which are scattered: each costs a page. */
const MAX_OWN_EXAMINED = 1_000;
/** Fewest to examine of each key. */
const MIN_OF_KEY = 100;

/** What the counted tasks match besides their provider and error; null means anything. */
export interface FacetFilter {
  readonly accountId: string;
  readonly status: string | null;
  readonly model: string | null;
  readonly apiKeyId: string | null;
  readonly since: Date | null;
  readonly until: Date | null;
  readonly endUser: string | null;
  readonly tag: string | null;
}

/** Number of tasks with the same provider and error. */
export interface FacetCount {
  /** The last provider called; null: none was. */
  readonly provider: string | null;
  /** Error code; null: they have not failed. */
  readonly error: string | null;
  readonly count: number;
}

/** Counts among the newest tasks; `hasMore`: there may be older ones, which are not counted. */
export interface FacetCounts {
  readonly counts: FacetCount[];
  readonly hasMore: boolean;
}

interface FacetRow extends FacetCount {
  /** Number of tasks that were examined in the largest part. */
  readonly examined: number;
}

const COLUMNS = 'id, status, model, api_key_id, provider, error, created_at';
/** Further columns that tasks with a label are examined by. */
const LABELED_COLUMNS = 'ordered_by, end_user, tags';
const WITHIN = `account_id = $1 AND created_at >= $5 AND created_at < $6`;
const NEWEST = 'ORDER BY created_at DESC, id DESC LIMIT $7';

/** Counts what was examined, in parts that have an index each. */
const countsOf = (examined: string, condition = ''): string => `WITH examined AS (${examined})
  SELECT provider, CASE WHEN status = 'failed' THEN COALESCE(error ->> 'code', '${NO_CODE}') END AS error,
    count(*)::int AS count, (SELECT max(size) FROM (SELECT count(*)::int AS size FROM examined GROUP BY part) AS sizes) AS examined
  FROM examined
  WHERE ($2::text IS NULL OR status = $2) AND ($3::text IS NULL OR model = $3) AND ($4::text IS NULL OR api_key_id = $4)
    ${condition}
  GROUP BY 1, 2`;

const partOf = (condition: string): string =>
  countsOf(`SELECT ${COLUMNS}, '' AS part FROM tasks WHERE ${WITHIN} ${condition} ${NEWEST}`);
const OF_ALL = partOf('');
/** Failures are rare in a long history, and have an index. */
const OF_FAILED = partOf(`AND status = 'failed'`);
/** Ended tasks of a person and of their keys. */
const OF_OWN = countsOf(`(SELECT ${COLUMNS}, '' AS part FROM tasks
    WHERE ${WITHIN} AND phase = 'done' AND ordered_by = $8 AND NOT api_key_id = ANY($9) ${NEWEST})
  UNION ALL SELECT own.* FROM unnest($9::text[]) AS key, LATERAL (
    SELECT ${COLUMNS}, key AS part FROM tasks WHERE ${WITHIN} AND phase = 'done' AND api_key_id = key ${NEWEST}) AS own`);
/** Tasks of an end user or with a tag. The row comparison of `labeledTasks` isn't needed, because nothing is paged. */
const OF_LABEL = countsOf(
  `SELECT tasks.*, '' AS part FROM (SELECT task_id FROM task_labels
      WHERE account_id = $1 AND created_at >= $5 AND created_at < $6
        AND kind = CASE WHEN $10::text IS NULL THEN 'tag' ELSE 'end_user' END AND name = COALESCE($10, $11)
      ORDER BY created_at DESC, task_id DESC LIMIT $7) AS labeled,
    LATERAL (SELECT ${COLUMNS}, ${LABELED_COLUMNS} FROM tasks WHERE id = task_id OFFSET 0) AS tasks`,
  `AND ($9::text[] IS NULL OR ordered_by = $8 OR api_key_id = ANY($9)) AND ($11::text IS NULL OR tags @> ARRAY[$11])`,
);

/**
 * Counts the newest 5,000 matching tasks by provider and error; with `own`, the newest 1,000, of the person and of each
 * of their keys; with an end user or tag, the newest 1,000 of that. Raw, because Prisma can't group by a field of a JSON column.
 */
export async function facetCounts(
  database: Queryable,
  filter: FacetFilter,
  own: OwnTasks | undefined,
): Promise<FacetCounts> {
  const { accountId, status, model, apiKeyId, since, until, endUser, tag } = filter;
  const isLabeled = endUser !== null || tag !== null;
  const share = own === undefined ? MAX_EXAMINED : shareOf(own.keyIds.length + 1);
  const most = isLabeled ? MAX_OWN_EXAMINED : share;
  const values = [accountId, status, model, apiKeyId, since ?? '-infinity', until ?? 'infinity', most];
  const ofOwn = [own?.personId ?? null, own?.keyIds ?? null];
  const { rows } = isLabeled
    ? await database.query<FacetRow>(OF_LABEL, [...values, ...ofOwn, endUser, tag])
    : own === undefined
      ? await database.query<FacetRow>(status === 'failed' ? OF_FAILED : OF_ALL, values)
      : await database.query<FacetRow>(OF_OWN, [...values, ...ofOwn]);
  return {
    counts: rows.map(({ examined: _, ...count }) => count),
    hasMore: rows.some(({ examined }) => examined >= most),
  };
}

function shareOf(parts: number): number {
  return Math.max(MIN_OF_KEY, Math.floor(MAX_OWN_EXAMINED / parts));
}
