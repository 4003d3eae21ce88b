// Fills a migrated, empty database with a history: node bench/fill-tasks.mjs <DATABASE_URL> [tasks, 4000000] [keys, 200]
// As many charges, webhook deliveries, chats and audit entries as go with it, a week of work by two accounts; nothing is pending.
import pg from 'pg';

const [url, tasks = '4000000', keys = '200'] = process.argv.slice(2);
if (url === undefined) {
  process.stderr.write('usage: node bench/fill-tasks.mjs <DATABASE_URL> [tasks] [keys]\n');
  process.exit(1);
}
const [count, keyCount] = [Number(tasks), Number(keys)];
const client = new pg.Client({ connectionString: url });
await client.connect();

const AT = `now() - n * interval '${(7 * 86_400) / count} seconds'`;
/** Ids sort by time, as ULIDs do. */
const ID = (prefix) => `'${prefix}_' || lpad((${count} - n)::text, 26, '0')`;
const ACCOUNT = `CASE WHEN n % 4 = 0 THEN 'acct_bench' ELSE 'acct_default' END`;
// The last key of each account has few tasks.
const KEY = `'key_' || CASE WHEN n % 100000 < 2 THEN 'rare' || n % 2 ELSE (n % ${keyCount})::text END`;
const STATUS = `CASE WHEN n % 200 = 0 THEN 'failed' WHEN n % 1000 = 1 THEN 'cancelled' ELSE 'completed' END`;
const COST = `jsonb_build_object('reserved', 40000, 'currency', 'USD', 'settled', CASE WHEN ${STATUS} = 'completed' THEN 40000 ELSE 0 END)`;
const series = `generate_series(0, ${count - 1}) AS n`;

const STEPS = {
  accounts: `INSERT INTO accounts (id, name) VALUES ('acct_bench', 'Bench') ON CONFLICT DO NOTHING`,
  keys: `INSERT INTO api_keys (id, account_id, name, prefix, hash) SELECT 'key_' || n, CASE WHEN n % 4 = 0 THEN 'acct_bench' ELSE 'acct_default' END,
    'key ' || n, 'sk-dr-' || n, convert_to('bench ' || n, 'UTF8') FROM generate_series(0, ${keyCount - 1}) AS n ON CONFLICT DO NOTHING`,
  tasks: `INSERT INTO tasks (id, account_id, api_key_id, request_id, action, model, prompt, options, status, phase, progress, attempt,
      provider_starts, provider, calls, created_at, started_at, finished_at, deadline_at, images, cost, objects_deleted_at, fingerprint)
    SELECT ${ID('task')}, ${ACCOUNT}, ${KEY}, ${ID('req')}, 'generation', 'model-' || n % 3, 'a lighthouse at dusk, seen from ' || n,
      '{"size":"1:1","resolution":"1k","pixels":{"width":1024,"height":1024},"outputFormat":"png"}', ${STATUS}, 'done', 100, 1, 1, 'provider-' || n % 2,
      jsonb_build_array(jsonb_build_object('n', 1, 'provider', 'provider-' || n % 2, 'startedAt', ${AT}, 'endedAt', ${AT}, 'outcome', 'succeeded')),
      ${AT}, ${AT}, ${AT} + (2 + n % 28) * interval '1 second', ${AT} + interval '15 minutes',
      CASE WHEN ${STATUS} = 'completed' THEN jsonb_build_array(jsonb_build_object('key', 'results/' || ${ID('task')} || '-1.png', 'contentType', 'image/png',
        'width', 1024, 'height', 1024, 'bytes', 1000000, 'sha256', repeat('a', 64))) END,
      ${COST}, CASE WHEN n > ${Math.floor((count * 3) / 7)} THEN ${AT} + interval '3 days' END, sha256(convert_to(n::text, 'UTF8'))
    FROM ${series}`,
  charges: `INSERT INTO charges (task_id, kind, amount_micros, currency, account_id, api_key_id, model, created_at, added_up)
    SELECT ${ID('task')}, kind, 40000, 'USD', ${ACCOUNT}, ${KEY}, 'model-' || n % 3, ${AT}, NULL
    FROM ${series}, LATERAL (VALUES ('reserve'), (CASE WHEN ${STATUS} = 'completed' THEN 'settle' ELSE 'refund' END)) AS ends (kind)`,
  chats: `INSERT INTO chat_usage SELECT ${ID('req')}, ${ACCOUNT}, ${KEY}, 'chat', 'provider-0', NULL, 'chat', true, 200, 'completed', 500, 200, 0, 300, 4000, ${AT}, 700, NULL
    FROM generate_series(0, ${Math.floor(count / 4)}) AS n`,
  deliveries: `INSERT INTO webhook_deliveries (id, account_id, task_id, event, state, attempts, created_at, ended_at)
    SELECT ${ID('whd')}, ${ACCOUNT}, ${ID('task')}, 'image.task.completed', 'delivered', 1, ${AT}, ${AT} FROM generate_series(0, ${Math.floor(count / 4)}) AS n`,
  audit: `INSERT INTO audit_log (id, account_id, action, created_at) SELECT ${ID('audit')}, ${ACCOUNT}, 'key.created', ${AT}
    FROM generate_series(0, ${Math.floor(count / 20)}) AS n`,
  backfill: `INSERT INTO usage_backfill SELECT source, '', now() FROM unnest('{charges,chats}'::text[]) AS source ON CONFLICT DO NOTHING`,
};

// Triggers would write charges, deliveries and usage row by row.
await client.query('SET session_replication_role = replica');
await client.query('SET synchronous_commit = off');
for (const [name, text] of Object.entries(STEPS)) {
  const since = performance.now();
  const { rowCount } = await client.query(text);
  console.log(
    `${name.padEnd(12)} ${String(rowCount).padStart(9)} rows  ${((performance.now() - since) / 1000).toFixed(1)} s`,
  );
}
const since = performance.now();
await client.query('VACUUM ANALYZE');
console.log(`vacuum                        ${((performance.now() - since) / 1000).toFixed(1)} s`);
await client.end();
