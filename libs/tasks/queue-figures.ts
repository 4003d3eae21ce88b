import type { Queryable } from '#database/queryable.js';

/** What the rows of all accounts tell of the queue. */
export interface QueueFigures {
  readonly oldestWaitingSeconds: number;
  readonly completedLastMinute: number;
  readonly failedLastHour: number;
}

const OLDEST = {
  name: 'oldest_waiting',
  text: `SELECT EXTRACT(EPOCH FROM now() - created_at)::float8 AS seconds FROM tasks
    WHERE finished_at IS NULL AND phase = 'queued' ORDER BY id LIMIT 1`,
};

/** Age of the oldest task that waits to be started, in seconds; 0 when none does. */
export async function oldestWaitingSeconds(database: Queryable): Promise<number> {
  return (await database.query<{ seconds: number }>(OLDEST)).rows[0]?.seconds ?? 0;
}

export async function queueFigures(database: Queryable): Promise<QueueFigures> {
  const { rows } = await database.query<Omit<QueueFigures, 'oldestWaitingSeconds'>>(
    `SELECT (count(*) FILTER (WHERE status = 'completed' AND finished_at > now() - interval '1 minute'))::int
         AS "completedLastMinute",
       (count(*) FILTER (WHERE status = 'failed'))::int AS "failedLastHour"
     FROM tasks WHERE finished_at > now() - interval '1 hour'`,
  );
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
