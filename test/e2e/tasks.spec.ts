import { waitUntil } from '#embedded/wait-until.js';
import { startPlatform, type CallOptions, type Platform } from '../support/platform.js';

const REQUEST = { model: 'gpt-image-2', prompt: 'a harbour', resolution: '1k' };
const GENERATIONS = '/v1/images/generations';

interface TaskAnswer {
  code: number;
  data: Record<string, unknown> & { id: string; status: string; progress: number; phase: string };
}
interface ListAnswer {
  object: string;
  data: TaskAnswer['data'][];
  has_more: boolean;
  next: string | null;
}

describe('tasks', () => {
  let platform: Platform;

  beforeAll(async () => {
    platform = await startPlatform();
  });
  afterAll(() => platform.close());

  const read = async (id: string): Promise<TaskAnswer> =>
    (await (await platform.call(`/v1/tasks/${id}`)).json()) as TaskAnswer;

  /** Every look at the task until it has ended. */
  async function follow(id: string): Promise<TaskAnswer['data'][]> {
    const looks: TaskAnswer['data'][] = [];
    const hasEnded = async (): Promise<boolean> => {
      looks.push((await read(id)).data);
      return looks.at(-1)?.status !== 'pending';
    };
    expect(await waitUntil(hasEnded, { timeoutMs: 60_000, everyMs: 20 })).toBe(true);
    return looks;
  }

  it.each<[string, string, CallOptions, string | null]>([
    ['its own path', `${GENERATIONS}/async`, {}, null],
    ['?async=true', `${GENERATIONS}?async=true`, {}, 'respond-async'],
    ['Prefer', GENERATIONS, { headers: { prefer: 'respond-async' } }, 'respond-async'],
    ['the alias', '/images/generations?async=true', {}, 'respond-async'],
  ])('are made without waiting by %s', async (_name, path, options, applied) => {
    const response = await platform.call(path, { body: REQUEST, ...options });
    const id = response.headers.get('x-task-id') ?? '';
    expect(response.status).toBe(202);
    expect(await response.json()).toEqual({
      code: 200,
      data: [{ status: 'submitted', task_id: id }],
      id,
      task_id: id,
      object: 'image.generation.task',
      status: 'pending',
      poll_url: `/v1/tasks/${id}`,
      created: expect.any(Number) as number,
      created_at: expect.any(Number) as number,
      expires_at: expect.any(Number) as number,
    });
    expect(response.headers.get('location')).toBe(`/v1/tasks/${id}`);
    expect(response.headers.get('retry-after')).toBe('5');
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(response.headers.get('preference-applied')).toBe(applied);
    expect((await follow(id)).at(-1)).toMatchObject({ status: 'completed', progress: 100 });
  });

  it('answer within the time that was asked for, else with 202', async () => {
    const prefer = { prefer: 'respond-async, wait=30' };
    const quick = await platform.call(GENERATIONS, { body: REQUEST, headers: prefer });
    expect(quick.status).toBe(200);
    expect(quick.headers.get('preference-applied')).toBe('wait=30');
    const body = { ...REQUEST, prompt: 'slow [[latency=15s]]' };
    const slow = await platform.call(GENERATIONS, { body, headers: { prefer: 'respond-async, wait=1' } });
    expect(slow.status).toBe(202);
  });

  it('return links only, and take only public https callbacks', async () => {
    const refused = async (changes: object): Promise<unknown> => {
      const response = await platform.call(`${GENERATIONS}/async`, { body: { ...REQUEST, ...changes } });
      return { status: response.status, ...((await response.json()) as { error: object }).error };
    };
    expect(await refused({ response_format: 'b64_json' })).toMatchObject({ status: 400, param: 'response_format' });
    for (const url of ['http://a.example/b', 'https://127.0.0.1/b', 'https://user:pw@a.example/', 'x']) {
      expect(await refused({ callback_url: url })).toMatchObject({ status: 400, param: 'callback_url' });
    }
  });

  it('say only pending until they end, never go back, and then never change', async () => {
    const response = await platform.call(`${GENERATIONS}/async`, {
      body: { ...REQUEST, prompt: 'watched [[latency=15s]]' },
    });
    const id = response.headers.get('x-task-id') ?? '';
    const pending = await platform.call(`/v1/tasks/${id}?language=en`);
    expect(pending.headers.get('retry-after')).toBe('3');
    expect(pending.headers.get('cache-control')).toBe('no-store');
    const looks = await follow(id);
    const statuses = looks.map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set(['pending', 'completed']));
    const progress = looks.map((look) => look.progress);
    expect(progress).toEqual(progress.toSorted((a, b) => a - b));
    expect(looks.filter(({ status }) => status === 'pending').every((look) => look.progress < 100)).toBe(true);
    const phases = looks.map(({ phase }) => ['queued', 'running', 'storing', 'done'].indexOf(phase));
    expect(phases).toEqual(phases.toSorted((a, b) => a - b));

    const { code, data } = await read(id);
    expect(code).toBe(200);
    expect(data).toMatchObject({
      id,
      status: 'completed',
      progress: 100,
      phase: 'done',
      model: 'gpt-image-2',
      type: 'image',
      action: 'generation',
      request_id: response.headers.get('x-request-id'),
      result: { images: [{ url: [expect.any(String)], size: '1024x1024', content_type: 'image/png' }] },
    });
    expect(data['finished']).toBe(data['completed']);
    expect(data['actual_time']).toBe(Number(data['completed']) - Number(data['created']));
    const { result } = data as unknown as { result: { images: { url: string[]; expires_at: number }[] } };
    const [image] = result.images;
    expect(Number(image?.expires_at) * 1000).toBeGreaterThan(Date.now() + 86_000_000);
    expect((await fetch(image?.url[0] ?? '')).status).toBe(200);
  });

  it('tell a failure as 200 with what the sync endpoint answers', async () => {
    const body = { ...REQUEST, prompt: '[[fault=moderation]]' };
    const sync = await platform.call(GENERATIONS, { body });
    const { error } = (await sync.json()) as { error: Record<string, unknown> };
    const response = await platform.call(`/v1/tasks/${sync.headers.get('x-task-id') ?? ''}`);
    expect(response.status).toBe(200);
    const { code, data } = (await response.json()) as TaskAnswer;
    expect(code).toBe(200);
    expect(data).toMatchObject({ status: 'failed', phase: 'done' });
    expect(data).not.toHaveProperty('result');
    expect(data).not.toHaveProperty('completed');
    const { task_id: _id, ...detail } = error;
    expect(data['error']).toEqual({ ...detail, http_status: 400 });
  });

  it('are seen by their own account alone', async () => {
    const answer = await platform.call(`${GENERATIONS}/async`, { body: REQUEST });
    const id = answer.headers.get('x-task-id') ?? '';
    const stranger = await platform.newKey({}, await platform.newAccount());
    const sibling = await platform.newKey();
    const unknown = `${id.slice(0, -1)}${id.endsWith('0') ? '1' : '0'}`;
    const bodyOf = async (response: Response): Promise<unknown> => {
      const { request_id: _requestId, ...body } = (await response.json()) as Record<string, unknown>;
      return { status: response.status, ...body };
    };
    const foreign = await bodyOf(await platform.call(`/v1/tasks/${id}`, { key: stranger }));
    expect(foreign).toEqual(await bodyOf(await platform.call(`/v1/tasks/${unknown}`)));
    expect(foreign).toEqual(await bodyOf(await platform.call('/v1/tasks/..%2f..%2fetc')));
    expect(foreign).toMatchObject({ status: 404, code: 404 });
    expect((await platform.call(`/v1/tasks/${id}`, { key: sibling })).status).toBe(200);
    const list = (await (await platform.call('/v1/tasks', { key: stranger })).json()) as ListAnswer;
    expect(list).toEqual({ object: 'list', data: [], has_more: false, next: null });
  });

  it('are listed newest first, page by page, each once', async () => {
    const key = await platform.newKey({}, await platform.newAccount());
    const ids: string[] = [];
    for (let count = 0; count < 5; count++) {
      const body = { ...REQUEST, prompt: count === 2 ? '[[fault=moderation]]' : 'a pier' };
      const response = await platform.call(`${GENERATIONS}/async`, { body, key });
      ids.unshift(response.headers.get('x-task-id') ?? '');
    }
    const page = async (query: string): Promise<ListAnswer> =>
      (await (await platform.call(`/v1/tasks?${query}`, { key })).json()) as ListAnswer;
    const seen: string[] = [];
    let after = '';
    for (;;) {
      const { object, data, has_more: more, next } = await page(`limit=2&after=${after}`);
      expect(object).toBe('list');
      seen.push(...data.map(({ id }) => id));
      expect(next).toBe(more ? data.at(-1)?.id : null);
      if (next === null) break;
      after = next;
    }
    expect(seen).toEqual(ids);
    for (;;) if ((await page('status=pending')).data.length === 0) break;
    expect((await page('status=failed')).data.map(({ id }) => id)).toEqual([ids[2]]);
    expect((await page('status=completed')).data).toHaveLength(4);
    expect((await page(`since=${Math.floor(Date.now() / 1000) + 3_600}`)).data).toEqual([]);
    expect((await page('since=0')).data).toHaveLength(5);
  });
});
