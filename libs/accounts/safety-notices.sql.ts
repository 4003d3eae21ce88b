import type { Queryable } from '#database/queryable.js';
import type { DueNotice } from './safety-notice.js';

/** Takes notices that are due, oldest first, and puts their next try off. Raw: SKIP LOCKED, so that one process takes each. */
export async function takeDueNotices(database: Queryable, limit: number, leaseMs: number): Promise<DueNotice[]> {
  const { rows } = await database.query<DueNotice>(
    `UPDATE safety_notices SET tries = tries + 1, next_try_at = now() + $2 * interval '1 millisecond'
     WHERE (provider, id) IN (SELECT provider, id FROM safety_notices WHERE ended_at IS NULL AND next_try_at <= now()
       ORDER BY next_try_at LIMIT $1 FOR UPDATE SKIP LOCKED)
     RETURNING provider, id, type, case_id AS "caseId", tries, received_at AS "receivedAt"`,
    [limit, leaseMs],
  );
  return rows;
}
