// A history of one week: ended tasks of several accounts and many keys, with all related rows.

import { backlogSteps } from './backlog.mjs';
import { ulid } from './ulid.mjs';

const ENDED = `at + (2 + n % 28) * interval '1 second'`;
const ERROR = `jsonb_build_object('code', CASE WHEN n % 398 = 0 THEN 'moderation_blocked' ELSE 'provider_unavailable' END, 'message', 'No image was made.')`;

/** The steps that fill a history; `accountId` gets three quarters of the tasks, two other accounts the rest. */
const steps = ({ tasks, keys, accountId }) => ({
  history: `CREATE UNLOGGED TABLE history AS SELECT n, at, ${ulid('task', 'at')} AS id,
      CASE WHEN n % 1000003 = 13 THEN 'acct_rare' WHEN n % 4 = 0 THEN 'acct_bench' ELSE '${accountId}' END AS account_id,
      'key_' || CASE WHEN n % 100000 < 2 THEN 'rare' || n % 2 WHEN n > ${tasks - 50} AND n % 4 > 0 THEN 'old' ELSE (n % ${keys})::text END AS api_key_id,
      'model-' || CASE WHEN n % 500000 = 7 THEN 'rare' ELSE (n % 3)::text END AS model,
      CASE WHEN n % 199 = 0 THEN 'failed' WHEN n % 997 = 1 THEN 'cancelled' ELSE 'completed' END AS status
    FROM (SELECT n, now() - n * interval '${(7 * 86_400) / (tasks + 1)} seconds' AS at FROM generate_series(0, ${tasks - 1}) AS n) AS numbers
    ORDER BY n DESC`,
  accounts: `INSERT INTO accounts (id, name) VALUES ('acct_bench', 'Bench'), ('acct_rare', 'Rare') ON CONFLICT DO NOTHING`,
  keys: `INSERT INTO api_keys (id, account_id, name, prefix, hash, secret_id)
    SELECT DISTINCT ON (api_key_id) api_key_id, account_id, api_key_id, 'sk-dr-bench', convert_to('bench ' || api_key_id, 'UTF8'), 'bench'
    FROM (SELECT * FROM history WHERE n < ${10 * keys} OR n > ${tasks - 50}) AS used`,
  tasks: `INSERT INTO tasks (id, account_id, api_key_id, request_id, action, model, prompt, options, status, phase, progress, attempt,
      provider_starts, provider, calls, created_at, started_at, finished_at, deadline_at, images, error, usage, cost, objects_deleted_at,
      fingerprint, asynchronous, ordered_by, end_user, tags)
    SELECT id, account_id, api_key_id, replace(id, 'task_', 'req_'), 'generation', model, 'a lighthouse at dusk, seen from ' || n,
      '{"size":"1:1","resolution":"1k","pixels":{"width":1024,"height":1024},"outputFormat":"png"}', status, 'done', 100, 1, 1, 'provider-' || n % 2,
      jsonb_build_array(jsonb_build_object('n', 1, 'provider', 'provider-' || n % 2, 'startedAt', at, 'endedAt', ${ENDED},
        'outcome', CASE WHEN status = 'completed' THEN 'succeeded' ELSE 'failed' END)),
      at, at, ${ENDED}, at + interval '15 minutes',
      CASE WHEN status = 'completed' THEN jsonb_build_array(jsonb_build_object('key', 'results/' || id || '-1.png', 'contentType', 'image/png',
        'width', 1024, 'height', 1024, 'bytes', 1000000, 'sha256', repeat('a', 64))) END,
      CASE WHEN status = 'failed' THEN ${ERROR} END, '{"input_tokens":20,"output_tokens":1056}',
      jsonb_build_object('reserved', 40000, 'currency', 'USD', 'settled', CASE WHEN status = 'completed' THEN 40000 ELSE 0 END),
      CASE WHEN n > ${Math.floor((tasks * 3) / 7)} THEN at + interval '3 days' END, sha256(convert_to(n::text, 'UTF8')), n % 2 = 0,
      CASE WHEN n % 5000 = 3 THEN 'person_rare' WHEN n % 10 = 5 THEN 'person_1' END,
      CASE WHEN n % 20 = 1 THEN 'eu_many' WHEN n % 10 = 1 THEN 'eu_' || n / 20 % ${Math.ceil(tasks / 40)} END,
      CASE WHEN n % 10 = 1 THEN ARRAY['all', 'tag-' || n % 7] END
    FROM history`,
  labels: `INSERT INTO task_labels SELECT account_id, kind, name, created_at, id FROM tasks, labels_of(end_user, tags) AS label ORDER BY 1, 2, 3, 4`,
  charges: `INSERT INTO charges (task_id, kind, amount_micros, currency, account_id, api_key_id, model, created_at)
    SELECT id, kind, 40000, 'USD', account_id, api_key_id, model, at
    FROM history, LATERAL (VALUES ('reserve'), (CASE WHEN status = 'completed' THEN 'settle' ELSE 'refund' END)) AS ends (kind)`,
  chats: `INSERT INTO chat_usage (request_id, account_id, api_key_id, model, provider, provider_model, streamed, status, outcome,
      input_tokens, output_tokens, first_byte_ms, duration_ms, created_at, cost_micros)
    SELECT 'chat' || id, account_id, api_key_id, 'chat', 'provider-0', 'chat', true, 200, 'completed', 500, 200, 300, 2000 + n % 5000, at, 700
    FROM history WHERE n % 4 < 2`,
  endpoints: `INSERT INTO webhook_endpoints (id, account_id, url, events)
    VALUES ('whe_bench', '${accountId}', 'https://bench.example/hook', '{image.task.completed}')`,
  deliveries: `INSERT INTO webhook_deliveries (id, account_id, task_id, endpoint_id, event, state, attempts, created_at, ended_at)
    SELECT replace(id, 'task_', 'whd_'), account_id, id, CASE WHEN account_id = '${accountId}' THEN 'whe_bench' END, 'image.task.completed',
      CASE WHEN n % 100000 = 2 THEN 'failed' ELSE 'delivered' END, 1, ${ENDED}, ${ENDED} FROM history WHERE n % 4 < 3`,
  attempts: `INSERT INTO webhook_attempts (delivery_id, number, started_at, duration_ms, status)
    SELECT id, 1, created_at, 20, 200 FROM webhook_deliveries`,
  'idempotency keys': `INSERT INTO idempotency_keys (account_id, key, fingerprint, task_id, created_at, expires_at)
    SELECT account_id, id, '\\x00', id, at, at + interval '1 day' FROM history WHERE n % 2 = 0 AND at > now() - interval '1 day'`,
  audit: `INSERT INTO audit_log (id, account_id, action, created_at)
    SELECT replace(id, 'task_', 'audit_'), account_id, CASE WHEN n % 100000 = 10 THEN 'provider.drained' ELSE 'key.created' END, at
    FROM history WHERE n % 10 = 0`,
  usage: `INSERT INTO usage_rollups SELECT account_id, step, date_trunc(step, created_at, 'UTC'), kind, api_key_id, model, provider, outcome,
      currency, latency_bucket(ms), count(*), count(*) FILTER (WHERE kind = 'image' AND outcome = 'completed'), sum(spend), sum(input), sum(output), COALESCE(sum(ms), 0)
    FROM (
      SELECT account_id, created_at, 'image' AS kind, api_key_id, model, provider, status AS outcome, 'USD' AS currency,
        CASE WHEN status = 'completed' THEN (extract(epoch FROM finished_at - created_at) * 1000)::bigint END AS ms,
        (cost ->> 'settled')::bigint AS spend, 20 AS input, 1056 AS output FROM tasks WHERE status <> 'pending'
      UNION ALL SELECT account_id, created_at, 'chat', api_key_id, model, provider, outcome, '', duration_ms, cost_micros, input_tokens,
        output_tokens FROM chat_usage) AS ended, (VALUES ('hour'), ('day')) AS steps (step)
    GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 ORDER BY 3`,
  'grouped usage': `INSERT INTO grouped_usage SELECT account_id, step, dimension, time, name, of_model, of_provider, currency, sum(images), sum(failed),
      sum(chats), 0, sum(spend), sum(input), sum(output), COALESCE(string_agg(concat_ws(':', bucket, count, ms), ' ' ORDER BY bucket) FILTER (WHERE bucket >= 0), '')
    FROM (SELECT account_id, step, dimension, time, name, of_model, of_provider, currency, usage_bucket(kind, outcome, bucket) AS bucket, sum(count) AS count,
        sum(images) AS images, COALESCE(sum(count) FILTER (WHERE outcome = 'failed'), 0) AS failed, COALESCE(sum(count) FILTER (WHERE kind = 'chat'), 0) AS chats,
        sum(spend_micros) AS spend, sum(input_tokens) AS input, sum(output_tokens) AS output, sum(latency_ms) AS ms
      FROM usage_rollups, LATERAL (VALUES ('key', api_key_id, '', ''), ('model', model, '', ''), ('provider', provider, '', ''),
        ('each', api_key_id, model, provider)) AS groups (dimension, name, of_model, of_provider)
      GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9) AS parts
    GROUP BY 1, 2, 3, 4, 5, 6, 7, 8 ORDER BY 4`,
  totals: `INSERT INTO spend_totals SELECT account_id, api_key_id, month_of(time), currency, sum(spend_micros)::bigint FROM usage_rollups
    WHERE step = 'day' GROUP BY 1, 2, 3, 4`,
  'labeled usage': `INSERT INTO labeled_usage SELECT account_id, kind, name, date_trunc('day', created_at, 'UTC'), 'USD',
      count(*) FILTER (WHERE status = 'completed'), count(*) FILTER (WHERE status = 'failed'), 0, 0, sum((cost ->> 'settled')::bigint),
      sum(20), sum(1056) FROM tasks, labels_of(end_user, tags) AS label WHERE status <> 'pending' GROUP BY 1, 2, 3, 4`,
  ...backlogSteps({ tasks, keys, accountId }),
  end: 'DROP TABLE history',
  statistics: 'VACUUM ANALYZE',
});

