// What the statements of requests and workers share. They are raw and named, because each runs at least once per task and
// Prisma reaches only 60 % of their rate. Most take a batch of tasks. All times are the database's, so that leases and
// deadlines share one clock.

/**
 * The rows of a batch, sent as one JSON text and sorted by id, so that two statements never deadlock on each other's
 * rows. Postgres assumes that a JSON text has 100 rows and would scan a small table as a whole; with the always-true
 * condition it assumes one row, and looks each task up by its key.
 */
export const ofBatch = (columns: string): string =>
  `(SELECT * FROM jsonb_to_recordset($1::jsonb) AS item (task text, ${columns}) WHERE task = task || '') AS batch`;
/** The condition that a task of the batch still belongs to its attempt. */
export const HELD_IN_BATCH = `id = task AND attempt = fence AND status = 'pending'`;

/** The JSON parameter of a batch statement, sorted by id. */
export function batch(items: readonly { readonly task: string }[]): string {
  return JSON.stringify([...items].sort((a, b) => (a.task < b.task ? -1 : 1)));
}

/** SQL for `calls` with the last one ended by the CallEnd `end`; unchanged if it has ended already or `end` is null. */
export const callsEnded = (end: string): string =>
  `(CASE WHEN ${end}::jsonb IS NULL OR calls = '[]' OR calls->-1 ? 'endedAt' THEN calls
    ELSE jsonb_set(calls, '{-1}', calls->-1 || ${end}::jsonb || jsonb_build_object('endedAt', now())) END)`;

/**
 * Commits without waiting for the disk. For transitions that only have to be repeated if a server crash loses them; a
 * later durable commit of the same worker makes them durable too.
 */
export const NOT_DURABLE = `set_config('synchronous_commit', 'off', true) IS NOT NULL`;

/** Progress of a task whose provider has been called: the start writes it, so that no other write has to. */
export const STARTED_PERCENT = 5;
