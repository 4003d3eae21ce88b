import { Prisma } from '#database/generated/client.js';
import type { AlertMessage } from '#contract/alert-message.js';
import type { Transaction } from '#database/queryable.js';
import type { WebhookEntry } from '#queue/webhook-queue.js';
import type { AttemptError, NextStep } from './next-step.js';

/** Clocks of Redis and the database may differ by this much, in ms. */
const TOLERANCE_MS = 1_000;
/** After this many timeouts in a row, an endpoint gets one delivery at a time, until it answers again. */
const SLOW_AFTER = 3;

/** How an endpoint's deliveries went. */
export interface DeliveryCounts {
  readonly endpointId: string;
  readonly delivered: number;
  /** Given up. */
  readonly failed: number;
  /** Not delivered yet, after at least one failed attempt. */
  readonly retrying: number;
  readonly lastAt: Date;
}

/**
 * Counts the newest deliveries of each endpoint since a time, at most `most` each. Raw, because a delivery's tries and
 * lease say whether an attempt of it has failed, and so that only the counts are read.
 */
export async function countDeliveries(
  database: Transaction,
  accountId: string,
  endpointIds: readonly string[],
  { since, most }: { readonly since: Date; readonly most: number },
): Promise<DeliveryCounts[]> {
  return await database.$queryRaw<DeliveryCounts[]>`
    SELECT endpoint.id AS "endpointId", count(*) FILTER (WHERE state = 'delivered')::int AS delivered,
      count(*) FILTER (WHERE state = 'failed')::int AS failed,
      count(*) FILTER (WHERE state = 'pending' AND (tries > 1 OR (tries = 1 AND lease_until IS NULL)))::int AS retrying,
      max(created_at) AS "lastAt"
    FROM unnest(${[...endpointIds]}::text[]) AS endpoint (id) CROSS JOIN LATERAL (
      SELECT state, tries, lease_until, created_at FROM webhook_deliveries
      WHERE endpoint_id = endpoint.id AND account_id = ${accountId} AND created_at >= ${since}
      ORDER BY created_at DESC, id DESC LIMIT ${most}) AS newest
    GROUP BY endpoint.id`;
}

/** Whose deliveries to read. */
export type LineScope = { readonly accountId: string } | 'all';

function inScope(scope: LineScope): Prisma.Sql {
  return scope === 'all' ? Prisma.sql`true` : Prisma.sql`account_id = ${scope.accountId}`;
}

/**
 * The deliveries that may be attempted now: the heads of each account's line, at most `places` including those being
 * sent, and at most one for a slow endpoint. The receivers of an account (its endpoints, and all of its callback_urls
 * together) take turns, and so do the accounts. Raw, because it steps from receiver to receiver along the index,
 * however many deliveries each has waiting, and leases end by the database's clock.
 */
export async function headsOfLines(database: Transaction, scope: LineScope, places: number): Promise<WebhookEntry[]> {
  const receiver = Prisma.sql`COALESCE(endpoint_id, '')`;
  const waiting = Prisma.sql`FROM webhook_deliveries WHERE state = 'pending' AND ${inScope(scope)}`;
  return await database.$queryRaw<WebhookEntry[]>`
    WITH RECURSIVE receivers AS (
      (SELECT account_id, ${receiver} AS receiver ${waiting} ORDER BY 1, 2 LIMIT 1)
      UNION ALL
      SELECT following.* FROM receivers AS before CROSS JOIN LATERAL (
        SELECT account_id, ${receiver} AS receiver ${waiting}
          AND (account_id, ${receiver}) > (before.account_id, before.receiver) ORDER BY 1, 2 LIMIT 1) AS following),
    sent AS (
      SELECT account_id, ${receiver} AS receiver, count(*) AS count ${waiting} AND lease_until >= now() GROUP BY 1, 2),
    ranked AS (
      SELECT head.*, account_id, receiver, COALESCE(sent.count, 0)
        + row_number() OVER (PARTITION BY account_id, receiver ORDER BY next_try_at, head.id) AS place
      FROM receivers LEFT JOIN sent USING (account_id, receiver) CROSS JOIN LATERAL (
        SELECT id, epoch, next_try_at FROM webhook_deliveries AS due
        WHERE state = 'pending' AND due.account_id = receivers.account_id
          AND COALESCE(due.endpoint_id, '') = receivers.receiver
          AND next_try_at <= now() AND (lease_until IS NULL OR lease_until < now())
        ORDER BY next_try_at LIMIT ${places}) AS head),
    shared AS (
      SELECT ranked.*, row_number() OVER (PARTITION BY account_id ORDER BY place, next_try_at, id)
        + (SELECT COALESCE(sum(count), 0) FROM sent WHERE sent.account_id = ranked.account_id) AS of_account
      FROM ranked
      WHERE place <= 1 OR NOT EXISTS (
        SELECT FROM webhook_endpoints AS slow WHERE slow.id = ranked.receiver AND slow.timeouts >= ${SLOW_AFTER}))
    SELECT id AS "deliveryId", epoch FROM shared WHERE of_account <= ${places} ORDER BY of_account, next_try_at`;
}

/** The columns of a delivery that a worker has claimed. */
export interface ClaimedRow {
  readonly id: string;
  readonly accountId: string;
  readonly taskId: string | null;
  readonly endpointId: string | null;
  readonly event: string;
  readonly createdAt: Date;
  readonly attempt: number;
  readonly tries: number;
  readonly url: string | null;
  readonly disabled: boolean;
  readonly traceParent: string | null;
  readonly channel: string | null;
  readonly message: AlertMessage | null;
}

