import { waitUntil } from '#embedded/wait-until.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { connectionsTo } from '../support/process-figures.js';

const TASKS = 12;
const POOL = 4;

/** What the platform takes of its services while it is busy in every way it knows. */
describe('connections and writes', () => {
  let platform: Platform;
  const none = { apiRedis: 0, workerRedis: 0, apiPostgres: 0, workerPostgres: 0 };
  const seen = { ...none };
  let last = none;

  beforeAll(async () => {
    // With so long a lease none is renewed meanwhile: progress alone is written, and can be counted.
    const settings = { DATABASE_POOL: String(POOL), WORKER_CONCURRENCY: '12', LEASE_MS: '120000' };
    platform = await startPlatform(settings);
    await platform.pool.query(`
      CREATE TABLE progress_writes (task_id text, from_page int, to_page int);
      CREATE FUNCTION note_progress() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          INSERT INTO progress_writes VALUES (NEW.id, (OLD.ctid::text::point)[0], (NEW.ctid::text::point)[0]);
          RETURN NULL;
        END $$;
      CREATE TRIGGER progress_noted AFTER UPDATE OF progress ON tasks FOR EACH ROW
        WHEN (NEW.status = 'pending' AND NEW.phase = 'running') EXECUTE FUNCTION note_progress();`);
  });
  afterAll(() => platform.close());

  /** A connection that is replaced may close just after its successor is there: what counts is there at two looks. */
  function look(): void {
    const { api, worker, settings } = platform;
    const redis = settings['REDIS_URL'] ?? '';
    const postgres = settings['DATABASE_URL'] ?? '';
    const now = {
      apiRedis: connectionsTo(api.pid, redis),
      workerRedis: connectionsTo(worker.pid, redis),
      apiPostgres: connectionsTo(api.pid, postgres),
      workerPostgres: connectionsTo(worker.pid, postgres),
    };
    for (const name of ['apiRedis', 'workerRedis', 'apiPostgres', 'workerPostgres'] as const) {
      seen[name] = Math.max(seen[name], Math.min(last[name], now[name]));
    }
    last = now;
  }

  it('stay within their bounds under sync calls, streams, long polls and a full worker', async () => {
    const fields = { model: 'gpt-image-2', resolution: '1k' };
    const prompt = 'busy [[latency=15s]]';
    const ids: string[] = [];
    while (ids.length < TASKS - 4) {
      const response = await platform.call('/v1/images/generations/async', { body: { ...fields, prompt } });
      ids.push(response.headers.get('x-task-id') ?? '');
    }
    const calls: Promise<Response>[] = [];
    for (const more of [{}, {}, { stream: true }, { stream: true, partial_images: 2 }]) {
      calls.push(platform.call('/v1/images/generations', { body: { ...fields, prompt, ...more } }));
    }
    calls.push(
      ...ids.slice(0, 5).map((id) => platform.call(`/v1/tasks/${id}?wait=30`)),
      ...ids.slice(0, 5).map((id) => platform.call(`/v1/tasks/${id}/events`)),
    );
    const read = Promise.all(calls.map(async (call) => (await call).text()));
    const done = async (): Promise<boolean> => {
      look();
      const { rowCount } = await platform.pool.query(`SELECT 1 FROM tasks WHERE status <> 'completed'`);
      return rowCount === 0;
    };
    expect(await waitUntil(done, { timeoutMs: 60_000, everyMs: 1_000 })).toBe(true);
    await read;
    expect(seen.apiRedis).toBeGreaterThanOrEqual(2);
    expect(seen.apiRedis).toBeLessThanOrEqual(5);
    expect(seen.workerRedis).toBeGreaterThanOrEqual(2);
    // One for commands, one for events, one that its three queues share, and one of each queue for blocking reads.
    expect(seen.workerRedis).toBeLessThanOrEqual(6);
    expect(seen.apiPostgres).toBeGreaterThanOrEqual(1);
    expect(Math.max(seen.apiPostgres, seen.workerPostgres)).toBeLessThanOrEqual(POOL);
  });

  it('progress is written at most once a second per task', async () => {
    const { rows } = await platform.pool.query<{ writes: number; seconds: number }>(`
      SELECT count(w.task_id)::int AS writes, EXTRACT(EPOCH FROM t.finished_at - t.started_at)::float8 AS seconds
      FROM tasks t LEFT JOIN progress_writes w ON w.task_id = t.id GROUP BY t.id`);
    expect(rows).toHaveLength(TASKS);
    for (const { writes, seconds } of rows) {
      expect(writes).toBeGreaterThanOrEqual(3);
      expect(writes).toBeLessThanOrEqual(seconds + 1);
    }
  });

  // How many have room on their page is in medium/row-versions: a busy machine makes one statement of many.
  it('writes of progress that have room on their page touch no index', async () => {
    const { rows } = await platform.pool.query<{ samePage: number }>(
      `SELECT count(*)::int AS "samePage" FROM progress_writes WHERE from_page = to_page`,
    );
    const samePage = rows[0]?.samePage ?? 0;
    expect(samePage).toBeGreaterThanOrEqual(TASKS);
    // A process reports its updates when it ends, at the latest.
    await Promise.all([platform.api.stop(), platform.worker.stop()]);
    const hot = async (): Promise<number> => {
      const { rows: counts } = await platform.pool.query<{ hot: number }>(
        `SELECT n_tup_hot_upd::int AS hot FROM pg_stat_user_tables WHERE relname = 'tasks'`,
      );
      return counts[0]?.hot ?? 0;
    };
    expect(await waitUntil(async () => (await hot()) >= samePage, { timeoutMs: 15_000 })).toBe(true);
  });
});
