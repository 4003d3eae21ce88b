import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent, get, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from '#embedded/wait-until.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { startApi, startUnreachedWorker, startWorker, type TestProcess } from '../support/processes.js';

/** Nobody listens there. */
const NOBODY = 'http://127.0.0.1:1/v1';
const REQUEST = { model: 'gpt-image-2', resolution: '1k' };

describe('stopping an API process', () => {
  let platform: Platform;

  beforeAll(async () => {
    platform = await startPlatform();
  });
  afterAll(() => platform.close());

  async function holdCall(graceMs: string, prompt: string) {
    const api = await startApi({ ...platform.settings, SHUTDOWN_GRACE_MS: graceMs });
    const call = fetch(`${api.url}/v1/images/generations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${platform.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...REQUEST, prompt }),
    });
    const isHeld = async (): Promise<boolean> =>
      (await platform.pool.query('SELECT 1 FROM tasks WHERE prompt = $1', [prompt])).rows.length > 0;
    while (!(await isHeld()));
    return { api, call };
  }

  it('lets a held caller have its image and ends by itself', async () => {
    // Longer than the test waits for the process: it must end because it is done, not because its time is over.
    const { api, call } = await holdCall('120000', 'held [[latency=2s]]');
    const exit = api.stop();
    expect((await call).status).toBe(200);
    expect(await exit).toMatchObject({ code: 0 });
  });

  it('answers a caller that would outlast the grace time with the id of its task', async () => {
    const { api, call } = await holdCall('1500', 'held for long [[latency=60s]]');
    const exit = api.stop();
    const response = await call;
    expect(response.status).toBe(504);
    const { error } = (await response.json()) as { error: { code: string; task_id: string } };
    expect(error.code).toBe('still_running');
    const cancelled = await platform.call(`/v1/tasks/${error.task_id}/cancel`, { method: 'POST' });
    expect(await cancelled.json()).toMatchObject({ data: { status: 'cancelled' } });
    expect(await exit).toMatchObject({ code: 0 });
  });

  it('answers such a caller although it was stalled until after the grace time', async () => {
    const { api, call } = await holdCall('3000', 'held and stalled [[latency=60s]]');
    api.kill('SIGTERM');
    // Not ready, or with its door closed.
    const isStopping = (): Promise<boolean> =>
      fetch(`${api.url}/readyz`).then(
        ({ status }) => status === 503,
        () => true,
      );
    expect(await waitUntil(isStopping, { timeoutMs: 20_000, everyMs: 5 })).toBe(true);
    api.kill('SIGSTOP');
    const until = performance.now() + 4_000;
    expect(await waitUntil(() => performance.now() > until, { timeoutMs: 20_000 })).toBe(true);
    api.kill('SIGCONT');
    expect((await call).status).toBe(504);
    expect(await api.exited).toMatchObject({ code: 0 });
  });

  it('says that it is not ready while it still takes what arrives', async () => {
    const api = await startApi({ ...platform.settings, SHUTDOWN_DELAY_MS: '15000' });
    const exit = api.stop();
    const look = async (): Promise<number> => (await fetch(`${api.url}/readyz`)).status;
    while ((await look()) !== 503);
    const late = await fetch(`${api.url}/v1/models`, { headers: { authorization: `Bearer ${platform.key}` } });
    expect(late.status).toBe(200);
    expect(await exit).toMatchObject({ code: 0 });
  });

  it('ends every connection with its next answer while it stops, so that no later request meets a closed one', async () => {
    const api = await startApi({ ...platform.settings, SHUTDOWN_DELAY_MS: '15000' });
    const kept = new Agent({ keepAlive: true, maxSockets: 1 });
    const ask = async (path: string): Promise<IncomingMessage> => {
      const [answer] = (await once(get(`${api.url}${path}`, { agent: kept }), 'response')) as [IncomingMessage];
      return answer.resume();
    };
    expect((await ask('/healthz')).headers.connection).toBe('keep-alive');
    const exit = api.stop();
    let answer: IncomingMessage;
    do answer = await ask('/readyz');
    while (answer.statusCode !== 503);
    expect(answer.headers.connection).toBe('close');
    expect(await exit).toMatchObject({ code: 0 });
    kept.destroy();
  });

  it('ends a worker at once that has nothing in hand, however long its provider’s calls may take', async () => {
    const worker = await startWorker({ ...platform.settings, OPENAI_API_KEY: 'sk-nobody', OPENAI_BASE_URL: NOBODY });
    // It answers its probes a moment before it hears SIGTERM.
    await worker.logged('worker.started');
    // One that waited for its grace time, over ten minutes, would be ended by force.
    expect(await worker.stop()).toMatchObject({ code: 0, signal: null });
  });

  it('says of a worker whose grace time is shorter than a call of its catalog, which may change while it runs', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'darkroom-grace-'));
    const catalog = (timeoutMs: number): string =>
      [
        `providers: { far: { type: openai, base_url: "${NOBODY}", options: { total_timeout_ms: ${timeoutMs} } } }`,
        'models: { gpt-image-2: { kind: image, routes: [{ provider: far }] } }',
      ].join('\n');
    const file = join(folder, 'models.yaml');
    const settings = { ...platform.settings, MODELS_FILE: file, SHUTDOWN_GRACE_MS: '870000' };
    const start = async (timeoutMs: number): Promise<TestProcess> => {
      await writeFile(file, catalog(timeoutMs));
      const worker = await startWorker(settings);
      await worker.logged('worker.started');
      return worker;
    };
    const said = (worker: TestProcess): unknown[] =>
      worker
        .logs()
        .filter(({ event }) => event === 'shutdown.grace_short')
        .map(({ level, reason }) => [level, /may take (\d+) ms/.exec(String(reason))?.[1]]);
    const short = await start(900_000);
    await short.logged('shutdown.grace_short');
    expect(said(short)).toEqual([['warn', '900000']]);
    const worker = await start(840_000);
    expect(said(worker)).toEqual([]);
    await writeFile(file, catalog(1_800_000));
    await worker.logged('shutdown.grace_short');
    expect(said(worker)).toEqual([['warn', '1800000']]);
    await Promise.all([short.stop(), worker.stop()]);
    await rm(folder, { recursive: true });
  });

  it('refuses to start in production with a secret that can be guessed, and names it', async () => {
    const settings = { ...platform.settings, NODE_ENV: 'production', SECRET_KEY: 'a'.repeat(40) };
    await expect(startApi(settings)).rejects.toThrow(/SECRET_KEY is easy to guess/);
    await expect(startApi({ ...platform.settings, SECRET_KEY: undefined })).rejects.toThrow(/SECRET_KEY is required/);
  });
});

it('a worker that has never reached Redis logs JSON lines alone, and ends soon, however long its grace time is', async () => {
  const worker = await startUnreachedWorker({
    DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none',
    REDIS_URL: 'redis://127.0.0.1:1',
    SECRET_KEY: 'nothing is signed or encrypted with it',
    SHUTDOWN_GRACE_MS: '870000',
  });
  const exit = worker.stop();
  expect(await worker.logged('shutdown.cut_short')).toMatchObject({
    level: 'warn',
    reason: expect.stringContaining('no task or delivery is running'),
  });
  // By itself: by force, after 30 s, there would be a signal.
  expect(await exit).toMatchObject({ code: 0, signal: null });
  const lines = worker.output().trimEnd().split('\n');
  expect(lines.filter((line) => !line.startsWith('{'))).toEqual([]);
  // BullMQ repeats its error with every try; each of the three queues logs it once.
  const errors = worker.logs().filter(({ event }) => event === 'queue.error');
  expect(errors.map(({ level, error }) => [level, (error as Error).message])).toEqual([
    ['warn', 'connect ECONNREFUSED 127.0.0.1:1'],
    ['warn', 'connect ECONNREFUSED 127.0.0.1:1'],
    ['warn', 'connect ECONNREFUSED 127.0.0.1:1'],
  ]);
});
