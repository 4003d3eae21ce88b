import type { ImageUsage } from '#contract/image-usage.js';
import type { Queryable } from '#database/queryable.js';
import type { CallEnd, CallStart, FirstCalls } from './provider-call.js';
import {
  CLAIMED_COLUMNS,
  ORIGINAL_KEY,
  SUMMARY_COLUMNS,
  TASK_COLUMNS,
  type ClaimedRow,
  type EndedRow,
  type FoundRow,
  type OwnedRow,
  type TaskRow,
} from './task-columns.js';
import type { TaskStatus } from './task-status.js';
import type { Lease, TaskCommand, TaskError, TaskImage } from './task.js';

// The statements of requests and workers, raw and named because each runs at least once per task and Prisma reaches
// only 60 % of their rate. All times are the database's, so that leases and deadlines share one clock.

/** How long an equal request gets a failure that may have been charged instead of a new task, in ms. */
export const FAILURE_REPEATED_MS = 60_000;

/**
 * A statement may have been on its way for this long when Postgres receives it, in ms, so that the age of its request is
 * wrong by as much. One that took longer is followed by a second look (TaskIntake).
 */
export const UNDERWAY_MS = 250;

/** A caller's Idempotency-Key, with the fingerprint of its request. */
export interface KeyedRequest {
  readonly key: string;
  readonly fingerprint: Buffer;
}

/**
 * The rows of a batch, sent as one JSON text and sorted by id, so that two statements never deadlock on each other's
 * rows. Postgres assumes that a JSON text has 100 rows and would scan a small table as a whole; with the always-true
 * condition it assumes one row, and looks each task up by its key.
 */
const ofBatch = (columns: string): string =>
  `(SELECT * FROM jsonb_to_recordset($1::jsonb) AS item (task text, ${columns}) WHERE task = task || '') AS batch`;
const HELD_IN_BATCH = `id = task AND attempt = fence AND status = 'pending'`;

/** The JSON parameter of a batch statement, sorted by id. */
function batch(items: readonly { readonly task: string }[]): string {
  return JSON.stringify([...items].sort((a, b) => (a.task < b.task ? -1 : 1)));
}

/** SQL for `calls` with the last one ended by the CallEnd `end`; unchanged if it has ended already or `end` is null. */
const callsEnded = (end: string): string =>
  `(CASE WHEN ${end}::jsonb IS NULL OR calls = '[]' OR calls->-1 ? 'endedAt' THEN calls
    ELSE jsonb_set(calls, '{-1}', calls->-1 || ${end}::jsonb || jsonb_build_object('endedAt', now())) END)`;

/**
 * Commits without waiting for the disk. For transitions that only have to be repeated if a server crash loses them; a
 * later durable commit of the same worker makes them durable too.
 */
const NOT_DURABLE = `set_config('synchronous_commit', 'off', true) IS NOT NULL`;

