import { Redis } from 'ioredis';
import { waitUntil } from '#embedded/wait-until.js';
import { readEvents } from '../support/event-source.js';
import { patient } from '../support/patience.js';
import { startPlatform, type CallOptions, type Platform } from '../support/platform.js';
import { startApi, type TestProcess } from '../support/processes.js';

const GENERATIONS = '/v1/images/generations';
const PHASES = ['queued', 'running', 'storing', 'done'];

interface TaskData {
  id: string;
  status: string;
  phase: string;
  progress: number;
}

/** Two APIs and one worker: what is followed at one was accepted at the other and is done elsewhere. */
describe('following tasks', () => {
  let platform: Platform;
  let otherApi: TestProcess;

  beforeAll(async () => {
    platform = await startPlatform();
    otherApi = await startApi(platform.settings);
  });
  afterAll(async () => {
    await otherApi.stop();
    await platform.close();
  });

  async function submit(prompt: string, key?: string): Promise<string> {
    const options: CallOptions = { body: { model: 'gpt-image-2', prompt, resolution: '1k' } };
    const response = await platform.call(`${GENERATIONS}/async`, key === undefined ? options : { ...options, key });
    expect(response.status).toBe(202);
    return ((await response.json()) as { task_id: string }).task_id;
  }

  const follow = (path: string, signal = AbortSignal.timeout(patient(60_000))): Promise<Response> =>
    fetch(`${otherApi.url}/v1/tasks/${path}`, { headers: { authorization: `Bearer ${platform.key}` }, signal });

  async function poll(path: string): Promise<TaskData> {
    const response = await follow(path);
    expect(response.status).toBe(200);
    return ((await response.json()) as { data: TaskData }).data;
  }

  const cancel = (id: string): Promise<Response> => platform.call(`/v1/tasks/${id}/cancel`, { method: 'POST' });

  async function running(id: string): Promise<void> {
    while ((await poll(id)).phase !== 'running');
  }

  async function streamed(id: string): Promise<TaskData[]> {
    const seen: TaskData[] = [];
    const response = await follow(`${id}/events`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
    expect(response.headers.get('cache-control')).toContain('no-store');
    expect(response.headers.get('x-accel-buffering')).toBe('no');
    expect(response.headers.get('x-request-id')).toMatch(/^req_/);
    for await (const { event, data, comment } of readEvents(response)) {
      if (comment !== undefined) continue;
      expect(event).toBe('task.updated');
      expect(data).toMatchObject({ code: 200, data: { id } });
      seen.push((data as { data: TaskData }).data);
    }
    return seen;
  }

  it('holds a poll until the phase or status changes, however long was asked for', async () => {
    const id = await submit('polled [[latency=3s]]');
    const phases: string[] = [];
    do phases.push((await poll(`${id}?wait=60`)).phase);
    while (phases.at(-1) !== 'done');
    // Each answer is a change, unless a poll began when the task had just moved.
    expect(phases.length).toBeLessThanOrEqual(PHASES.length);
    expect(phases).toEqual(phases.toSorted((a, b) => PHASES.indexOf(a) - PHASES.indexOf(b)));
    expect(await poll(`${id}?wait=60`)).toMatchObject({ status: 'completed', progress: 100 });
  });

  it('answers a held poll as the task is when its time is over', async () => {
    const id = await submit('slower than the poll [[latency=60s]]');
    await running(id);
    const before = performance.now();
    expect(await poll(`${id}?wait=1`)).toMatchObject({ status: 'pending', phase: 'running' });
    expect(performance.now() - before).toBeGreaterThan(990);
    await cancel(id);
  });

  it.each(['0', '61', 'x', '1&wait=2'])('refuses to wait %s seconds', async (wait) => {
    const id = await submit('refused');
    const response = await follow(`${id}?wait=${wait}`);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: 400, error: { code: 'invalid_value', param: 'wait' } });
  });

  it('streams every step to the end, never backwards', async () => {
    const rung: string[] = [];
    const redis = new Redis(platform.settings['REDIS_URL'] ?? '');
    redis.on('message', (_channel, message: string) => rung.push(message));
    await redis.subscribe(`${platform.settings['REDIS_PREFIX'] ?? ''}:tasks:changed`);
    // It begins once somebody follows it, so that most of its steps are seen.
    platform.worker.kill('SIGSTOP');
    const id = await submit('streamed [[latency=12s]]');
    const stream = streamed(id);
    const isWatched = (line: Record<string, unknown>): boolean =>
      line['event'] === 'task.watched' && line['taskId'] === id;
    const areWatching = await waitUntil(() => otherApi.logs().some(isWatched), { timeoutMs: 15_000 });
    platform.worker.kill('SIGCONT');
    expect(areWatching).toBe(true);
    const seen = await stream;
    // One event for each step that was written: claimed, progress, storing.
    const isRung = (): boolean => rung.filter((message) => message === id).length >= 4;
    expect(await waitUntil(isRung, { timeoutMs: 15_000 })).toBe(true);
    redis.disconnect();
    const progress = seen.map((look) => look.progress);
    expect(progress).toEqual(progress.toSorted((a, b) => a - b));
    // Queued or just begun, some of the provider's steps, stored, done.
    expect(new Set(progress).size).toBeGreaterThanOrEqual(4);
    expect(seen.filter((look) => look.progress === 100)).toEqual([seen.at(-1)]);
    expect(seen.at(-1)).toMatchObject({ status: 'completed', phase: 'done', result: { images: [expect.anything()] } });
    const phases = seen.map(({ phase }) => PHASES.indexOf(phase));
    expect(phases).toEqual(phases.toSorted((a, b) => a - b));
    expect(await streamed(id)).toMatchObject([{ status: 'completed', progress: 100 }]);
  });

  it('says what failed as the last event', async () => {
    const seen = await streamed(await submit('[[fault=moderation]]'));
    expect(seen.at(-1)).toMatchObject({ status: 'failed', error: { code: 'moderation_blocked' } });
  });

  it('gives a stream up when its caller leaves', async () => {
    const id = await submit('left [[latency=60s]]');
    const leave = new AbortController();
    const response = await follow(`${id}/events`, leave.signal);
    const events = readEvents(response);
    // The comment that takes the headers along, then the task as it is.
    expect((await events.next()).value).toMatchObject({ comment: 'ping' });
    expect((await events.next()).value).toMatchObject({ event: 'task.updated' });
    leave.abort();
    const left = (line: Record<string, unknown>): boolean =>
      line['event'] === 'task.unwatched' && line['taskId'] === id;
    expect(await waitUntil(() => otherApi.logs().some(left), { timeoutMs: 15_000 })).toBe(true);
    expect((await poll(id)).status).toBe('pending');
    await cancel(id);
  });

  it('ends streams and held polls when the process stops, long before its grace time is over', async () => {
    const api = await startApi({ ...platform.settings, SHUTDOWN_GRACE_MS: '120000' });
    const id = await submit('outlives its watchers [[latency=60s]]');
    await running(id);
    const headers = { authorization: `Bearer ${platform.key}` };
    const stream = await fetch(`${api.url}/v1/tasks/${id}/events`, { headers });
    const events = readEvents(stream);
    expect((await events.next()).done).toBe(false);
    const held = fetch(`${api.url}/v1/tasks/${id}?wait=60`, { headers });
    const watched = (): number => api.logs().filter((line) => line['event'] === 'task.watched').length;
    expect(await waitUntil(() => watched() === 2, { timeoutMs: 15_000 })).toBe(true);
    const exit = api.stop();
    expect(await (await held).json()).toMatchObject({ data: { id, status: 'pending' } });
    for await (const { data } of events) expect(data).toMatchObject({ data: { status: 'pending' } });
    expect(await exit).toMatchObject({ code: 0 });
    await cancel(id);
  });

  it('reads many at once, and lists what is not yours like what is not', async () => {
    const mine = [await submit('first'), await submit('second')];
    const foreign = await submit('foreign', await platform.newKey({}, await platform.newAccount()));
    const [first = '', second = ''] = mine;
    const unknown = `${first.slice(0, -1)}${first.endsWith('0') ? '1' : '0'}`;
    const ids = [second, foreign, first, 'nonsense', unknown, second];
    const response = await platform.call('/v1/tasks/batch', { body: { task_ids: ids } });
    expect(response.status).toBe(200);
    const { code, data, missing } = (await response.json()) as { code: number; data: TaskData[]; missing: string[] };
    expect(code).toBe(200);
    expect(data.map((task) => task.id)).toEqual([second, first]);
    expect(missing).toEqual([foreign, 'nonsense', unknown]);
    const one = (await (await platform.call(`/v1/tasks/${first}`)).json()) as { data: TaskData };
    expect(Object.keys(one.data)).toEqual(expect.arrayContaining(['id', 'status', 'progress', 'phase', 'request_id']));
  });

  it.each([
    [{}, 'missing_required_parameter', 'task_ids'],
    [{ task_ids: [] }, 'array_below_min_length', 'task_ids'],
    [{ task_ids: Array.from({ length: 51 }, String) }, 'array_above_max_length', 'task_ids'],
    [{ task_ids: ['a', 'b', 'c', 4] }, 'invalid_type', 'task_ids[3]'],
  ])('refuses the batch %j', async (body, code, param) => {
    const response = await platform.call('/v1/tasks/batch', { body });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: 400, error: { code, param } });
  });

  it('answers every way to a foreign or unknown task with the same 404', async () => {
    const id = await submit('private');
    const stranger = await platform.newKey({}, await platform.newAccount());
    for (const path of [`${id}/events`, `${id}?wait=5`, 'task_1/events', 'nope?wait=5']) {
      const response = await platform.call(`/v1/tasks/${path}`, { key: stranger });
      expect([response.status, response.headers.get('content-type')]).toEqual([404, 'application/json; charset=utf-8']);
      expect(await response.json()).toMatchObject({ code: 404, error: { code: 'task_not_found' } });
    }
  });
});
