import type { PrismaService } from '#database/prisma.service.js';
import type { Queryable, Transaction } from '#database/queryable.js';
import type { EndUserState } from './end-user-state.js';

/** The new state of an end user. `announced`: it is in the audit log already, and needs no alert. */
export interface EndUserChange extends Omit<EndUserState, 'until' | 'changedAt'> {
  readonly state: 'none' | 'flagged' | 'blocked';
  readonly announced: boolean;
}

/** Most states that are announced in one transaction. */
const MOST_ANNOUNCED = 50;

/** SQL for whether a pause has put a flag of the notice's case aside. */
const IS_ASIDE = `(known.state = 'paused' AND known.flag ->> 'caseId' IS NOT DISTINCT FROM excluded.case_id)`;

/** SQL for whether a provider's notice is of a case that has had its effect. A deactivation may follow a warning in the same one. */
const IS_KNOWN = `((known.case_id IS NOT DISTINCT FROM excluded.case_id OR ${IS_ASIDE})
  AND (excluded.state = 'flagged' OR known.state = 'blocked'))`;

/** SQL for whether a provider's warning meets a stronger state, which then stays. */
const STAYS = `(excluded.cause = 'provider' AND excluded.state = 'flagged' AND (known.state = 'blocked' OR known.until > now()))`;

/** SQL for the flag of a warning that meets a pause, which returns after it. */
const ASIDE = `CASE WHEN ${STAYS} AND known.state = 'paused' THEN jsonb_build_object('cause', excluded.cause, 'reason', excluded.reason,
  'provider', excluded.provider, 'caseId', excluded.case_id, 'changedBy', excluded.changed_by, 'changedAt', now()) END`;

/** SQL for since when refusals count: also after a state that has followed a pause or a clearing. */
const REFUSALS_SINCE = `CASE WHEN excluded.state = 'none' THEN now()
  ELSE GREATEST(known.refusals_since, CASE WHEN known.state IN ('none', 'paused') THEN known.changed_at END) END`;

/**
 * Sets the state of an end user; false when it is so already, by the same case if it is a provider's. A warning never makes
 * it weaker. Raw: of two changes at once, the weaker one must not win.
 */
export async function changeEndUser(database: Queryable, change: EndUserChange): Promise<boolean> {
  const { accountId, endUser, state, cause, reason, provider, caseId, changedBy, announced } = change;
  const { rowCount } = await database.query(
    `INSERT INTO end_user_states AS known (account_id, end_user, state, cause, reason, provider, case_id, changed_by, announced_at)
     SELECT $1, $2, $3, $4, $5, $6, $7, $8, CASE WHEN $9 THEN now() END
     WHERE $3 <> 'none' OR EXISTS (SELECT 1 FROM end_user_states WHERE account_id = $1 AND end_user = $2)
     ON CONFLICT (account_id, end_user) DO UPDATE SET
       state = CASE WHEN ${STAYS} THEN known.state ELSE excluded.state END,
       until = CASE WHEN ${STAYS} THEN known.until END, cause = excluded.cause,
       reason = excluded.reason, provider = excluded.provider, case_id = excluded.case_id, changed_by = excluded.changed_by,
       changed_at = now(), announced_at = excluded.announced_at, flag = ${ASIDE}, refusals_since = ${REFUSALS_SINCE}
     WHERE CASE WHEN excluded.cause = 'provider' THEN NOT ${IS_KNOWN} ELSE known.state <> excluded.state END`,
    [accountId, endUser, state, cause, reason, provider, caseId, changedBy, announced],
  );
  return rowCount === 1;
}

/** Marks states that nobody was told of, and calls `announce` with each before that is committed. Raw: SKIP LOCKED. */
export async function takeUnannounced(
  prisma: PrismaService,
  announce: (transaction: Transaction, state: EndUserState) => Promise<void>,
): Promise<EndUserState[]> {
  return await prisma.$transaction(async (transaction) => {
    const states = await transaction.$queryRaw<EndUserState[]>`
      UPDATE end_user_states SET announced_at = now()
      WHERE (account_id, end_user) IN (SELECT account_id, end_user FROM end_user_states WHERE announced_at IS NULL
        ORDER BY changed_at LIMIT ${MOST_ANNOUNCED} FOR UPDATE SKIP LOCKED)
      RETURNING account_id AS "accountId", end_user AS "endUser", state, until, cause, reason, provider, case_id AS "caseId",
        changed_by AS "changedBy", changed_at AS "changedAt"`;
    for (const state of states) await announce(transaction, state);
    return states;
  });
}