// Takes keys in sorted order, so that two of these statements never deadlock.
const INSERT = {
  name: 'task_insert',
  text: `WITH new AS (
      SELECT * FROM json_to_recordset($1::json) AS new (id text, account_id text, api_key_id text, request_id text, action text, model text,
        prompt text, options jsonb, inputs jsonb, mask jsonb, callback_url text, fingerprint bytea, deadline_ms float8, estimated_ms int,
        asynchronous boolean, cost jsonb, retry_of text, waiter text, trace_parent text, ordered_by text,
        key text, key_fingerprint bytea, key_kept_ms float8, attached_by text, attach_window_ms float8, here text, seen text[], age_ms float8)),
    held AS (
      INSERT INTO idempotency_keys (account_id, key, fingerprint, task_id, expires_at)
      SELECT DISTINCT ON (account_id, key) account_id, key, key_fingerprint, id, now() + key_kept_ms * interval '1 millisecond'
        FROM new WHERE key IS NOT NULL ORDER BY account_id, key
      ON CONFLICT (account_id, key) DO UPDATE SET fingerprint = EXCLUDED.fingerprint, task_id = EXCLUDED.task_id,
        created_at = EXCLUDED.created_at, expires_at = EXCLUDED.expires_at
      WHERE idempotency_keys.expires_at <= now()
      RETURNING task_id)
    INSERT INTO tasks (id, account_id, api_key_id, request_id, action, model, prompt, options, inputs, mask, callback_url,
      fingerprint, deadline_at, estimated_ms, asynchronous, cost, retry_of, waiter, attached_by, trace_parent, ordered_by)
    SELECT id, account_id, api_key_id, request_id, action, model, prompt, options, inputs, mask, callback_url,
      fingerprint, now() + deadline_ms * interval '1 millisecond', estimated_ms, asynchronous, cost, retry_of, waiter, attached_by, trace_parent, ordered_by
    FROM new
    WHERE (key IS NULL OR id IN (SELECT task_id FROM held))
      AND (attach_window_ms IS NULL OR first_try_may_insert(fingerprint, api_key_id, attach_window_ms, here, seen, age_ms, ${UNDERWAY_MS}))
    RETURNING ${TASK_COLUMNS}`,
};

/** The first try of a call: it makes no row while an equal request has a task that it may be about. */
export interface FirstTry {
  /** For how long it may get the task of a caller that has left, in ms. */
  readonly attachWindowMs: number;
  /** The process that asks. An equal request whose caller waits at another one stands in its way ... */
  readonly here: string;
  /** ... unless it is of these tasks, because that process was asked. */
  readonly seen: readonly string[];
  /** How long ago the request arrived, in ms; what a retry has made since then is the task of the same call. */
  readonly ageMs: number;
}

/** Lets a repetition of a request find its row. */
export interface FoundBy {
  readonly fingerprint?: Buffer | undefined;
  readonly request?: KeyedRequest & { readonly keptMs: number };
  readonly firstTry?: FirstTry;
  /** The request of a retry, which the row is known by to tries before it that are late. */
  readonly attachedBy?: string;
  /** The process at which the caller waits. */
  readonly waiter?: string | undefined;
}

/** A command, with the other values that its row needs. */
export interface NewTask extends FoundBy {
  readonly command: TaskCommand;
  readonly deadlineMs: number;
}

/**
 * Inserts commands with their keys: all, or none and throws when the database refuses one. A command gets undefined
 * when its key is taken, also by another of the batch (one of several gets an expired key), or FoundBy rules it out.
 */
export async function insertTasks(database: Queryable, tasks: readonly NewTask[]): Promise<(TaskRow | undefined)[]> {
  const values = [JSON.stringify(tasks.map(columnsOf))];
  const { rows } = await database.query<TaskRow>({ ...INSERT, values });
  return tasks.map(({ command }) => rows.find(({ id }) => id === command.id));
}

/** A new row as the statement's JSON; absent fields become null. */
function columnsOf({ command, deadlineMs, fingerprint, request, firstTry, attachedBy, waiter }: NewTask): object {
  return {
    id: command.id,
    account_id: command.accountId,
    api_key_id: command.apiKeyId,
    request_id: command.requestId,
    action: command.action,
    model: command.model,
    prompt: command.prompt,
    options: command.options,
    inputs: command.inputs,
    mask: command.mask,
    callback_url: command.callbackUrl,
    fingerprint: hex(fingerprint),
    deadline_ms: deadlineMs,
    estimated_ms: command.estimatedMs,
    asynchronous: command.asynchronous,
    cost: command.cost,
    retry_of: command.retryOf,
    waiter,
    trace_parent: command.traceParent,
    ordered_by: command.orderedBy,
    key: request?.key,
    key_fingerprint: hex(request?.fingerprint),
    key_kept_ms: request?.keptMs,
    attached_by: attachedBy,
    attach_window_ms: firstTry?.attachWindowMs,
    here: firstTry?.here,
    seen: firstTry?.seen,
    age_ms: firstTry?.ageMs,
  };
}

