import { Redis } from 'ioredis';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { waitUntil } from '#embedded/wait-until.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { startApi, startWorker, type TestProcess } from '../support/processes.js';

interface TaskBody {
  data: { status: string; progress: number; error?: { code: string }; result?: { images: { url: string[] }[] } };
}

/** Two APIs and three workers that share a database and a Redis, and nothing else. */
describe('several processes', () => {
  let platform: Platform;
  let otherApi: TestProcess;
  let workers: TestProcess[];
  let redis: Redis;

  beforeAll(async () => {
    platform = await startPlatform({ SWEEP_INTERVAL_MS: '500', WORKER_CONCURRENCY: '4' });
    [otherApi, ...workers] = await Promise.all([
      startApi(platform.settings),
      startWorker(platform.settings),
      startWorker(platform.settings),
    ]);
    redis = new Redis(platform.settings['REDIS_URL'] ?? '');
  });
  afterAll(async () => {
    redis.disconnect();
    await Promise.all([otherApi, ...workers].map((process) => process.stop()));
    await platform.close();
  });

  async function submit(api: string, prompt: string): Promise<string> {
    const response = await fetch(`${api}/v1/images/generations/async`, {
      method: 'POST',
      headers: { authorization: `Bearer ${platform.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-image-2', prompt, resolution: '1k' }),
    });
    expect(response.status).toBe(202);
    return ((await response.json()) as { task_id: string }).task_id;
  }

  async function read(id: string, api = platform.url): Promise<TaskBody['data']> {
    const response = await fetch(`${api}/v1/tasks/${id}`, { headers: { authorization: `Bearer ${platform.key}` } });
    return ((await response.json()) as TaskBody).data;
  }

  async function ended(ids: readonly string[], timeoutMs = 60_000): Promise<string[]> {
    const statuses = async (): Promise<string[]> => Promise.all(ids.map(async (id) => (await read(id)).status));
    await waitUntil(async () => !(await statuses()).includes('pending'), { timeoutMs, everyMs: 200 });
    return statuses();
  }

  async function startsOf(ids: readonly string[]): Promise<number[]> {
    const { rows } = await platform.pool.query<{ provider_starts: number }>(
      'SELECT provider_starts FROM tasks WHERE id = ANY($1)',
      [ids],
    );
    return rows.map((row) => row.provider_starts);
  }

  /** Until the work is over, all workers but those that a test has started stand still, so that these get tasks. */
  async function whileOthersStand<T>(work: () => Promise<T>): Promise<T> {
    const others = [platform.worker, ...workers];
    for (const worker of others) worker.kill('SIGSTOP');
    return await work().finally(() => {
      for (const worker of others) worker.kill('SIGCONT');
    });
  }

  /** As if they had run out: leases that do so soon would be lost by every worker that stalls. */
  async function endLeases(): Promise<void> {
    await platform.pool.query('UPDATE tasks SET lease_until = now() WHERE lease_until IS NOT NULL');
  }

  it('share the work: whoever accepts, every task is done once and read everywhere', async () => {
    const apis = [platform.url, otherApi.url];
    // Otherwise it may have done all of them before another one has begun.
    platform.worker.kill('SIGSTOP');
    const ids = await Promise.all(
      Array.from({ length: 24 }, (_, n) => submit(apis[n % 2] ?? platform.url, `shared ${n} [[latency=300ms]]`)),
    );
    const busy = () => workers.some((worker) => worker.logs().some((line) => line['event'] === 'task.completed'));
    expect(await waitUntil(busy, { timeoutMs: 30_000 })).toBe(true);
    platform.worker.kill('SIGCONT');
    expect(new Set(await ended(ids))).toEqual(new Set(['completed']));
    expect(await startsOf(ids)).toEqual(ids.map(() => 1));
    const elsewhere = await read(ids[0] ?? '', otherApi.url);
    expect((await fetch(elsewhere.result?.images[0]?.url[0] ?? '')).status).toBe(200);
  });

  it('answer a caller that waits at one API when its task is done by any worker', async () => {
    const calls = [platform.url, otherApi.url].map((api) =>
      fetch(`${api}/v1/images/generations`, {
        method: 'POST',
        headers: { authorization: `Bearer ${platform.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'gpt-image-2', prompt: 'waited for', resolution: '1k' }),
      }),
    );
    expect((await Promise.all(calls)).map((response) => response.status)).toEqual([200, 200]);
  });

  it('finish what a killed worker had in hand, without losing or doubling a task', async () => {
    const victim = await startWorker(platform.settings);
    const ids = await whileOthersStand(async () => {
      const submitted = Array.from({ length: 16 }, (_, n) => submit(platform.url, `hold ${n} [[latency=8s]]`));
      await victim.logged('task.claimed');
      victim.kill('SIGKILL');
      expect(await victim.exited).toMatchObject({ signal: 'SIGKILL' });
      await endLeases();
      return await Promise.all(submitted);
    });
    expect(new Set(await ended(ids))).toEqual(new Set(['completed']));
    for (const starts of await startsOf(ids)) expect(starts).toBeLessThanOrEqual(2);
    expect(await objectsOf(ids)).toEqual(ids.map(() => 1));
  });

  it('throw away what a frozen worker brings too late', async () => {
    const frozen = await startWorker({ ...platform.settings, WORKER_CONCURRENCY: '1' });
    const ids = await whileOthersStand(async () => {
      const submitted = Array.from({ length: 8 }, (_, n) => submit(platform.url, `freeze ${n} [[latency=12s]]`));
      await frozen.logged('task.claimed');
      frozen.kill('SIGSTOP');
      await endLeases();
      return await Promise.all(submitted);
    });
    expect(new Set(await ended(ids))).toEqual(new Set(['completed']));
    frozen.kill('SIGCONT');
    const noticed = (): boolean => /"task\.(lease_lost|result_discarded)"/.test(frozen.output());
    expect(await waitUntil(noticed, { timeoutMs: 30_000 })).toBe(true);
    expect(await frozen.stop()).toMatchObject({ code: 0 });
    expect(await objectsOf(ids)).toEqual(ids.map(() => 1));
  });

  it('release at once what does not fit into the grace time', async () => {
    const leaving = await startWorker({ ...platform.settings, SHUTDOWN_GRACE_MS: '200', WORKER_CONCURRENCY: '8' });
    const ids = await whileOthersStand(async () => {
      const submitted = Array.from({ length: 16 }, (_, n) => submit(platform.url, `move ${n} [[latency=8s]]`));
      await leaving.logged('task.claimed');
      expect(await leaving.stop()).toMatchObject({ code: 0 });
      return await Promise.all(submitted);
    });
    expect(leaving.logs().some((line) => line['event'] === 'task.given_back')).toBe(true);
    expect(new Set(await ended(ids))).toEqual(new Set(['completed']));
  });

  it('end every accepted task after Redis has lost everything', async () => {
    const ids = await Promise.all(
      Array.from({ length: 30 }, (_, n) => submit(platform.url, `lost ${n} [[latency=8s]]`)),
    );
    const keys = await redis.keys(`${platform.settings['REDIS_PREFIX'] ?? ''}*`);
    expect(keys.some((key) => key.includes(':images:task_'))).toBe(true);
    await redis.unlink(keys);
    // What is enqueued again is older than every limit of the database.
    await platform.pool.query(
      `UPDATE tasks SET created_at = created_at - interval '5 minutes' WHERE status = 'pending'`,
    );
    expect(new Set(await ended(ids, 90_000))).toEqual(new Set(['completed']));
    for (const starts of await startsOf(ids)) expect(starts).toBeLessThanOrEqual(2);
  });

  it('give up a task that kills every worker that takes it', async () => {
    await Promise.all([platform.worker, ...workers].map((worker) => worker.stop()));
    // One that stalled for longer would only be another that lost it.
    const settings = { ...platform.settings, LEASE_MS: '6000' };
    const doomed = await Promise.all(Array.from({ length: 4 }, () => startWorker(settings)));
    const id = await submit(platform.url, 'poison [[fault=crash-after-accept]]');
    // Three die in all, whichever they are; the fourth fails it, like one that a supervisor starts.
    const [status] = await ended([id], 90_000);
    expect(status).toBe('failed');
    expect((await read(id)).error?.code).toBe('interrupted');
    expect((await startsOf([id]))[0]).toBeLessThanOrEqual(3);
    await Promise.all(doomed.map((worker) => worker.stop()));
  });

  /** How many images lie there for each task; a small copy counts as what it is made from. */
  async function objectsOf(ids: readonly string[]): Promise<number[]> {
    const names = await readdir(join(platform.settings['DATA_DIR'] ?? '', 'objects', 'results'));
    return ids.map((id) => new Set(names.filter((name) => name.startsWith(id)).map((name) => name.split('.')[0])).size);
  }
});
