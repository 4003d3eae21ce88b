import type { Queryable } from '#database/queryable.js';

/** What the rows of all accounts tell of the queue. */
export interface QueueFigures {
  readonly oldestWaitingSeconds: number;
  readonly completedLastMinute: number;
  readonly failedLastHour: number;
}

/** Tasks that ended in one minute. */
export interface FinishedMinute {
  /** Its first moment. */
  readonly time: Date;
  readonly completed: number;
  readonly failed: number;
}

const OLDEST = {
  name: 'oldest_waiting',
  text: `SELECT EXTRACT(EPOCH FROM now() - created_at)::float8 AS seconds FROM tasks
    WHERE finished_at IS NULL AND phase = 'queued' ORDER BY id LIMIT 1`,
};
// Each part names the condition of the index that it walks.
const FIGURES = {
  name: 'queue_figures',
  text: `SELECT
    (SELECT (count(*) FILTER (WHERE status = 'completed'))::int FROM tasks
      WHERE status <> 'pending' AND finished_at > now() - interval '1 minute') AS "completedLastMinute",
    (SELECT count(*)::int FROM tasks
      WHERE status = 'failed' AND finished_at > now() - interval '1 hour') AS "failedLastHour"`,
};
const MINUTES = {
  name: 'finished_minutes',
  text: `SELECT minute AS time, COALESCE(completed, 0)::int AS completed, COALESCE(failed, 0)::int AS failed
    FROM generate_series(date_trunc('minute', now()) - interval '59 minutes', now(), interval '1 minute') AS minute
    LEFT JOIN (
      SELECT date_trunc('minute', finished_at) AS minute, count(*) FILTER (WHERE status = 'completed') AS completed,
        count(*) FILTER (WHERE status = 'failed') AS failed
      FROM tasks WHERE status <> 'pending' AND finished_at >= date_trunc('minute', now()) - interval '59 minutes'
      GROUP BY 1) AS counted USING (minute)
    ORDER BY minute`,
};

/** Age of the oldest task that waits to be started, in seconds; 0 when none does. */
export async function oldestWaitingSeconds(database: Queryable): Promise<number> {
  return (await database.query<{ seconds: number }>(OLDEST)).rows[0]?.seconds ?? 0;
}

export async function queueFigures(database: Queryable): Promise<QueueFigures> {
  const { rows } = await database.query<Omit<QueueFigures, 'oldestWaitingSeconds'>>(FIGURES);
  const { completedLastMinute = 0, failedLastHour = 0 } = rows[0] ?? {};
  return { oldestWaitingSeconds: await oldestWaitingSeconds(database), completedLastMinute, failedLastHour };
}

/** How many tasks of each account wait or run, by its id; accounts without any are left out. */
export async function tasksInFlightByAccount(database: Queryable): Promise<Map<string, number>> {
  const { rows } = await database.query<{ accountId: string; tasks: number }>(
    `SELECT account_id AS "accountId", count(*)::int AS tasks FROM tasks WHERE finished_at IS NULL GROUP BY account_id`,
  );
  return new Map(rows.map(({ accountId, tasks }) => [accountId, tasks]));
}

/** The last sixty minutes, the one that runs included, oldest first. */
export async function finishedByMinute(database: Queryable): Promise<FinishedMinute[]> {
  return (await database.query<FinishedMinute>(MINUTES)).rows;
}