/** Bytes in Postgres's hex format for bytea. */
function hex(bytes: Buffer | undefined): string | undefined {
  return bytes && `\\x${bytes.toString('hex')}`;
}

const reading = (columns: string): string =>
  `SELECT ${columns} FROM tasks
    WHERE id = ANY($1) AND ($2::text[] IS NULL OR account_id = ANY($2)) AND (NOT $3::boolean OR status <> 'pending')`;
const FIND = { name: 'task_find', text: reading(`${SUMMARY_COLUMNS}, account_id, api_key_id, ordered_by`) };
const READ = { name: 'task_read', text: reading(`${TASK_COLUMNS}, next_try_at IS NOT NULL AS wanted`) };

/** Reads, for polls, the tasks that belong to one of the accounts (absent: any account), in no particular order. */
export async function findTasks(
  database: Queryable,
  ids: readonly string[],
  accountIds?: readonly string[],
): Promise<OwnedRow[]> {
  return (await database.query<OwnedRow>({ ...FIND, values: [ids, accountIds ?? null, false] })).rows;
}

/** Reads the tasks as their submitters see them; with `ended`, only those that have ended. */
export async function readTasks(database: Queryable, ids: readonly string[], ended: boolean): Promise<FoundRow[]> {
  return (await database.query<FoundRow>({ ...READ, values: [ids, null, ended] })).rows;
}

/** A request that may get an equal request's task, and the process at which its caller waits. */
export interface AttachingRequest {
  readonly fingerprint: Buffer;
  readonly apiKeyId: string;
  readonly requestId: string;
  readonly waiter: string | undefined;
  /** How long ago the request arrived, in ms. */
  readonly ageMs: number;
}

const EQUAL_LOCK = `pg_advisory_xact_lock(hashtextextended($2 || ' ' || encode($1::bytea, 'hex'), 0))`;

