import type { Queryable } from '#database/queryable.js';
import type { EndedLine, LineEnd, LineOutcome } from './batch.js';

const TAKE_STEP = {
  name: 'batch_take_step',
  text: `UPDATE batches SET next_step_at = now() + $1 * interval '1 millisecond'
    WHERE id = (SELECT id FROM batches WHERE ended_at IS NULL AND next_step_at <= now()
      ORDER BY next_step_at LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING id, expires_at <= now() AS "isOver"`,
};

/** A batch to take the next step of, and whether its time is over. */
export interface DueBatch {
  readonly id: string;
  readonly isOver: boolean;
}

/** Takes the batch that has been due for longest, for so many ms. Raw for SKIP LOCKED and the database's clock. */
export async function takeStep(database: Queryable, forMs: number): Promise<DueBatch | undefined> {
  return (await database.query<DueBatch>({ ...TAKE_STEP, values: [forMs] })).rows[0];
}

const NEXT_STEP = {
  name: 'batch_next_step',
  text: `UPDATE batches SET next_step_at = now() + $2 * interval '1 millisecond' WHERE id = $1 AND ended_at IS NULL`,
};

/** Lets a batch wait for its next step; false if it has ended. Raw for the database's clock. */
export async function waitForStep(database: Queryable, id: string, ms: number): Promise<boolean> {
  return (await database.query({ ...NEXT_STEP, values: [id, ms] })).rowCount === 1;
}

const CLAIM_LINES = {
  name: 'batch_claim_lines',
  text: `UPDATE batch_lines SET state = 'claimed'
    WHERE batch_id = $1 AND line IN (SELECT line FROM batch_lines
      WHERE batch_id = $1 AND state IN ('claimed', 'waiting') AND state <> 'ended' ORDER BY state, put_off, line LIMIT $2)
    RETURNING line, custom_id AS "customId", position, bytes, late`,
};

interface ClaimedRow {
  readonly line: number;
  readonly customId: string;
  readonly position: number;
  readonly bytes: number;
  readonly late: number;
}

/**
 * The next lines to become tasks: first those that a process had claimed before it died, last those that were put off
 * most often. Raw for LIMIT.
 */
export async function claimLines(database: Queryable, batchId: string, limit: number): Promise<ClaimedRow[]> {
  return (await database.query<ClaimedRow>({ ...CLAIM_LINES, values: [batchId, limit] })).rows;
}

const CALL_LINES = {
  name: 'batch_call_lines',
  text: `UPDATE batch_lines SET state = 'called', leased_until = now() + $3 * interval '1 millisecond'
    WHERE batch_id = $1 AND state = 'waiting' AND line IN (SELECT line FROM batch_lines
      WHERE batch_id = $1 AND state = 'waiting' AND state <> 'ended' ORDER BY put_off, line LIMIT $2)
    RETURNING line, custom_id AS "customId", position, bytes, late`,
};

/** The next chats to pass on, for `leaseMs`: whoever gets a line here may call a provider, and nobody else. Raw for LIMIT. */
export async function callLines(
  database: Queryable,
  batchId: string,
  limit: number,
  leaseMs: number,
): Promise<ClaimedRow[]> {
  return (await database.query<ClaimedRow>({ ...CALL_LINES, values: [batchId, limit, leaseMs] })).rows;
}

const RENEW_LINES = {
  name: 'batch_renew_lines',
  text: `UPDATE batch_lines SET leased_until = now() + $3 * interval '1 millisecond'
    WHERE batch_id = $1 AND line = ANY($2) AND state = 'called'`,
};

/** Renews the leases of chats that were passed on. Raw for the database's clock. */
export async function renewLines(
  database: Queryable,
  batchId: string,
  lines: readonly number[],
  leaseMs: number,
): Promise<void> {
  await database.query({ ...RENEW_LINES, values: [batchId, lines, leaseMs] });
}

const COUNTED = `UPDATE batches SET completed = completed + (SELECT count(*) FROM ended WHERE is_success)::int,
    failed = failed + (SELECT count(*) FROM ended WHERE NOT is_success)::int,
    spent_micros = spent_micros + (SELECT COALESCE(sum(micros), 0) FROM ended)::bigint
  WHERE id = $1`;

const END_LINES = {
  name: 'batch_end_lines',
  text: `WITH ended AS (
      UPDATE batch_lines SET state = 'ended', outcome = new.outcome
      FROM json_to_recordset($2::json) AS new (ended_line int, ended_task text, outcome jsonb, is_success boolean, micros bigint)
      WHERE batch_id = $1 AND line = ended_line AND task_id IS NOT DISTINCT FROM ended_task AND state <> 'ended'
      RETURNING is_success, micros)
    ${COUNTED}`,
};

/** Ends lines, and counts each of them once. Raw, because both are one statement. */
export async function endLines(
  database: Queryable,
  batchId: string,
  lines: readonly (LineEnd & { readonly isSuccess: boolean })[],
): Promise<void> {
  if (lines.length === 0) return;
  const rows = lines.map(({ line, taskId, outcome, isSuccess, micros = 0 }) => {
    return { ended_line: line, ended_task: taskId, outcome, is_success: isSuccess, micros };
  });
  await database.query({ ...END_LINES, values: [batchId, JSON.stringify(rows)] });
}

const END_WAITING = {
  name: 'batch_end_waiting',
  text: `WITH ended AS (
      UPDATE batch_lines SET state = 'ended', outcome = $2 WHERE batch_id = $1 AND state = 'waiting' AND state <> 'ended'
      RETURNING false AS is_success, 0 AS micros)
    ${COUNTED}`,
};

const END_IN_DOUBT = {
  name: 'batch_end_in_doubt',
  text: `WITH ended AS (
      UPDATE batch_lines SET state = 'ended', outcome = $2
      WHERE batch_id = $1 AND state = 'called' AND state <> 'ended' AND leased_until < now()
      RETURNING false AS is_success, 0 AS micros)
    ${COUNTED}`,
};

/** Ends the chats whose process has not renewed its lease. Raw for the same reason. */
export async function endInDoubt(database: Queryable, batchId: string, outcome: LineOutcome): Promise<void> {
  await database.query({ ...END_IN_DOUBT, values: [batchId, JSON.stringify(outcome)] });
}

/** Ends all lines that no process has begun to submit. Raw for the same reason. */
export async function endWaiting(database: Queryable, batchId: string, outcome: LineOutcome): Promise<void> {
  await database.query({ ...END_WAITING, values: [batchId, JSON.stringify(outcome)] });
}

const FAILED_LINES = {
  name: 'batch_failed_lines',
  text: `SELECT line, custom_id AS "customId", outcome FROM batch_lines
    WHERE batch_id = $1 AND state = 'ended' AND (outcome #>> '{response,status_code}') IS DISTINCT FROM '200'
    ORDER BY line LIMIT $2`,
};

/** The first failed lines, in order. Raw, in the words of the index `batch_lines_failed`: others are not read. */
export async function failedLines(database: Queryable, batchId: string, limit: number): Promise<EndedLine[]> {
  return (await database.query<EndedLine>({ ...FAILED_LINES, values: [batchId, limit] })).rows;
}
