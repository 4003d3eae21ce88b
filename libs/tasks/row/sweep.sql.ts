import type { Queryable } from '#database/queryable.js';
import type { QueueEntry } from '#queue/image-queue.js';
import { NO_CODE } from './failed-with.js';
import { ACCOUNT_WEIGHT, ORIGINAL_KEY, TURN_KEY, TURN_WEIGHT } from './task-columns.js';
import type { OwnTasks, TaskError } from './task.js';

/** A task that the sweep has ended, and the owners of its slots. */
export interface OverdueRow {
  readonly id: string;
  readonly accountId: string;
  readonly originalKeyId: string;
  readonly traceParent: string | null;
  /** Of the error that it has ended with. */
  readonly code: string;
}

/** Ending tasks of many owners locks their budgets, so only one sweep does it at a time; the others skip it. */
const BUDGETS_LOCK = `(SELECT pg_try_advisory_xact_lock(hashtext('budgets of many')))`;

/** Rows that a statement of a sweep writes: each is written to several indexes, and ending one moves budgets. */
export const SWEEP_BATCH = 100;

/** Tasks of disabled accounts that no provider works on; a claim passes them over (MAY_BUY). */
const UNWANTED = `account_id IN (SELECT accounts.id FROM accounts WHERE disabled_at IS NOT NULL)
        AND NOT provider_call_open AND (lease_until IS NULL OR lease_until < now())`;

const OVERDUE = {
  name: 'sweep_overdue',
  text: `UPDATE tasks SET status = 'failed', phase = 'done',
      error = CASE WHEN deadline_at >= now() THEN $2::jsonb WHEN phase = 'held' THEN $3::jsonb ELSE $1::jsonb END, finished_at = now(), lease_until = NULL,
      lease_owner = NULL, provider_call_open = false
    WHERE id IN (SELECT id FROM tasks WHERE ${BUDGETS_LOCK} AND finished_at IS NULL AND (deadline_at < now() OR ${UNWANTED})
      ORDER BY id LIMIT ${SWEEP_BATCH} FOR UPDATE SKIP LOCKED)
    RETURNING id, account_id AS "accountId", ${ORIGINAL_KEY} AS "originalKeyId", trace_parent AS "traceParent",
      error ->> 'code' AS code`,
};

/** The errors of tasks that a sweep fails: past their deadline, of a disabled account, or never approved. */
export type SweptErrors = Readonly<Record<'overdue' | 'disabled' | 'unapproved', TaskError>>;

/**
 * Fails a batch of overdue tasks, and of those of disabled accounts. Raw for SKIP LOCKED, and because deadlines are by
 * the database's clock.
 */
export async function failOverdue(database: Queryable, errors: SweptErrors): Promise<OverdueRow[]> {
  const values = [errors.overdue, errors.disabled, errors.unapproved].map((error) => JSON.stringify(error));
  return (await database.query<OverdueRow>({ ...OVERDUE, values })).rows;
}

const REQUEUE = {
  name: 'sweep_requeue',
  text: `WITH seen AS (SELECT id AS seen_id FROM tasks JOIN unnest($1::text[], $2::int[]) AS entry (entry_id, entry_epoch)
        ON id = entry_id AND epoch = entry_epoch
      WHERE status = 'pending' AND phase <> 'held' AND CASE WHEN $3::boolean THEN lease_until < now() ELSE lease_until IS NULL END
      FOR UPDATE OF tasks SKIP LOCKED)
    UPDATE tasks SET epoch = epoch + 1, next_try_at = now(), lease_until = NULL, lease_owner = NULL,
      losses = losses + $3::int, phase = CASE WHEN $3 THEN 'queued' ELSE phase END
    FROM seen WHERE id = seen_id
    RETURNING id AS "taskId", epoch, CASE WHEN phase = 'queued' AND NOT $3 THEN json_build_object(
      'accountId', account_id, 'accountWeight', ${ACCOUNT_WEIGHT},
      'originalKeyId', ${TURN_KEY}, 'weight', ${TURN_WEIGHT}) END AS caller`,
};

/**
 * Moves the entries that have not changed since they were read (waiting, or `lost` by their worker) to their next
 * epoch, and returns them. Of two sweepers that saw the same row, only one gets it. A task that has had its turn comes
 * back without a caller. Raw for SKIP LOCKED, and because leases are by the database's clock.
 */
