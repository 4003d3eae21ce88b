import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from '../support/free-port.js';
import { waitUntil } from '#embedded/wait-until.js';
import { plainImage } from '../support/image-provider-suite.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { startWorker } from '../support/processes.js';
import { apiError, image, startUpstream, type ScriptedUpstream } from '../support/scripted-upstream.js';

const KEY_A = 'sk-first-0c9a7be21d';
const KEY_B = 'sk-second-7718e0f3aa';

interface Step {
  readonly event: string;
  readonly at: number;
  readonly provider?: string;
  readonly [more: string]: unknown;
}

interface TaskData {
  readonly id: string;
  readonly status: string;
  readonly phase: string;
  readonly charged?: string;
  readonly sizes?: { readonly sent: string };
  readonly result?: { readonly images: readonly { readonly size: string }[] };
  readonly timeline?: readonly Step[];
}

/** Images by the routes of a models.yaml, with real processes and servers. */
describe('images by the routes of the catalog', () => {
  let platform: Platform;
  let [first, second]: ScriptedUpstream[] = [];
  let firstPort = 0;
  let secondPort = 0;
  let folder: string;
  let png: Buffer;

  /** Where gpt-image-2 comes from, by one line of the file. */
  const catalog = (routes: string): string => `providers:
  first: { type: openai, base_url: "http://127.0.0.1:${firstPort}/v1", keys: [{ name: team-a, env: KEY_A }] }
  second: { type: openai, base_url: "http://127.0.0.1:${secondPort}/v1", keys: [{ name: team-b, env: KEY_B }] }
  drawn: { type: sandbox }
  narrow: { type: sandbox, limits: { concurrency: 1 } }
models:
  gpt-image-2: { kind: image, routes: [${routes}] }
  sketch: { kind: image, routes: [{ provider: drawn }] }
  single: { kind: image, routes: [{ provider: narrow }] }
`;
  const write = (routes: string): Promise<void> => writeFile(join(folder, 'models.yaml'), catalog(routes));
  const BOTH = '{ provider: first }, { provider: second, model: theirs }';

  beforeAll(async () => {
    [firstPort, secondPort] = [await freePort(), await freePort()];
    [first, second] = [await startUpstream(firstPort), await startUpstream(secondPort)];
    png = await plainImage(1024, 1024);
    folder = await mkdtemp(join(tmpdir(), 'darkroom-routes-'));
    await write(BOTH);
    platform = await startPlatform({
      MODELS_FILE: join(folder, 'models.yaml'),
      SWEEP_INTERVAL_MS: '500',
      KEY_A,
      KEY_B,
    });
  });
  afterAll(async () => {
    await platform.close();
    await Promise.all([first?.close(), second?.close()]);
    await rm(folder, { recursive: true, force: true });
  });
  beforeEach(() => {
    for (const upstream of [first, second]) upstream?.script(image(png));
  });

  async function read(id: string, query = '?include=timeline'): Promise<TaskData> {
    return ((await (await platform.call(`/v1/tasks/${id}${query}`)).json()) as { data: TaskData }).data;
  }

  const calls = (task: TaskData): readonly Step[] =>
    (task.timeline ?? []).filter(({ event }) => event === 'provider_call');

  /** Makes an image and answers with its task. */
  async function make(fields: object = {}): Promise<TaskData> {
    const body = { model: 'gpt-image-2', prompt: 'a pear', size: '1:1', resolution: '1k', ...fields };
    const response = await platform.call('/v1/images/generations', { body });
    // A caller that leaves before the end of an answer has its task given to the next equal request.
    await response.arrayBuffer();
    return await read(response.headers.get('x-task-id') ?? '');
  }

  async function submit(prompt: string, model = 'sketch'): Promise<string> {
    const body = { model, prompt, resolution: '1k' };
    const response = await platform.call('/v1/images/generations/async', { body });
    return ((await response.json()) as { task_id: string }).task_id;
  }

  const reaches = (id: string, status: string): Promise<boolean> =>
    waitUntil(async () => (await read(id, '')).status === status, { timeoutMs: 90_000 });

  it('go on at the next provider while one is away, and come back to it', async () => {
    expect(calls(await make())).toMatchObject([{ provider: 'first' }]);
    await first?.close();
    const task = await make();
    expect(task.status).toBe('completed');
    const steps = task.timeline ?? [];
    expect(steps.map(({ event }) => event)).toEqual([
      ...['accepted', 'started', 'provider_call', 'provider_call', 'completed'],
    ]);
    expect(steps.map(({ at }) => at)).toEqual(steps.map(({ at }) => at).sort((a, b) => a - b));
    const [failed, succeeded] = calls(task);
    expect(failed).toEqual({
      event: 'provider_call',
      at: expect.any(Number),
      provider: 'first',
      key: 'team-a',
      model: 'gpt-image-2',
      ended: expect.any(Number),
      outcome: 'failed',
      code: 'upstream_error',
      charged: 'no',
    });
    expect(succeeded).toMatchObject({ provider: 'second', key: 'team-b', model: 'theirs', outcome: 'succeeded' });
    expect(second?.calls.at(-1)?.headers.authorization).toBe(`Bearer ${KEY_B}`);
    const { rows } = await platform.pool.query('SELECT attempt FROM tasks WHERE id = $1', [task.id]);
    expect(rows).toEqual([{ attempt: 1 }]);
    first = await startUpstream(firstPort);
    first.script(image(png));
    expect(calls(await make())).toMatchObject([{ provider: 'first' }]);
  });

  it('come from another provider once one line of the file is changed, without a restart', async () => {
    await write('{ provider: second, model: theirs }');
    const moved = async (): Promise<boolean> => calls(await make())[0]?.provider === 'second';
    expect(await waitUntil(moved, { timeoutMs: 20_000 })).toBe(true);
    await write('{ provider: drawn }');
    const drawn = async (): Promise<boolean> => calls(await make())[0]?.provider === 'drawn';
    expect(await waitUntil(drawn, { timeoutMs: 20_000 })).toBe(true);
    await write(BOTH);
    const back = async (): Promise<boolean> => calls(await make())[0]?.provider === 'first';
    expect(await waitUntil(back, { timeoutMs: 20_000 })).toBe(true);
  });

  it('are asked for in a size that the route has, and delivered in the one that was ordered', async () => {
    await write('{ provider: first, capabilities: { sizes: [1536x1024] } }');
    const sent = async (): Promise<boolean> => (await make()).sizes?.sent === '1536x1024';
    expect(await waitUntil(sent, { timeoutMs: 20_000 })).toBe(true);
    expect(JSON.parse(first?.calls.at(-1)?.body.toString() ?? '{}')).toMatchObject({ size: '1536x1024' });
    expect((await make()).result?.images).toMatchObject([{ size: '1024x1024' }]);
    await write(BOTH);
    expect(await waitUntil(async () => !(await sent()), { timeoutMs: 20_000 })).toBe(true);
  });

  it('are made of every image model of the file', async () => {
    expect(calls(await make({ model: 'sketch' }))).toMatchObject([{ provider: 'drawn', key: null, charged: 'no' }]);
  });

  it('tell their story in every state, to their owner alone and without a secret', async () => {
    first?.script(apiError(400, { code: 'moderation_blocked' }));
    const refused = await make();
    expect(refused.timeline?.at(-1)).toMatchObject({ event: 'failed' });
    expect(calls(refused)).toMatchObject([{ outcome: 'failed', code: 'moderation_blocked', charged: 'no' }]);
    const id = await submit('slow [[latency=60s]]');
    const running = async (): Promise<boolean> => calls(await read(id))[0]?.['outcome'] === 'running';
    expect(await waitUntil(running, { timeoutMs: 20_000 })).toBe(true);
    const answer = await platform.call(`/v1/tasks/${id}?include=timeline`);
    const text = await answer.text();
    expect([KEY_A, KEY_B].filter((secret) => text.includes(secret))).toEqual([]);
    await platform.call(`/v1/tasks/${id}/cancel`, { method: 'POST' });
    const cancelled = await read(id);
    expect(cancelled.timeline?.map(({ event }) => event)).toEqual([
      'accepted',
      'started',
      'provider_call',
      'cancelled',
    ]);
    expect(calls(cancelled)).toMatchObject([{ outcome: 'unknown', charged: 'no' }]);
    expect(await read(id, '')).not.toHaveProperty('timeline');
    const stranger = await platform.newKey({}, await platform.newAccount());
    const others = await platform.call(`/v1/tasks/${id}?include=timeline`, { key: stranger });
    expect(others.status).toBe(404);
    const unknown = await platform.call(`/v1/tasks/${id}?include=prompt`);
    expect(unknown.status).toBe(400);
    expect(await unknown.json()).toMatchObject({ error: { code: 'invalid_value', param: 'include' } });
  });

  it('leave room for others when they are cancelled while they wait', async () => {
    const parked = await submit('a heron [[pending=600s]]', 'single');
    await platform.worker.logged('task.parked');
    const runs = async (): Promise<boolean> => (await read(parked, '')).phase === 'running';
    expect(await waitUntil(runs, { timeoutMs: 20_000 })).toBe(true);
    const { REDIS_URL = '', REDIS_PREFIX = '' } = platform.settings;
    const redis = new Redis(REDIS_URL);
    // Nothing but another call would look at the slots otherwise.
    const hasSlot = async (): Promise<boolean> =>
      (await redis.zscore(`${REDIS_PREFIX}:gate:narrow:calls`, parked)) !== null;
    expect(await hasSlot()).toBe(true);
    await platform.call(`/v1/tasks/${parked}/cancel`, { method: 'POST' });
    const isFree = await waitUntil(async () => !(await hasSlot()), { timeoutMs: 30_000 });
    redis.disconnect();
    expect(isFree).toBe(true);
    expect(await reaches(await submit('an owl', 'single'), 'completed')).toBe(true);
  });

  it('wait for a slow provider without a worker, through a crash of the worker and the loss of all jobs', async () => {
    const id = await submit('a heron [[pending=15s]]');
    const isParked = (): boolean =>
      platform.worker.logs().some(({ event, taskId }) => event === 'task.parked' && taskId === id);
    expect(await waitUntil(isParked, { timeoutMs: 15_000 })).toBe(true);
    expect(await read(id)).toMatchObject({ status: 'pending', phase: 'running' });
    platform.worker.kill('SIGKILL');
    await platform.worker.exited;
    const { REDIS_URL = '', REDIS_PREFIX = '' } = platform.settings;
    const redis = new Redis(REDIS_URL);
    const keys = await redis.keys(`${REDIS_PREFIX}*`);
    await redis.unlink(...keys);
    redis.disconnect();
    const next = await startWorker(platform.settings);
    expect(await reaches(id, 'completed')).toBe(true);
    expect(calls(await read(id))).toMatchObject([
      { provider: 'drawn', upstream_id: `sandbox-${id}`, outcome: 'succeeded', charged: 'no' },
    ]);
    const { rows } = await platform.pool.query('SELECT provider_starts, losses FROM tasks WHERE id = $1', [id]);
    expect(rows).toEqual([{ provider_starts: 1, losses: expect.any(Number) }]);
    const parked = await submit('never [[pending=600s]]');
    const runs = async (): Promise<boolean> => (await read(parked, '')).phase === 'running';
    expect(await waitUntil(runs, { timeoutMs: 20_000 })).toBe(true);
    await platform.call(`/v1/tasks/${parked}/cancel`, { method: 'POST' });
    expect(await read(parked)).toMatchObject({ status: 'cancelled', charged: 'none' });
    await next.stop();
  });
});
