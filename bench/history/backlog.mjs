// What waits and what is open in a history: sweeps and pollers go through this, not through what has ended.
import { ulid } from './ulid.mjs';

/** A task of every eighty waits, but never few: a long history with an empty queue shows nothing. */
const waitingOf = (tasks) => Math.max(5_000, Math.round(tasks / 80));

const numbered = (count, step) =>
  `(SELECT n, now() - n * ${step} AS at FROM generate_series(0, ${count - 1}) AS n ORDER BY n DESC) AS numbers`;

/** Nothing of the backlog becomes due by itself while it is measured. */
const LATER = `now() + interval '1 day'`;
const AGO = `now() - interval '1 minute'`;
const PEOPLE = 500;

/** Statements by name, for a history with its `history` table; they add as many rows of each kind as tasks wait. */
export const backlogSteps = ({ tasks, keys, accountId }) => {
  const waiting = waitingOf(tasks);
  const account = `CASE WHEN n % 4 = 0 THEN 'acct_bench' ELSE '${accountId}' END`;
  return {
    // A fifth is with a worker, a tenth parked at its provider, a tenth overdue, a fiftieth left by its worker; a tenth of the
    // callers wait at a process that is gone.
    'waiting tasks': `INSERT INTO tasks (id, account_id, api_key_id, request_id, action, model, prompt, options, phase, attempt, lease_owner,
        lease_until, next_try_at, waits, provider_starts, provider, provider_job_id, calls, created_at, started_at, deadline_at, cost,
        fingerprint, asynchronous, ordered_by, waiter)
      SELECT id, account_id, 'key_' || n % ${keys}, replace(id, 'task_', 'req_'), 'generation', 'model-' || n % 3,
        'a lighthouse at dusk, seen from ' || n, '{"size":"1:1","resolution":"1k","pixels":{"width":1024,"height":1024},"outputFormat":"png"}',
        CASE WHEN is_started THEN 'running' ELSE 'queued' END, is_started::int, CASE WHEN is_leased THEN 'worker' END,
        CASE WHEN n % 50 = 1 THEN ${AGO} WHEN is_leased THEN ${LATER} END, CASE WHEN is_parked THEN ${LATER} END, is_parked::int,
        is_started::int, CASE WHEN is_started THEN 'provider-' || n % 2 END, CASE WHEN is_parked THEN 'job-' || n END,
        CASE WHEN is_started THEN jsonb_build_array(jsonb_build_object('n', 1, 'provider', 'provider-' || n % 2, 'startedAt', at)) ELSE '[]' END,
        at, CASE WHEN is_started THEN at END, CASE WHEN n % 10 = 7 THEN ${AGO} ELSE ${LATER} END,
        '{"reserved":40000,"currency":"USD"}', sha256(convert_to('waiting ' || n, 'UTF8')), n % 2 = 0,
        CASE WHEN n % 10 = 9 THEN 'person_1' END, CASE WHEN n % 10 = 5 THEN 'gone-' || n % 4 END
      FROM (SELECT n, at, ${ulid('task', 'at')} AS id, ${account} AS account_id, n % 10 IN (1, 2) AS is_leased, n % 10 = 3 AS is_parked,
        n % 10 IN (1, 2, 3) AS is_started FROM ${numbered(waiting, `interval '20 milliseconds'`)}) AS waiting`,
    reserves: `INSERT INTO charges (task_id, kind, amount_micros, currency, account_id, api_key_id, model, created_at)
      SELECT id, 'reserve', 40000, 'USD', account_id, api_key_id, model, created_at FROM tasks WHERE finished_at IS NULL ORDER BY id`,
    'task reserves': `INSERT INTO task_reserves (task_id, account_id, api_key_id, model, currency, amount_micros, reserved_at, hour)
      SELECT id, account_id, api_key_id, model, 'USD', 40000, created_at, date_trunc('hour', created_at, 'UTC')
      FROM tasks WHERE finished_at IS NULL ORDER BY id`,
    // Half are due, half wait for a next try; a few are being sent.
    'waiting deliveries': `INSERT INTO webhook_deliveries (id, account_id, task_id, endpoint_id, event, state, attempts, tries, next_try_at,
        lease_until, created_at)
      SELECT replace(id, 'task_', 'whd_'), account_id, id, CASE WHEN n % 12 > 3 THEN 'whe_bench' END, 'image.task.completed', 'pending',
        n % 2, n % 2, CASE WHEN n % 8 = 3 THEN ${AGO} ELSE ${LATER} END, CASE WHEN n % 4000 = 3 THEN ${LATER} END, at
      FROM history WHERE n % 4 = 3 AND n < ${4 * waiting}`,
    uploads: `INSERT INTO uploads (id, account_id, api_key_id, content_type, bytes, created_at, expires_at)
      SELECT ${ulid('upload', 'at')}, CASE WHEN n % 4 = 0 THEN '${accountId}' ELSE 'acct_bench' END, 'key_1', 'image/png', 100000, at,
        at + interval '72 hours'
      FROM ${numbered(waiting, `interval '${(5 * 86_400) / waiting} seconds'`)}`,
    // Two years of them; of each account one of each kind is open.
    'alert events': `INSERT INTO alert_events (id, account_id, kind, subject, name, state, level, title, text, path, started_at, fired_at,
        notified_at, clear_minutes, resolved_at)
      SELECT ${ulid('ale', 'at')}, ${account}, kind, 'subject-' || n % 50, 'name', CASE WHEN n < 8 THEN 'firing' ELSE 'resolved' END, 1,
        'A title', 'A text', '/console', at, at, at, 10, CASE WHEN n >= 8 THEN at + interval '1 hour' END
      FROM (SELECT *, CASE WHEN n % 5000 = 9 THEN 'provider_down' ELSE (ARRAY['budget', 'failure_rate', 'queue_wait'])[n % 3 + 1] END AS kind
        FROM ${numbered(waiting, `interval '${(729 * 86_400) / waiting} seconds'`)}) AS kinds`,
    people: `INSERT INTO people (id, account_id, email, name, role) SELECT 'person_' || n, ${account}, n || '@bench.example', 'Bench', 'member'
      FROM generate_series(1, ${PEOPLE}) AS n`,
    // Those of the last half day are alive; the others are about to be removed.
    sessions: `INSERT INTO sessions (id, person_id, token_hash, secret_id, user_agent, created_at, last_seen_at, expires_at)
      SELECT ${ulid('session', 'at')}, 'person_' || n % ${PEOPLE} + 1, sha256(convert_to('session ' || n, 'UTF8')), 'bench', 'bench', at, at,
        at + interval '7 days'
      FROM ${numbered(waiting, `interval '${(13 * 3_600) / waiting} seconds'`)}`,
    budget: `INSERT INTO budgets (owner_id, owner, limit_micros, period, spent_micros, period_start)
      VALUES ('acct_bench', 'account', 1000000000000000, 'month', 0, date_trunc('month', now()))`,
    'chat reserves': `INSERT INTO chat_reserves (request_id, account_id, api_key_id, amount_micros, created_at, expires_at)
      SELECT 'waiting' || n, 'acct_bench', 'key_' || n % ${keys} / 4 * 4, 700, at, CASE WHEN n % 50 = 0 THEN ${AGO} ELSE ${LATER} END
      FROM ${numbered(waiting, `interval '20 milliseconds'`)}`,
  };
};
