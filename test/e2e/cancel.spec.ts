import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { waitUntil } from '#embedded/wait-until.js';
import { patient } from '../support/patience.js';
import { rawCall } from '../support/raw-call.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { startApi, startWorker, type TestProcess } from '../support/processes.js';

const GENERATIONS = '/v1/images/generations';

interface TaskBody {
  code: number;
  data: { id: string; status: string; phase: string; progress: number; finished?: number; charged?: string };
}

describe('cancelling tasks', () => {
  let platform: Platform;
  let otherApi: TestProcess;

  beforeAll(async () => {
    // A lease so long that nothing of it runs out in these tests.
    platform = await startPlatform({ LEASE_MS: '120000' });
    otherApi = await startApi(platform.settings);
  });
  afterAll(async () => {
    await otherApi.stop();
    await platform.close();
  });

  async function submit(prompt: string): Promise<string> {
    const response = await platform.call(`${GENERATIONS}/async`, {
      body: { model: 'gpt-image-2', prompt, resolution: '1k' },
    });
    return ((await response.json()) as { task_id: string }).task_id;
  }

  /** At the API that did not accept the task. */
  async function cancel(id: string, key = platform.key): Promise<Response> {
    return fetch(`${otherApi.url}/v1/tasks/${id}/cancel`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      signal: AbortSignal.timeout(patient(30_000)),
    });
  }

  async function cancelled(id: string): Promise<TaskBody> {
    const response = await cancel(id);
    expect(response.status).toBe(200);
    return (await response.json()) as TaskBody;
  }

  async function read(id: string): Promise<TaskBody> {
    return (await (await platform.call(`/v1/tasks/${id}`)).json()) as TaskBody;
  }

  async function reach(id: string, phase: string): Promise<void> {
    while ((await read(id)).data.phase !== phase);
  }

  const linesOf = (process: TestProcess, id: string): unknown[] =>
    process.logs().flatMap((line) => (line['taskId'] === id ? [line['event']] : []));

  async function objectsOf(id: string): Promise<string[]> {
    const files = await readdir(join(platform.settings['DATA_DIR'] ?? ''), { recursive: true });
    return files.filter((file) => file.includes(id));
  }

  it('reaches a task that runs on a worker, and stops it', async () => {
    const id = await submit('wanted no more [[latency=60s]]');
    await reach(id, 'running');
    const body = await cancelled(id);
    expect(body).toMatchObject({ code: 200, data: { id, status: 'cancelled', phase: 'done', charged: 'none' } });
    expect(body.data.progress).toBeLessThan(100);
    expect(body.data.finished).toBeGreaterThan(0);
    expect(body.data).not.toHaveProperty('error');
    expect(await waitUntil(() => linesOf(platform.worker, id).includes('task.lease_lost'), { timeoutMs: 15_000 })).toBe(
      true,
    );
    expect(await objectsOf(id)).toEqual([]);
    expect(await read(id)).toEqual(body);
    expect(linesOf(platform.worker, id)).not.toContain('task.completed');
  });

  it('stops a worker that did not hear of it, at its next renewal', async () => {
    // Another prefix is another set of channels and another queue on the same rows.
    const prefix = (platform.settings['REDIS_PREFIX'] ?? '').replace('}', '_deaf}');
    const settings = { ...platform.settings, REDIS_PREFIX: prefix, LEASE_MS: '4000' };
    const [api, worker] = await Promise.all([startApi(settings), startWorker(settings)]);
    const response = await fetch(`${api.url}${GENERATIONS}/async`, {
      method: 'POST',
      headers: { authorization: `Bearer ${platform.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-image-2', prompt: 'deaf [[latency=60s]]', resolution: '1k' }),
    });
    const { task_id: id } = (await response.json()) as { task_id: string };
    await reach(id, 'running');
    expect((await cancelled(id)).data.status).toBe('cancelled');
    const lost = (): boolean => linesOf(worker, id).includes('task.lease_lost');
    expect(await waitUntil(lost, { timeoutMs: 30_000 })).toBe(true);
    expect(await objectsOf(id)).toEqual([]);
    await Promise.all([api.stop(), worker.stop()]);
  });

  it('answers the caller that waits for the image', async () => {
    const prompt = 'waited for [[latency=60s]]';
    const call = platform.call(GENERATIONS, { body: { model: 'gpt-image-2', prompt, resolution: '1k' } });
    const find = async (): Promise<string | undefined> =>
      (await platform.pool.query<{ id: string }>('SELECT id FROM tasks WHERE prompt = $1', [prompt])).rows[0]?.id;
    let id: string | undefined;
    while (id === undefined) id = await find();
    await cancelled(id);
    const response = await call;
    expect([response.status, response.headers.get('x-should-retry')]).toEqual([409, 'false']);
    expect(await response.json()).toMatchObject({ error: { code: 'task_cancelled', task_id: id } });
  });

  it('says that a paid provider that was at work may have charged', async () => {
    const id = await submit('paid [[latency=60s]]');
    await reach(id, 'running');
    const paid = `UPDATE tasks SET calls = jsonb_set(calls, '{0,free}', 'false') WHERE id = $1 AND provider_call_open`;
    const isPaid = async (): Promise<boolean> => (await platform.pool.query(paid, [id])).rowCount === 1;
    expect(await waitUntil(isPaid, { timeoutMs: 30_000 })).toBe(true);
    expect((await cancelled(id)).data.charged).toBe('unknown');
    expect((await read(id)).data.charged).toBe('unknown');
  });

  it('changes nothing about a task that has ended, cancelled ones included', async () => {
    const done = await submit('done');
    await reach(done, 'done');
    const before = await read(done);
    expect((await cancelled(done)).data).toMatchObject({
      status: 'completed',
      progress: 100,
      finished: before.data.finished,
    });
    const failed = await submit('[[fault=moderation]]');
    await reach(failed, 'done');
    expect(await cancelled(failed)).toEqual(await read(failed));
    const twice = await submit('twice [[latency=60s]]');
    const bodies = await Promise.all(Array.from({ length: 5 }, () => cancelled(twice)));
    for (const body of bodies) expect(body).toEqual(await read(twice));
  });

  it('lets either the image or the cancel win, and never changes its mind', async () => {
    const ids = await Promise.all(
      // The last can't be done before they are cancelled, however fast the worker is.
      Array.from({ length: 50 }, (_, n) => submit(`race ${n}${n === 49 ? ' [[latency=60s]]' : ''}`)),
    );
    const statuses = async (): Promise<string[]> => {
      const response = await platform.call('/v1/tasks/batch', { body: { task_ids: ids } });
      return ((await response.json()) as { data: TaskBody['data'][] }).data.map(({ status }) => status);
    };
    while ((await statuses()).filter((status) => status === 'completed').length < 5);
    const answered = (await Promise.all(ids.map(cancelled))).map(({ data }) => data.status);
    expect(new Set(answered)).toEqual(new Set(['completed', 'cancelled']));
    expect(await statuses()).toEqual(answered);
    // Whatever the worker still had in hand, it has let go of when it has finished a task that came later.
    await reach(await submit('after the race'), 'done');
    expect(await statuses()).toEqual(answered);
    for (const [n, id] of ids.entries()) {
      // Only the image: its small copy is created when somebody looks at it.
      const kept = answered[n] === 'completed' ? 1 : 0;
      const settled = async (): Promise<boolean> => (await objectsOf(id)).length === kept;
      expect([id, await waitUntil(settled, { timeoutMs: 30_000 })]).toEqual([id, true]);
    }
  });

  it('does not tell strangers whether there is such a task', async () => {
    const id = await submit('private [[latency=60s]]');
    const stranger = await platform.newKey({}, await platform.newAccount());
    for (const [path, key] of [
      [id, stranger],
      ['nope', platform.key],
    ] as const) {
      const response = await cancel(path, key);
      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({ code: 404, error: { code: 'task_not_found' } });
    }
    expect((await read(id)).data.status).toBe('pending');
    await cancelled(id);
  });

  it('takes whatever an HTTP client sends as an empty body', async () => {
    const id = await submit('cancelled by many clients');
    for (const [type, body] of [
      ['application/json', ''],
      ['application/json', '{}'],
      ['application/x-www-form-urlencoded', ''],
    ] as const) {
      const response = await platform.call(`/v1/tasks/${id}/cancel`, { body, headers: { 'content-type': type } });
      expect([type, body, response.status]).toEqual([type, body, 200]);
    }
    // As curl -X POST does, with the headers of another call: no length, and so no body.
    for (const type of ['application/json', 'multipart/form-data; boundary=b', 'text/plain']) {
      const head = [
        `POST /v1/tasks/${id}/cancel HTTP/1.1`,
        'host: x',
        'connection: close',
        `authorization: Bearer ${platform.key}`,
        `content-type: ${type}`,
      ];
      const answer = await rawCall(platform.url, `${head.join('\r\n')}\r\n\r\n`);
      expect([type, answer?.status]).toEqual([type, 200]);
    }
  });

  it('ends a waiting task at once, and no worker ever takes it up', async () => {
    await platform.worker.stop();
    const ids = [await submit('never begun'), await submit('begun later')];
    const [never = '', later = ''] = ids;
    expect(await cancelled(never)).toMatchObject({
      data: { status: 'cancelled', phase: 'done', progress: 0, charged: 'none' },
    });
    const worker = await startWorker(platform.settings);
    await reach(later, 'done');
    await worker.stop();
    expect(linesOf(worker, never)).not.toContain('task.claimed');
    expect((await read(never)).data.status).toBe('cancelled');
  });
});
