import type { Queryable } from '#database/queryable.js';

/** A request that may get an equal request's task, and the process at which its caller waits. */
export interface AttachingRequest {
  readonly fingerprint: Buffer;
  readonly apiKeyId: string;
  readonly requestId: string;
  readonly waiter: string | undefined;
  /** How long ago the request arrived, in ms. */
  readonly ageMs: number;
}

/**
 * How long an approved task waits for the equal request that gets its image, from its end: its first one was refused, so
 * whoever sent it has to come back.
 */
export const WAITS_FOR_EQUAL_MS = 86_400_000;

/**
 * Whether a row needed an approval and no answer has told its outcome yet, whether it was approved meanwhile or not: somebody
 * who was told of the wait comes back for it, perhaps after hours.
 */
export const AWAITS_REPETITION = `approval IS NOT NULL AND NOT cost_told AND delivered_at IS NULL
  AND (status = 'pending' OR status = 'completed' AND finished_at > now() - ${WAITS_FOR_EQUAL_MS} * interval '1 millisecond')`;

const EQUAL_LOCK = `pg_advisory_xact_lock(hashtextextended($2 || ' ' || encode($1::bytea, 'hex'), 0))`;

const UNDELIVERED = {
  name: 'task_undelivered',
  text: `WITH found AS MATERIALIZED (
      SELECT ${EQUAL_LOCK},
        (SELECT id FROM tasks WHERE fingerprint = $1 AND api_key_id = $2
            AND (delivered_at IS NULL OR finished_at > now() - $5 * interval '1 millisecond')
            AND (created_at > now() - interval '15 minutes' OR (${AWAITS_REPETITION}))
          ORDER BY abandoned_at IS NULL, created_at DESC, id DESC LIMIT 1) AS id),
    taken AS (UPDATE tasks SET abandoned_at = NULL, attached_by = $3, waiter = $4 WHERE id = (SELECT id FROM found))
    SELECT id FROM found`,
};

/** Waits for equal requests that are being accepted. Holds the lock that first tries do not wait for. */
export async function lockEqualRequests(
  transaction: Queryable,
  { fingerprint, apiKeyId }: Pick<AttachingRequest, 'fingerprint' | 'apiKeyId'>,
): Promise<void> {
  await transaction.query({ name: 'task_lock_equal', text: `SELECT ${EQUAL_LOCK}`, values: [fingerprint, apiKeyId] });
}

/**
 * Gives `requestId` an equal request's task of the last 15 minutes, or one that needed an approval, whose outcome was not
 * delivered before it arrived: an abandoned one first, then the newest. Retries wait for each other; before a new task is made, call it twice, as the
 * first answer may predate the wait.
 */
export async function takeUndelivered(
  database: Queryable,
  { fingerprint, apiKeyId, requestId, waiter, ageMs }: AttachingRequest,
): Promise<string | undefined> {
  const values = [fingerprint, apiKeyId, requestId, waiter ?? null, ageMs];
  const { rows } = await database.query<{ id: string | null }>({ ...UNDELIVERED, values });
  return rows[0]?.id ?? undefined;
}