/** Their triggers would write charges, deliveries and usage row by row, and look up each sum by group. */
const TRIGGERED = ['tasks', 'chat_usage', 'usage_rollups'];
/** What looks at the database for longer than so many take would not let it end. */
const MOST_VACUUMS = 20;
/** Filling them without indexes takes half the time. */
const INDEXED = [
  'tasks',
  'charges',
  'chat_usage',
  'webhook_deliveries',
  'audit_log',
  'usage_rollups',
  'grouped_usage',
  'labeled_usage',
];

/** Fills a migrated database without tasks, over one connection of its owner; `tell` gets the duration of each step. */
export async function fillHistory(client, { tasks, keys = 200, accountId = 'acct_default' }, tell = () => undefined) {
  const { rows: indexes } = await client.query(
    `SELECT indexname AS name, indexdef AS definition FROM pg_indexes
      WHERE schemaname = current_schema AND tablename = ANY ($1) AND indexname NOT LIKE '%_pkey'`,
    [INDEXED],
  );
  const timed = async (name, text) => {
    const since = performance.now();
    const { rowCount } = await client.query(text);
    tell(
      `${name.padEnd(50)} ${String(rowCount ?? '').padStart(9)} ${((performance.now() - since) / 1_000).toFixed(1)} s`,
    );
  };
  await client.query(
    `SET synchronous_commit = off; SET statement_timeout = 0; SET maintenance_work_mem = '512MB'; SET work_mem = '128MB'`,
  );
  for (const table of TRIGGERED) await client.query(`ALTER TABLE ${table} DISABLE TRIGGER USER`);
  for (const { name } of indexes) await client.query(`DROP INDEX ${name}`);
  const { statistics, ...rows } = steps({ tasks, keys, accountId });
  for (const [name, text] of Object.entries(rows)) await timed(name, text);
  for (const { name, definition } of indexes) await timed(name, definition);
  // While anything else looks at this database, such as the autovacuum, rows don't count as visible to all, and what an index
  // alone would answer reads them; and indexes go on to lead to rows that are gone.
  let tries = 0;
  do await timed('statistics', statistics);
  while (!(await areVisible(client)) && ++tries < MOST_VACUUMS);
  for (const table of TRIGGERED) await client.query(`ALTER TABLE ${table} ENABLE TRIGGER USER`);
  await client.query('RESET ALL');
}

async function areVisible(client) {
  const { rows } = await client.query(
    `SELECT bool_and(relallvisible = relpages) AS all FROM pg_class
      WHERE relnamespace = current_schema::regnamespace AND relname = ANY ($1)`,
    [INDEXED],
  );
  return rows[0].all;
}
