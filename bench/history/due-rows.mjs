// Adds rows that are due for removal, as if tasks had been accepted at a given rate all along.
import { ulid } from './ulid.mjs';

const ended = (
  at,
  cleared,
) => `INSERT INTO tasks (id, account_id, api_key_id, request_id, action, model, prompt, options, status, phase,
    progress, provider, created_at, started_at, finished_at, deadline_at, images, cost, objects_deleted_at, fingerprint)
  SELECT id, 'acct_default', 'key_1', replace(id, 'task_', 'req_'), 'generation', 'model-0', 'a lighthouse at dusk', '{"size":"1:1"}', 'completed',
    'done', 100, 'provider-0', at, at, at, at, jsonb_build_array(jsonb_build_object('key', 'results/' || id || '-1.png')),
    '{"reserved":40000,"settled":40000,"currency":"USD"}', ${cleared}, sha256(convert_to(id, 'UTF8'))
  FROM (SELECT n, at, ${ulid('task', 'at')} AS id FROM (SELECT n, ${at} AS at FROM generate_series($1::bigint, $2) AS n) AS numbers) AS due`;
const of = (prefix, age) => `(SELECT n, at, ${ulid(prefix, 'at')} AS id FROM (SELECT n, now() - interval '${age}' AS at
  FROM generate_series($1::bigint, $2) AS n) AS numbers) AS due`;

/** The rows of the tasks `$1` to `$2`, each at the end of its retention; half of the keys, three of four deliveries. */
const DUE = {
  images: ended(`now() - interval '72 hours'`, 'NULL'),
  tasks: ended(`now() - interval '168 hours'`, 'now()'),
  charges: `INSERT INTO charges (task_id, kind, amount_micros, currency, account_id, api_key_id, model, created_at)
    SELECT id, kind, 40000, 'USD', 'acct_default', 'key_1', 'model-0', at FROM ${of('task', '400 days')}, unnest('{reserve,settle}'::text[]) AS kind`,
  chats: `INSERT INTO chat_usage (request_id, account_id, api_key_id, model, provider, provider_model, streamed, status, outcome, first_byte_ms,
      duration_ms, created_at) SELECT id, 'acct_default', 'key_1', 'chat', 'p', 'chat', true, 200, 'completed', 1, 1, at FROM ${of('chat', '90 days')}`,
  deliveries: `WITH added AS (INSERT INTO webhook_deliveries (id, account_id, task_id, event, state, attempts, created_at, ended_at)
      SELECT id, 'acct_default', id, 'image.task.completed', 'delivered', 1, at, at FROM ${of('whd', '168 hours')} WHERE n % 4 > 0 RETURNING id)
    INSERT INTO webhook_attempts (delivery_id, number, status) SELECT id, 1, 200 FROM added`,
  keys: `INSERT INTO idempotency_keys (account_id, key, fingerprint, task_id, created_at, expires_at)
    SELECT 'acct_default', id, '\\x00', id, at, at FROM ${of('key', '1 second')} WHERE n % 2 = 0`,
};

/** How many rows of each table are overdue, and since when the oldest is. */
const LEFT = `SELECT
  (SELECT count(*) FROM tasks WHERE status <> 'pending' AND objects_deleted_at IS NULL AND finished_at <= now() - interval '72 hours')::int AS images,
  (SELECT count(*) FROM tasks WHERE status <> 'pending' AND finished_at <= now() - interval '168 hours')::int AS tasks,
  (SELECT count(*) FROM charges WHERE task_id < $1)::int AS charges,
  (SELECT count(*) FROM chat_usage WHERE created_at <= now() - interval '90 days')::int AS chats,
  (SELECT count(*) FROM webhook_deliveries WHERE created_at <= now() - interval '168 hours')::int AS deliveries,
  (SELECT count(*) FROM idempotency_keys WHERE expires_at <= now())::int AS keys`;
const LAG = `SELECT extract(epoch FROM GREATEST(
  now() - interval '168 hours' - (SELECT min(finished_at) FROM tasks WHERE status <> 'pending'),
  now() - interval '72 hours' - (SELECT min(finished_at) FROM tasks WHERE status <> 'pending' AND objects_deleted_at IS NULL), interval '0'))::float8 AS seconds`;

/** Adds due rows over a separate connection without triggers. */
export class DueRows {
  #client;
  /** Number of the next row; no two rows of a table have the same. */
  #next = 0;
  #created = 0;

  constructor(client) {
    this.#client = client;
  }

  static async open(client) {
    await client.query('SET session_replication_role = replica');
    await client.query('SET synchronous_commit = off');
    return new DueRows(client);
  }

  /** Deletes the backlog without triggers, so that a worker has only expired rows to remove. */
  async dropBacklog() {
    await this.#client.query(`DELETE FROM tasks WHERE finished_at IS NULL`);
    await this.#client.query(`DELETE FROM webhook_deliveries WHERE state = 'pending'`);
  }

  /** Adds all rows of this many tasks. */
  async add(count) {
    await this.#insert(Object.values(DUE), count);
    this.#created += count;
  }

  /** Adds tasks of which only the images are due. */
  async addImages(count) {
    await this.#insert([DUE.images], count);
  }

  async #insert(statements, count) {
    const range = [this.#next, this.#next + count - 1];
    for (const text of statements) await this.#client.query(text, range);
    this.#next += count;
  }

  /** Tasks all of whose rows were added. */
  get created() {
    return this.#created;
  }

  /** Overdue rows of each kind. */
  async left() {
    // A year is older than any task of the history.
    const { rows } = await this.#client.query(
      LEFT.replace('$1', ulid('task', `(now() - interval '1 year')`).replace(/ \|\| lpad.*$/, '')),
    );
    return rows[0];
  }

  /** How many seconds the oldest task or image is overdue. */
  async lagSeconds() {
    return (await this.#client.query(LAG)).rows[0].seconds;
  }
}
