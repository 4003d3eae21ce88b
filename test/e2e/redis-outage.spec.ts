import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from '../support/free-port.js';
import type { EmbeddedService } from '#embedded/postgres.js';
import { startRedis } from '#embedded/redis.js';
import { waitUntil } from '#embedded/wait-until.js';
import { patientSetting } from '../support/patience.js';
import { FREQUENT_CHECKS, startPlatform, type Platform } from '../support/platform.js';

const REQUEST = { model: 'gpt-image-2', resolution: '1k' };

/** A platform on a Redis of its own, which is taken away from it. */
describe('a Redis outage', () => {
  let folder: string;
  let port: number;
  let redis: EmbeddedService;
  let platform: Platform;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-outage-'));
    port = await freePort();
    redis = await start();
    platform = await startPlatform({
      // Only those of Redis are short: Postgres is there, and a single call must not fail because a process stalls.
      REDIS_COMMAND_TIMEOUT_MS: patientSetting(2_000, 20_000),
      ...FREQUENT_CHECKS,
      REDIS_URL: redis.url,
      REDIS_PREFIX: '{outage}',
      SWEEP_INTERVAL_MS: '500',
      // Counted, so that the counting meets the outage too.
      RATE_SUBMITS_PER_MINUTE: '100000',
      RATE_POLLS_PER_MINUTE: '100000',
      MAX_TASKS_IN_FLIGHT: '1000',
    });
  });
  afterAll(async () => {
    await platform.close();
    await redis.stop();
    await rm(folder, { recursive: true, force: true });
  });

  function start(): Promise<EmbeddedService> {
    return startRedis({
      folder: join(folder, 'redis'),
      password: 'outage',
      log: join(folder, 'redis.log'),
      toolFolders: [resolve('node_modules', '.cache', 'darkroom')],
      port,
    });
  }

  async function tasks(): Promise<number> {
    const { rows } = await platform.pool.query<{ count: number }>('SELECT count(*)::int AS count FROM tasks');
    return rows[0]?.count ?? 0;
  }

  async function works(): Promise<boolean> {
    const response = await platform.call('/v1/images/generations', { body: { ...REQUEST, prompt: 'back again' } });
    await response.text();
    return response.status === 200;
  }

  it('turns new work away with nothing accepted while Redis is gone, and takes it again afterwards', async () => {
    expect(await waitUntil(works, { timeoutMs: 30_000 })).toBe(true);
    const keyed = { body: { ...REQUEST, prompt: 'paid for' }, headers: { 'idempotency-key': 'outage' } };
    const isPaid = async (): Promise<boolean> =>
      (paid = await platform.call('/v1/images/generations', keyed)).status === 200;
    let paid = new Response();
    expect(await waitUntil(isPaid, { timeoutMs: 30_000 })).toBe(true);
    const before = await tasks();
    await redis.stop();
    expect(await queueIs('failing')).toBe(true);
    const response = await platform.call('/v1/images/generations', { body: { ...REQUEST, prompt: 'too early' } });
    expect(response.status).toBe(503);
    const chat = { model: 'gpt-5.5', messages: [{ role: 'user', content: 'hi' }] };
    expect((await platform.call('/v1/chat/completions', { body: chat })).status).toBe(200);
    expect(response.headers.get('x-should-retry')).toBe('true');
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await response.json()).toMatchObject({
      type: 'error',
      error: { type: 'overloaded_error', code: 'server_is_overloaded' },
    });
    // What was accepted before is answered again all the same.
    const again = await platform.call('/v1/images/generations', keyed);
    expect([again.status, again.headers.get('x-task-id')]).toEqual([200, paid.headers.get('x-task-id')]);
    expect(await tasks()).toBe(before);
    // Polls go on, uncounted.
    const poll = await platform.call('/v1/tasks');
    expect([poll.status, poll.headers.get('ratelimit')]).toEqual([200, null]);

    redis = await start();
    expect(await waitUntil(works, { timeoutMs: 30_000 })).toBe(true);
    expect(await queueIs('ok')).toBe(true);
  });

  it('keeps a caller that was accepted just before, and answers it', async () => {
    const call = platform.call('/v1/images/generations', { body: { ...REQUEST, prompt: 'held [[latency=12s]]' } });
    expect(await waitUntil(async () => (await running()) > 0, { timeoutMs: 20_000 })).toBe(true);
    await redis.stop();
    redis = await start();
    expect((await call).status).toBe(200);
  });

  it('accepts what it can’t enqueue, because the row is enough', async () => {
    const { rows } = await platform.pool.query<{ id: string }>(
      `INSERT INTO tasks (id, account_id, api_key_id, request_id, action, model, prompt, options, created_at, deadline_at)
       SELECT 'task_00000000000000000000000001', account_id, id, 'req', 'generation', 'gpt-image-2', 'never enqueued', $1,
         now() - interval '5 minutes', now() + interval '5 minutes' FROM api_keys LIMIT 1 RETURNING id`,
      [{ size: '1:1', resolution: '1k', pixels: { width: 1024, height: 1024 }, outputFormat: 'png' }],
    );
    const read = async (): Promise<string> => {
      const response = await platform.call(`/v1/tasks/${rows[0]?.id ?? ''}`);
      return ((await response.json()) as { data: { status: string } }).data.status;
    };
    expect(await waitUntil(async () => (await read()) === 'completed', { timeoutMs: 90_000 })).toBe(true);
  });

  it('says so when Redis may evict jobs, and goes on answering', async () => {
    const admin = new Redis(redis.url);
    await admin.config('SET', 'maxmemory-policy', 'allkeys-lru');
    const isSaid = await queueIs('failing');
    const answer = await platform.call('/readyz');
    await admin.config('SET', 'maxmemory-policy', 'noeviction');
    admin.disconnect();
    expect(isSaid).toBe(true);
    expect([answer.status, await answer.json()]).toMatchObject([200, { status: 'ready', reasons: [] }]);
    const told = (): boolean => platform.api.output().includes('maxmemory-policy is allkeys-lru');
    expect(await waitUntil(told, { timeoutMs: 30_000 })).toBe(true);
    expect(await queueIs('ok')).toBe(true);
  });

  it('turns new work away when Redis is out of memory, and takes it again afterwards', async () => {
    const admin = new Redis(redis.url);
    await admin.config('SET', 'maxmemory', '1');
    const refused = async (): Promise<boolean> => {
      const response = await platform.call('/v1/images/generations', {
        body: { ...REQUEST, prompt: 'no room' },
        headers: { prefer: 'respond-async' },
      });
      await response.text();
      return response.status === 503;
    };
    expect(await waitUntil(refused, { timeoutMs: 20_000 })).toBe(true);
    await admin.config('SET', 'maxmemory', '0');
    admin.disconnect();
    expect(await waitUntil(works, { timeoutMs: 30_000 })).toBe(true);
    // What was accepted before the refusal was known is not lost.
    expect(await waitUntil(async () => (await pending()) === 0, { timeoutMs: 60_000 })).toBe(true);
  });

  /** Readiness reads what is looked at once in a while; every process shares its Redis, so none leaves its pool. */
  function queueIs(state: string): Promise<boolean> {
    const found = async (): Promise<boolean> => {
      const answer = await platform.call('/readyz');
      expect(answer.status).toBe(200);
      return (
        ((await answer.json()) as { dependencies: { queue: { state: string } } }).dependencies.queue.state === state
      );
    };
    return waitUntil(found, { timeoutMs: 20_000 });
  }

  async function running(): Promise<number> {
    const { rows } = await platform.pool.query(`SELECT 1 FROM tasks WHERE phase = 'running'`);
    return rows.length;
  }

  async function pending(): Promise<number> {
    const { rows } = await platform.pool.query(`SELECT 1 FROM tasks WHERE status = 'pending'`);
    return rows.length;
  }
});