export async function requeue(
  database: Queryable,
  entries: readonly QueueEntry[],
  lost: boolean,
): Promise<QueueEntry[]> {
  const values = [entries.map(({ taskId }) => taskId), entries.map(({ epoch }) => epoch), lost];
  const { rows } = await database.query<QueueEntry>({ ...REQUEUE, values });
  return rows.sort((a, b) => (a.taskId < b.taskId ? -1 : 1));
}

/** A task that a search returns: a match, or the last one that it examined. */
export interface ScannedTask {
  readonly id: string;
  readonly createdAt: Date;
  readonly found: boolean;
  /** Its number in the order of examination, from 1. */
  readonly n: number;
}

/** `condition` narrows what is examined, not what matches: only an index may follow it. */
const scanOf = (condition: string): string => `SELECT id, created_at AS "createdAt", found, n FROM (
    SELECT id, created_at, row_number() OVER (ORDER BY created_at DESC, id DESC)::int AS n,
      ($2::text IS NULL OR status = $2) AND ($3::text IS NULL OR model = $3) AND ($4::text IS NULL OR api_key_id = $4)
        AND ($10::text IS NULL OR provider = $10) AND ($11::text IS NULL OR ordered_by = $11 OR api_key_id = ANY($12))
        AND ($13::text IS NULL OR ordered_by = $13)
        AND ($14::timestamptz IS NULL OR status = 'completed' AND objects_deleted_at IS NULL
          AND (created_at >= $14 OR favorited_at IS NOT NULL))
        AND ($15::text IS NULL OR COALESCE(error ->> 'code', '${NO_CODE}') = $15)
        AND ($16::text[] IS NULL OR phase = ANY($16))
        AND ($17::text IS NULL OR end_user = $17) AND ($18::text IS NULL OR tags @> ARRAY[$18])
        AND ($5 = '' OR strpos(lower(prompt), lower($5)) > 0) AS found
    FROM (SELECT id, created_at, status, phase, model, api_key_id, provider, ordered_by, objects_deleted_at, favorited_at, error,
        prompt, end_user, tags
      FROM tasks
      WHERE account_id = $1 AND created_at >= $6 AND (created_at, id) < ($7::timestamptz, $8::text) ${condition}
      ORDER BY created_at DESC, id DESC LIMIT $9) AS looked) AS judged
  WHERE found OR n = $9 ORDER BY n`;
const SCAN_TASKS = scanOf('');
/** Failures are rare in a long history, and have an index. */
const SCAN_FAILED = scanOf(`AND status = 'failed'`);

/** What a search matches, and where it begins; null means anything, or the newest task. */
export interface TaskScan {
  readonly accountId: string;
  readonly status: string | null;
  readonly phases: readonly string[] | null;
  readonly model: string | null;
  readonly apiKeyId: string | null;
  readonly provider: string | null;
  readonly orderedBy: string | null;
  /** Only tasks with stored images: those created since then, and favorites. */
  readonly imagesSince: Date | null;
  /** Error code of failed tasks. */
  readonly error: string | null;
  readonly own: OwnTasks | null;
  readonly endUser: string | null;
  readonly tag: string | null;
  /** Part of the prompt; empty matches every prompt. */
  readonly text: string;
  readonly since: Date | null;
  readonly after: { readonly id: string; readonly createdAt: Date } | null;
}

/** Examines at most `most` tasks. Raw, because Prisma would transfer all their prompts. */
export async function scanTasks(database: Queryable, look: TaskScan, most: number): Promise<ScannedTask[]> {
  const isOfFailed = look.status === 'failed' || (look.status === null && look.error !== null);
  const { rows } = await database.query<ScannedTask>(isOfFailed ? SCAN_FAILED : SCAN_TASKS, [
    ...[look.accountId, look.status, look.model, look.apiKeyId, look.text, look.since ?? '-infinity'],
    ...[look.after?.createdAt ?? 'infinity', look.after?.id ?? '', most, look.provider],
    ...[look.own?.personId ?? null, look.own?.keyIds ?? [], look.orderedBy, look.imagesSince, look.error, look.phases],
    ...[look.endUser, look.tag],
  ]);
  return rows;
}

/** Failures with the same code, provider and model; provider tests are grouped separately. */
export interface FailureGroup {
  readonly code: string;
  /** The provider that was called last; null: none was. */
  readonly provider: string | null;
  readonly model: string;
  readonly providerTest: boolean;
  readonly count: number;
  /** How many of them were retried since. */
  readonly retried: number;
  readonly latestAt: Date;
}

const MAX_GROUPS = 200;
/** Most failures to count, because each costs a read of its row. */
const MAX_FAILURES = 5_000;