const UNDELIVERED = {
  name: 'task_undelivered',
  text: `WITH found AS MATERIALIZED (
      SELECT ${EQUAL_LOCK},
        (SELECT id FROM tasks WHERE fingerprint = $1 AND api_key_id = $2
            AND (delivered_at IS NULL OR finished_at > now() - $5 * interval '1 millisecond')
            AND created_at > now() - interval '15 minutes'
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
 * Gives `requestId` an equal request's task of the last 15 minutes whose outcome was not delivered before it arrived: an
 * abandoned one first, then the newest. Retries wait for each other; call it twice, as the first answer may predate the
 * wait.
 */
export async function takeUndelivered(
  database: Queryable,
  { fingerprint, apiKeyId, requestId, waiter, ageMs }: AttachingRequest,
): Promise<string | undefined> {
  const values = [fingerprint, apiKeyId, requestId, waiter ?? null, ageMs];
  const { rows } = await database.query<{ id: string | null }>({ ...UNDELIVERED, values });
  return rows[0]?.id ?? undefined;
}

/** SQL for whether a claim also begins the call given for its model: the first claim of a plain task. */
const BEGINS = `($2::jsonb ? model AND attempt = 0 AND inputs = '[]' AND NOT options ?| '{n,strict,onlyProvider}')`;

/** Progress of a task whose provider has been called: the start writes it, so that no other write has to. */
const STARTED_PERCENT = 5;

/** A disabled account buys nothing more; what a provider works on already is paid, so it is still fetched. */
const MAY_BUY = `(provider_call_open OR NOT EXISTS (SELECT 1 FROM accounts WHERE accounts.id = account_id AND disabled_at IS NOT NULL))`;

const CLAIM = {
  name: 'task_claim',
  text: `UPDATE tasks SET attempt = attempt + 1, losses = losses + (lease_until IS NOT NULL)::int, phase = 'running', lease_owner = owner,
      lease_until = now() + lease_ms * interval '1 millisecond', next_try_at = NULL, started_at = COALESCE(started_at, now()),
      provider_starts = provider_starts + ${BEGINS}::int, provider_call_open = provider_call_open OR ${BEGINS},
      provider = CASE WHEN ${BEGINS} THEN $2->model->>'provider' ELSE provider END,
      progress = CASE WHEN ${BEGINS} THEN GREATEST(progress, ${STARTED_PERCENT}) ELSE progress END,
      calls = CASE WHEN ${BEGINS} THEN jsonb_build_array(jsonb_build_object('n', 1, 'startedAt', now()) || ($2->model)) ELSE calls END
    FROM ${ofBatch('owner text, lease_ms float8')}
    WHERE id = task AND status = 'pending' AND deadline_at > now()
      AND (lease_until IS NULL OR lease_until < now()) AND (next_try_at IS NULL OR next_try_at <= now() + interval '1 second')
      AND ${MAY_BUY} AND ${NOT_DURABLE}
    RETURNING ${CLAIMED_COLUMNS}`,
};

/** A worker's request for the lease of a task. */
export interface Claim {
  readonly id: string;
  readonly owner: string;
  readonly leaseMs: number;
  /** Nearly the same in all claims that a process makes at one moment, so a batch uses those of its first claim. */
  readonly firstCalls: FirstCalls;
}

/** Leases the tasks; no row for one that has ended, is held by another, is past its deadline, not due, or not to be bought. */
export async function claimTasks(database: Queryable, claims: readonly Claim[]): Promise<ClaimedRow[]> {
  const firstCalls = JSON.stringify(claims[0]?.firstCalls ?? {});
  const items = claims.map(({ id, owner, leaseMs }) => ({ task: id, owner, lease_ms: leaseMs }));
  return (await database.query<ClaimedRow>({ ...CLAIM, values: [batch(items), firstCalls] })).rows;
}

const RENEW = {
  name: 'task_renew',
  text: `UPDATE tasks SET lease_until = now() + $2 * interval '1 millisecond' FROM ${ofBatch('fence int')}
    WHERE ${HELD_IN_BATCH} AND lease_until IS NOT NULL RETURNING id, attempt`,
};

/** Extends many leases at once; returns those that are still held. */
export async function renewLeases(database: Queryable, leases: readonly Lease[], leaseMs: number): Promise<Lease[]> {
  const items = leases.map(({ id, attempt }) => ({ task: id, fence: attempt }));
  return (await database.query<Lease>({ ...RENEW, values: [batch(items), leaseMs] })).rows;
}

// Requires the lease, because a late start must not open a call of a task that was released meanwhile. Free calls
// need no durable count; a batch with a paid call is durable.
const START = {
  name: 'task_start_provider',
  text: `UPDATE tasks SET provider_starts = provider_starts + 1, provider = call->>'provider', provider_call_open = true, provider_job_id = NULL,
      progress = GREATEST(progress, ${STARTED_PERCENT}),
      calls = ${callsEnded('before')} || (jsonb_build_object('n', provider_starts + 1, 'startedAt', now()) || call)
    FROM ${ofBatch('fence int, call jsonb, max_starts int, before jsonb')}
    WHERE ${HELD_IN_BATCH} AND lease_until IS NOT NULL AND provider_starts < max_starts AND CASE WHEN $2::boolean THEN ${NOT_DURABLE} ELSE true END
    RETURNING id, attempt`,
};

/** A call about to be made, and how the one before it ended, if that is still open. */
export interface Start {
  readonly lease: Lease;
  readonly call: CallStart;
  readonly maxStarts: number;
  readonly before: CallEnd | undefined;
}

/** Counts and records calls before they are made; returns the leases for which it did. */
export async function startCalls(database: Queryable, starts: readonly Start[]): Promise<Lease[]> {
  const items = starts.map(({ lease: { id, attempt }, call, maxStarts, before }) => {
    return { task: id, fence: attempt, call, max_starts: maxStarts, before };
  });
  const areFree = starts.every(({ call }) => call.free);
  return (await database.query<Lease>({ ...START, values: [batch(items), areFree] })).rows;
}

const ACCEPTED = {
  name: 'task_accepted_by_provider',
  text: `UPDATE tasks SET provider_job_id = job, calls = CASE WHEN calls = '[]' THEN calls ELSE
      jsonb_set(calls, '{-1}', calls->-1 || jsonb_strip_nulls(jsonb_build_object('upstreamId', job, 'acceptedAt', now(), 'adapted', adapted))) END
    FROM ${ofBatch('fence int, job text, adapted jsonb')} WHERE ${HELD_IN_BATCH} RETURNING id, attempt`,
};

/** The provider's own job id for a call. */
export interface NamedCall {
  readonly lease: Lease;
  readonly providerJobId: string;
  /** What was adapted in the request, as sentences. */
  readonly adapted?: readonly string[];
}

/** Stores the providers' own job ids; returns the leases for which it did. */
export async function nameCalls(database: Queryable, named: readonly NamedCall[]): Promise<Lease[]> {
  const items = named.map(({ lease: { id, attempt }, providerJobId, adapted = [] }) => {
    return { task: id, fence: attempt, job: providerJobId, adapted: adapted.length === 0 ? null : adapted };
  });
  return (await database.query<Lease>({ ...ACCEPTED, values: [batch(items)] })).rows;
}

const PROGRESS = {
  name: 'task_progress',
  text: `UPDATE tasks SET progress = GREATEST(progress, LEAST(percent, 99)), phase = shown
    FROM ${ofBatch('fence int, percent int, shown text')}
    WHERE ${HELD_IN_BATCH} AND phase IN ('running', shown) AND ${NOT_DURABLE} RETURNING id, attempt`,
};

/** The progress of a task. */
export interface Progress {
  readonly lease: Lease;
  /** A whole number. */
  readonly percent: number;
  readonly phase: 'running' | 'storing';
}

/** Writes progress, which never decreases; returns the leases for which it did. */
export async function writeProgress(database: Queryable, steps: readonly Progress[]): Promise<Lease[]> {
  const items = steps.map(({ lease: { id, attempt }, percent, phase }) => {
    return { task: id, fence: attempt, percent, shown: phase };
  });
  return (await database.query<Lease>({ ...PROGRESS, values: [batch(items)] })).rows;
}

/** Ending tasks of many owners locks their budgets in any order, so only one statement does it at a time. */
const BUDGETS_LOCK = `(SELECT pg_advisory_xact_lock(hashtext('budgets of many')) IS NOT NULL)`;
/** All tasks to end, locked before the first budget (Postgres completes the array first): their cancelers wait for budgets. */
const LOCKED = `ARRAY(SELECT id FROM tasks WHERE id = ANY (ARRAY(SELECT item ->> 'task' FROM jsonb_array_elements($1::jsonb) AS item))
        AND status = 'pending' ORDER BY id FOR UPDATE)`;

// A cancellation does not know how the running call ends, so it stays open, and the owner sees that (TaskLinks).
const END = {
  name: 'task_end',
  text: `UPDATE tasks SET status = ended, phase = 'done', finished_at = now(), lease_until = NULL, lease_owner = NULL,
      progress = CASE WHEN ended = 'completed' THEN 100 ELSE progress END, images = results, usage = used, warnings = warned, error = failure,
      has_thumbnail = COALESCE(thumbnail, false),
      calls = ${callsEnded('call')}, provider_call_open = provider_call_open AND ended = 'cancelled'
    FROM ${ofBatch('fence int, account text, ended text, results jsonb, used jsonb, warned jsonb, failure jsonb, call jsonb, thumbnail boolean')}
    WHERE id = task AND status = 'pending' AND (attempt = fence OR account_id = account)
      AND CASE WHEN $2::boolean AND cost IS NOT NULL THEN ${BUDGETS_LOCK} AND id = ANY (${LOCKED}) ELSE true END
    RETURNING ${SUMMARY_COLUMNS}, attempt, epoch, ${ORIGINAL_KEY} AS original_key_id, waiter`,
};

/** How a task ends, and who ends it: its lease holder or its owner. */
export interface End {
  readonly by: Lease | { readonly id: string; readonly accountId: string };
  readonly status: Exclude<TaskStatus, 'pending'>;
  readonly images?: readonly TaskImage[];
  readonly usage?: ImageUsage | undefined;
  readonly warnings?: readonly string[];
  /** The first image's thumbnail is in the store. */
  readonly hasThumbnail?: boolean;
  readonly error?: TaskError;
  /** The end of the last call, if that is open. */
  readonly call?: CallEnd | undefined;
}

/** Ends pending tasks; no row for one that has ended already, or that its lease or account does not match. */
export async function endTasks(database: Queryable, ends: readonly End[]): Promise<EndedRow[]> {
  const items = ends.map(({ by, status, images, usage, warnings, hasThumbnail, error, call }) => ({
    ...('attempt' in by ? { task: by.id, fence: by.attempt } : { task: by.id, account: by.accountId }),
    ended: status,
    results: images,
    used: usage,
    failure: error,
    call,
    thumbnail: hasThumbnail,
    warned: warnings?.length === 0 ? undefined : warnings,
  }));
  return (await database.query<EndedRow>({ ...END, values: [batch(items), ends.length > 1] })).rows;
}

const RELEASE = {
  name: 'task_release',
  text: `UPDATE tasks SET lease_until = NULL, lease_owner = NULL, epoch = epoch + CASE WHEN waited AND NOT parked THEN 1 ELSE 2 END, next_try_at = now() + delay_ms * interval '1 millisecond',
      waits = waits + waited::int, phase = CASE WHEN parked THEN phase ELSE 'queued' END,
      calls = CASE WHEN not_called THEN calls - (-1) ELSE ${callsEnded('call')} END, provider_starts = provider_starts - not_called::int,
      provider = CASE WHEN NOT not_called THEN provider END,
      provider_call_open = provider_call_open AND NOT not_called AND (parked OR COALESCE(call->>'charged', 'maybe') <> 'no'),
      provider_job_id = CASE WHEN parked OR call IS NULL THEN provider_job_id END,
      started_at = CASE WHEN parked OR provider_starts > not_called::int THEN started_at END
    FROM ${ofBatch('fence int, delay_ms float8, call jsonb, waited boolean, parked boolean, not_called boolean')}
    WHERE ${HELD_IN_BATCH} RETURNING id, attempt, epoch`,
};

/** How a lease is given up. */
export interface Release {
  readonly lease: Lease;
  /** Milliseconds until its next try. */
  readonly delayMs: number;
  /** The end of the last call, if that was made and is open. */
  readonly call?: CallEnd | undefined;
  /** Not a try, because no provider was free: one may call the task by its next epoch, which other releases skip. */
  readonly wait?: boolean | undefined;
  /** Its provider keeps working, so it keeps its phase, its call and its start. */
  readonly parked?: boolean;
  /** The call that its claim began was not made, so it is removed. */
  readonly notCalled?: boolean;
}

/** A released lease, and the task's new epoch. */
export interface ReleasedRow extends Lease {
  readonly epoch: number;
}

/** Releases the tasks until their next try, each under a new epoch; no row for one that is no longer held. */
export async function releaseTasks(database: Queryable, releases: readonly Release[]): Promise<ReleasedRow[]> {
  const items = releases.map(
    ({ lease: { id, attempt }, delayMs, call, wait = false, parked = false, notCalled = false }) => {
      return {
        task: id,
        fence: attempt,
        delay_ms: delayMs,
        call,
        waited: wait || parked,
        parked,
        not_called: notCalled,
      };
    },
  );
  return (await database.query<ReleasedRow>({ ...RELEASE, values: [batch(items)] })).rows;
}