/** Begins and records an attempt if a slot is free. Raw: lease and fence, by the database's clock. */
export async function claimDelivery(
  transaction: Transaction,
  id: string,
  leaseMs: number,
  places: number,
): Promise<ClaimedRow | undefined> {
  const rows = await transaction.$queryRaw<ClaimedRow[]>`
    WITH claimed AS (
      UPDATE webhook_deliveries AS delivery SET attempts = attempts + 1, tries = tries + 1,
        lease_until = now() + ${leaseMs} * interval '1 millisecond'
      WHERE id = ${id} AND state = 'pending' AND next_try_at <= now() + ${TOLERANCE_MS} * interval '1 millisecond'
        AND (lease_until IS NULL OR lease_until < now())
        AND (SELECT count(*) FROM webhook_deliveries AS sent WHERE sent.account_id = delivery.account_id
          AND sent.state = 'pending' AND sent.lease_until >= now()) < ${places}
        AND NOT EXISTS (SELECT FROM webhook_endpoints AS slow JOIN webhook_deliveries AS sent
          ON sent.account_id = delivery.account_id AND sent.endpoint_id = slow.id
            AND sent.state = 'pending' AND sent.lease_until >= now()
          WHERE slow.id = delivery.endpoint_id AND slow.timeouts >= ${SLOW_AFTER})
      RETURNING id, account_id, task_id, endpoint_id, event, message, created_at, attempts, tries),
    noted AS (INSERT INTO webhook_attempts (delivery_id, number) SELECT id, attempts FROM claimed)
    SELECT claimed.id, claimed.account_id AS "accountId", claimed.task_id AS "taskId",
      claimed.endpoint_id AS "endpointId", claimed.event, claimed.created_at AS "createdAt",
      claimed.attempts AS attempt, claimed.tries, endpoint.disabled_at IS NOT NULL AS disabled, endpoint.channel, claimed.message,
      CASE WHEN account.deleted_at IS NOT NULL THEN NULL
        WHEN claimed.endpoint_id IS NULL THEN task.callback_url ELSE endpoint.url END AS url,
      task.trace_parent AS "traceParent"
    FROM claimed
    LEFT JOIN webhook_endpoints AS endpoint
      ON endpoint.id = claimed.endpoint_id AND endpoint.account_id = claimed.account_id
    LEFT JOIN tasks AS task ON task.id = claimed.task_id AND task.account_id = claimed.account_id
    LEFT JOIN accounts AS account ON account.id = claimed.account_id`;
  return rows[0];
}

/** How an attempt ended. */
interface Outcome {
  readonly status: number | null;
  readonly error: AttemptError | null;
  readonly answer: string | null;
  readonly durationMs: number;
}

/** Errors of attempts that say nothing about the receiver. */
const OURS: readonly AttemptError[] = ['interrupted', 'endpoint_disabled', 'removed'];

/** Records an outcome and returns the delivery's new epoch; undefined if another attempt has begun. Raw: the fence. */
export async function finishDelivery(
  database: Transaction,
  { id, attempt }: Pick<ClaimedRow, 'id' | 'attempt'>,
  { status, error, answer, durationMs }: Outcome,
  { state, delayMs, gone, counts }: NextStep,
): Promise<number | undefined> {
  const delivered = state === 'delivered';
  const failed = !delivered && (error === null || !OURS.includes(error));
  const rows = await database.$queryRaw<{ epoch: number }[]>`
    WITH noted AS (
      UPDATE webhook_attempts SET status = ${status}, error = ${error}, answer = ${answer}, duration_ms = ${durationMs}
      WHERE delivery_id = ${id} AND number = ${attempt}),
    moved AS (
      UPDATE webhook_deliveries SET state = ${state}, epoch = epoch + 1, lease_until = NULL,
        tries = tries - (NOT ${counts}::boolean)::int,
        next_try_at = CASE WHEN ${state}::text = 'pending' THEN now() + ${delayMs} * interval '1 millisecond' END,
        ended_at = CASE WHEN ${state}::text <> 'pending' THEN now() END
      WHERE id = ${id} AND attempts = ${attempt} AND state = 'pending'
      RETURNING account_id, endpoint_id, epoch),
    judged AS (
      UPDATE webhook_endpoints AS endpoint SET
        failing_since = CASE WHEN ${delivered}::boolean THEN NULL WHEN ${failed}::boolean
          THEN COALESCE(failing_since, now()) ELSE failing_since END,
        timeouts = CASE WHEN ${error}::text = 'timeout' THEN LEAST(timeouts + 1, ${SLOW_AFTER}) ELSE 0 END,
        disabled_at = CASE WHEN ${gone}::boolean THEN COALESCE(disabled_at, now()) ELSE disabled_at END,
        disabled_reason = CASE WHEN ${gone}::boolean THEN COALESCE(disabled_reason, 'gone') ELSE disabled_reason END
      FROM moved
      WHERE endpoint.id = moved.endpoint_id AND endpoint.account_id = moved.account_id
        AND ((${gone}::boolean AND disabled_at IS NULL) OR (${error}::text = 'timeout' AND timeouts < ${SLOW_AFTER})
          OR (${status}::int IS NOT NULL AND timeouts > 0)
          OR (${delivered}::boolean AND failing_since IS NOT NULL) OR (${failed}::boolean AND failing_since IS NULL)))
    SELECT epoch FROM moved`;
  return rows[0]?.epoch;
}