/** Failures by kind; `hasMore`: there may be older ones, which are not listed or not counted. */
export interface FailureGroups {
  readonly groups: FailureGroup[];
  readonly hasMore: boolean;
}

/** The newest failures since a time by kind, latest kind first. Raw, because it groups by a field of a JSON column. */
export async function failureGroups(
  database: Queryable,
  since: Date,
  mostFailures = MAX_FAILURES,
): Promise<FailureGroups> {
  const { rows } = await database.query<FailureGroup & { readonly total: number }>(
    `SELECT COALESCE(failed.error ->> 'code', '${NO_CODE}') AS code, failed.provider, failed.model,
       failed.options ? 'onlyProvider' AS "providerTest", count(*)::int AS count, count(again.id)::int AS retried,
       max(failed.finished_at) AS "latestAt", (sum(count(*)) OVER ())::int AS total
     FROM (SELECT id, error, provider, model, options, finished_at FROM tasks
       WHERE status = 'failed' AND finished_at >= $1 AND deleted_at IS NULL ORDER BY finished_at DESC, id DESC LIMIT $2) AS failed
     LEFT JOIN tasks AS again ON again.retry_of = failed.id
     GROUP BY 1, 2, 3, 4 ORDER BY max(failed.finished_at) DESC LIMIT ${MAX_GROUPS + 1}`,
    [since, mostFailures],
  );
  const groups = rows.slice(0, MAX_GROUPS).map(({ total: _, ...group }) => group);
  return { groups, hasMore: rows.length > MAX_GROUPS || (rows[0]?.total ?? 0) >= mostFailures };
}

/** Waiting tasks that need the same of a provider. */
export interface WaitingRows {
  readonly model: string;
  readonly region: string | null;
  readonly onlyProvider: string | null;
  readonly hasImages: boolean;
  readonly hasMask: boolean;
  readonly hasMarkup: boolean;
  /** A call of theirs has failed, and the next one begins at the earliest then, for the first of them. */
  readonly retryAt: Date | null;
  readonly count: number;
  /** Milliseconds since the oldest of them was accepted. */
  readonly oldestMs: number;
}

/** All tasks of all accounts that wait to be started. Raw, because it groups by fields of JSON columns. */
export async function waitingRows(database: Queryable): Promise<WaitingRows[]> {
  const { rows } = await database.query<WaitingRows>({
    name: 'waiting_rows',
    text: `SELECT model, options ->> 'region' AS region, options ->> 'onlyProvider' AS "onlyProvider",
        inputs <> '[]' AS "hasImages", COALESCE(mask ->> 'kind' <> 'markup', false) AS "hasMask",
        COALESCE(mask ->> 'kind' = 'markup', false) AS "hasMarkup", min(retry_at) AS "retryAt", count(*)::int AS count,
        GREATEST(0, EXTRACT(EPOCH FROM now() - min(created_at)) * 1000)::float8 AS "oldestMs"
      FROM (SELECT *, CASE WHEN provider_starts > 0 AND next_try_at > now() THEN next_try_at END AS retry_at
        FROM tasks WHERE finished_at IS NULL AND phase = 'queued') AS waiting
      GROUP BY 1, 2, 3, 4, 5, 6, retry_at IS NULL`,
  });
  return rows;
}

/** Tasks that ended in one minute. */
export interface FinishedMinute {
  /** When the minute begins. */
  readonly time: Date;
  readonly completed: number;
  readonly failed: number;
}

/** The last sixty minutes, including the current one, oldest first. Raw, because Prisma can't group by minute. */
export async function finishedMinutes(database: Queryable): Promise<FinishedMinute[]> {
  const { rows } = await database.query<FinishedMinute>({
    name: 'finished_minutes',
    text: `SELECT minute AS time, COALESCE(completed, 0)::int AS completed, COALESCE(failed, 0)::int AS failed
      FROM generate_series(date_trunc('minute', now()) - interval '59 minutes', now(), interval '1 minute') AS minute
      LEFT JOIN (
        SELECT date_trunc('minute', finished_at) AS minute, count(*) FILTER (WHERE status = 'completed') AS completed,
          count(*) FILTER (WHERE status = 'failed') AS failed
        FROM tasks WHERE status <> 'pending' AND finished_at >= date_trunc('minute', now()) - interval '59 minutes'
        GROUP BY 1) AS counted USING (minute)
      ORDER BY minute`,
  });
  return rows;
}
