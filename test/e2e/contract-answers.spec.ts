import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { waitUntil } from '#embedded/wait-until.js';
import { readEvents, type SentEvent } from '../support/event-source.js';
import { freePort } from '../support/free-port.js';
import { untilPartialsAreHeard } from '../support/partials-heard.js';
import { startApiPlatform, type ApiPlatform, type CallOptions } from '../support/platform.js';
import { startWorker, type TestProcess } from '../support/processes.js';

const GENERATIONS = '/v1/images/generations';
const EDITS = '/v1/images/edits';
const REQUEST = { model: 'gpt-image-2', prompt: 'a fox', resolution: '1k' };

interface TaskData {
  id: string;
  status: string;
  progress: number;
  phase: string;
  finished: number;
  estimated_time: number;
  result: { images: { url: string[]; expires_at: number }[] };
  error?: Record<string, unknown>;
}

describe('answers', () => {
  let platform: ApiPlatform;
  let worker: TestProcess;
  let metricsPort: number;
  beforeAll(async () => {
    metricsPort = await freePort();
    const settings = { SWEEP_INTERVAL_MS: '500', MAX_PROVIDER_STARTS: '1' };
    platform = await startApiPlatform({ ...settings, METRICS_PORT: String(metricsPort) });
    worker = await startWorker({ ...platform.settings, METRICS_PORT: String(await freePort()) });
  });
  afterAll(async () => {
    await worker.stop();
    await platform.close();
  });

  const generate = (changes: object = {}, options: CallOptions = {}, path = GENERATIONS) =>
    platform.call(path, { ...options, body: { ...REQUEST, ...changes } });
  const read = async (id: string, query = ''): Promise<{ response: Response; data: TaskData }> => {
    const response = await platform.call(`/v1/tasks/${id}${query}`);
    return { response, data: ((await response.clone().json()) as { data: TaskData }).data };
  };
  const taskOf = (response: Response): string => response.headers.get('x-task-id') ?? '';
  /** Reads the response to its end: one that is left unread may break off, and the next equal request gets its task. */
  const generated = async (options: CallOptions = {}): Promise<string> => {
    const response = await generate({}, options);
    await response.arrayBuffer();
    return taskOf(response);
  };
  interface ErrorAnswer {
    type: string;
    error: Record<string, unknown>;
    request_id: string;
    code?: number;
  }
  const errorOf = async (response: Response): Promise<ErrorAnswer> => (await response.json()) as ErrorAnswer;

  it('that are errors of a task are one for the sync caller, the poll and the repeat', async () => {
    const headers = { 'idempotency-key': 'failed' };
    const sync = await generate({ prompt: '[[fault=moderation]]' }, { headers });
    const again = await generate({ prompt: '[[fault=moderation]]' }, { headers });
    const { data } = await read(taskOf(sync));
    const { error, request_id: requestId } = await errorOf(sync);
    expect(requestId).toBe(sync.headers.get('x-request-id'));
    expect(error['type']).toBe('image_generation_user_error');
    expect(data.error).toEqual({
      type: error['type'],
      code: error['code'],
      message: error['message'],
      param: error['param'],
      http_status: 400,
    });
    expect((await errorOf(again)).error).toEqual(error);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(sync.headers.get('x-should-retry')).toBeNull();
  });

  it('of a provider that fails are 502, one that brings no image too, and no SDK repeats them', async () => {
    for (const [fault, code] of [
      ['http-503', 'upstream_error'],
      ['empty', 'upstream_invalid_response'],
      ['not-an-image', 'upstream_invalid_response'],
    ] as const) {
      const response = await generate({ prompt: `[[fault=${fault}]]` });
      const { error } = await errorOf(response);
      expect([response.status, error['type'], error['code']]).toEqual([502, 'upstream_error', code]);
      expect(response.headers.get('x-should-retry')).toBe('false');
      expect(error['task_id']).toBe(taskOf(response));
    }
  });

  it('of a task that has no end are generation_timeout', async () => {
    const call = generate({ prompt: '[[fault=hang]]' });
    const overdue = `UPDATE tasks SET deadline_at = now() - interval '1 s' WHERE prompt = '[[fault=hang]]' AND phase = 'running'`;
    const isOver = async (): Promise<boolean> => (await platform.pool.query(overdue)).rowCount === 1;
    expect(await waitUntil(isOver, { timeoutMs: 30_000 })).toBe(true);
    const response = await call;
    expect([response.status, response.headers.get('x-should-retry')]).toEqual([504, 'false']);
    expect(await errorOf(response)).toMatchObject({
      error: { type: 'timeout_error', code: 'generation_timeout', task_id: taskOf(response) },
    });
    const { data } = await read(taskOf(response));
    expect(data).toMatchObject({ status: 'failed', phase: 'done', error: { http_status: 504 } });
    expect(data.progress).toBeLessThan(100);
  });

  it('of an image that was made and cannot be read are 500, and no SDK buys another', async () => {
    const headers = { 'idempotency-key': 'unreadable' };
    const body = { response_format: 'b64_json' };
    const answer = await generate(body, { headers });
    expect(answer.status).toBe(200);
    await answer.arrayBuffer();
    const { rows } = await platform.pool.query<{ key: string }>(
      `SELECT images->0->>'key' AS key FROM tasks WHERE id = $1`,
      [taskOf(answer)],
    );
    await rm(join(platform.settings['DATA_DIR'] ?? '', 'objects', rows[0]?.key ?? ''));
    const lost = await generate(body, { headers });
    expect([lost.status, lost.headers.get('x-should-retry')]).toEqual([500, 'false']);
    expect((await errorOf(lost)).error).toMatchObject({ type: 'api_error', task_id: taskOf(answer) });
  });

  it('to a key whose task cannot be read yet are 409 with a time to come back', async () => {
    const headers = { 'idempotency-key': 'in-progress' };
    await platform.pool.query('DELETE FROM tasks WHERE id = $1', [await generated({ headers })]);
    const repeated = await generate({}, { headers });
    expect(repeated.status).toBe(409);
    expect(Number(repeated.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(await errorOf(repeated)).toMatchObject({
      error: { type: 'conflict_error', code: 'idempotency_in_progress', param: 'Idempotency-Key' },
    });
  });

  it('to a key used for something else are 422, never 409', async () => {
    const headers = { 'idempotency-key': 'reused' };
    await generated({ headers });
    const other = await generate({ prompt: 'another' }, { headers });
    expect([other.status, other.headers.get('x-should-retry')]).toEqual([422, null]);
    expect(await errorOf(other)).toMatchObject({
      error: { type: 'invalid_request_error', code: 'idempotency_key_reused' },
    });
  });

  it('to callers that went away are 499 in the log and the metrics, and the task goes on', async () => {
    const gone = new AbortController();
    // Nobody draws before the caller has gone.
    worker.kill('SIGSTOP');
    const call = generate({ prompt: 'gone' }, { signal: gone.signal }).catch(() => undefined);
    // The row is there before the API knows its own statement's outcome, so wait until the call is held.
    const isHeld = async (): Promise<boolean> =>
      /^darkroom_held_tasks 1$/m.test(await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text());
    expect(await waitUntil(isHeld, { timeoutMs: 30_000 })).toBe(true);
    gone.abort();
    await call;
    const { rows } = await platform.pool.query<{ id: string }>(`SELECT id FROM tasks WHERE prompt LIKE 'gone%'`);
    const id = rows[0]?.id ?? '';
    const logged = (): boolean =>
      platform.api
        .logs()
        .some(({ event, status, taskId }) => event === 'request.aborted' && status === 499 && taskId === id);
    expect(await waitUntil(logged, { timeoutMs: 30_000 })).toBe(true);
    expect(await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()).toMatch(
      /^darkroom_http_request_duration_seconds_count\{method="POST",route="\/v1\/images\/generations",status="499"\} [1-9]/m,
    );
    worker.kill('SIGCONT');
    const ended = async (): Promise<boolean> => (await read(id)).data.status === 'completed';
    expect(await waitUntil(ended, { timeoutMs: 60_000 })).toBe(true);
  });

  it('below /v1/tasks carry their status as code, whatever is wrong; elsewhere they do not', async () => {
    const below: [string, CallOptions, number][] = [
      ['/v1/tasks/nope', {}, 404],
      ['/v1/tasks/nope', { key: null }, 401],
      ['/v1/tasks/nope', { method: 'PUT' }, 405],
      ['/v1/tasks?limit=x', {}, 400],
      ['/v1/tasks/batch', { body: '{', headers: { 'content-type': 'application/json' } }, 400],
      ['/v1/tasks/batch', { body: 'x', headers: { 'content-type': 'text/plain' } }, 415],
      ['/v1/tasks/nope/nothing', {}, 404],
    ];
    for (const [path, options, status] of below) {
      const response = await platform.call(path, options);
      const { code, type, request_id: requestId } = await errorOf(response);
      expect([path, response.status, code, type]).toEqual([path, status, status, 'error']);
      expect(requestId).toBe(response.headers.get('x-request-id'));
    }
    for (const path of ['/v1/nothing', '/v1/tasksx', '/v1/models/nope', GENERATIONS]) {
      expect(await errorOf(await platform.call(path))).not.toHaveProperty('code');
    }
  });

  it('about tasks that are foreign, unknown, misspelt or purged are the same to the letter', async () => {
    const stranger = await platform.newKey({}, await platform.newAccount());
    const purged = await generated();
    const foreign = await generated({ key: stranger });
    await platform.pool.query('DELETE FROM tasks WHERE id = $1', [purged]);
    const texts = new Set<string>();
    for (const id of [
      purged,
      foreign,
      'task_01JD0Z8Q4M0W3E5V6T7R8Y9X0A',
      'nope',
      'task_',
      `${foreign}x`,
      '%00',
      "'--",
    ]) {
      for (const [path, method] of [
        [id, 'GET'],
        [`${id}?wait=1`, 'GET'],
        [`${id}/events`, 'GET'],
        [`${id}/cancel`, 'POST'],
      ] as const) {
        const response = await platform.call(`/v1/tasks/${path}`, { method });
        const { request_id: _requestId, ...body } = await errorOf(response);
        texts.add(JSON.stringify([response.status, response.headers.get('cache-control'), body]));
      }
    }
    expect([...texts]).toHaveLength(1);
  });

  it('about pending tasks say when to come back, in every language, and with an estimate', async () => {
    const id = taskOf(await generate({ prompt: 'long [[latency=600s]]' }, {}, `${GENERATIONS}/async`));
    for (const query of ['', '?language=en', '?language=zh&language=ko', '?language=']) {
      const { response, data } = await read(id, query);
      expect([data.status, response.headers.get('retry-after')]).toEqual(['pending', '3']);
      expect(response.headers.get('cache-control')).toBe('no-store');
      expect(data.estimated_time).toBeGreaterThan(0);
      expect(data).not.toHaveProperty('result');
      expect(data).not.toHaveProperty('finished');
    }
    await platform.call(`/v1/tasks/${id}/cancel`, { method: 'POST' });
    const { response, data } = await read(id);
    expect(data.status).toBe('cancelled');
    expect([response.headers.get('retry-after'), response.headers.get('cache-control')]).toEqual([null, 'no-store']);
  });

  it('carry links of 24 h that never outlive the image’s 72 h, made anew at each read', async () => {
    const id = await generated();
    const hour = 3_600;
    const lifeAfter = async (hours: number): Promise<{ life: number; links: number }> => {
      await platform.pool.query(`UPDATE tasks SET finished_at = now() - $2 * interval '1 hour' WHERE id = $1`, [
        id,
        hours,
      ]);
      const { data } = await read(id);
      const [image] = data.result.images;
      return { life: Number(image?.expires_at) - Math.floor(Date.now() / 1_000), links: image?.url.length ?? 0 };
    };
    const fresh = await lifeAfter(1);
    const old = await lifeAfter(60);
    const gone = await lifeAfter(73);
    expect(Math.abs(fresh.life - 24 * hour)).toBeLessThan(60);
    expect(Math.abs(old.life - 12 * hour)).toBeLessThan(60);
    expect([fresh.links, old.links, gone.links]).toEqual([1, 1, 0]);
    expect(gone.life).toBeLessThan(0);
  });

  it.each<[string, string, string | undefined, number, string | null]>([
    ['nothing', '', undefined, 200, null],
    ['respond-async', '', 'respond-async', 202, 'respond-async'],
    ['respond-async in capitals, among others', '', 'handling=lenient, Respond-Async; x=1', 202, 'respond-async'],
    ['a wait that suffices', '', 'wait=30', 200, 'wait=30'],
    ['a wait of none', '', 'wait=0', 200, null],
    ['a wait that is no number', '', 'wait=soon', 200, null],
    ['both, in time', '', 'respond-async, wait=30', 200, 'wait=30'],
    ['both, the other way round', '', 'wait=30, respond-async', 200, 'wait=30'],
    ['something else', '', 'return=minimal', 200, null],
    ['?async=true', '?async=true', undefined, 202, 'respond-async'],
    ['?async=1', '?async=1', undefined, 202, 'respond-async'],
    ['?async=false', '?async=false', undefined, 200, null],
    ['?async=true at an async path', '/async?async=true', 'wait=30', 202, null],
  ])('to a caller that prefers %s', async (_name, suffix, prefer, status, applied) => {
    const headers = prefer === undefined ? {} : { prefer };
    const response = await generate({}, { headers }, GENERATIONS + suffix);
    await response.text();
    expect([response.status, response.headers.get('preference-applied')]).toEqual([status, applied]);
    expect(taskOf(response)).toMatch(/^task_[0-9A-HJKMNP-TV-Z]{26}$/);
    if (status === 202) expect(response.headers.get('location')).toBe(`/v1/tasks/${taskOf(response)}`);
  });

  it('of a submit refuse base64, because tasks return links, and take edits too', async () => {
    const image = { images: [{ image_url: 'https://a.example/b.png' }] };
    for (const [path, body] of [
      [`${GENERATIONS}/async`, REQUEST],
      [`${GENERATIONS}?async=true`, REQUEST],
      [`${EDITS}/async`, { prompt: 'x', ...image }],
      [`${EDITS}?async=true`, { prompt: 'x', ...image }],
    ] as const) {
      const refused = await platform.call(path, { body: { ...body, response_format: 'b64_json' } });
      expect(refused.status).toBe(400);
      expect((await errorOf(refused)).error).toMatchObject({ code: 'invalid_value', param: 'response_format' });
      const taken = await platform.call(path, { body: { ...body, response_format: 'url' } });
      expect(taken.status).toBe(202);
      expect(await taken.json()).toMatchObject({ code: 200, status: 'pending', object: 'image.generation.task' });
    }
  });

  it('that are streams have events with all fields, or an event error with the one error body', async () => {
    const events = async (changes: object): Promise<SentEvent[]> => {
      const response = await generate({ stream: true, ...changes });
      const read: SentEvent[] = [];
      for await (const event of readEvents(response)) if (event.comment === undefined) read.push(event);
      return read;
    };
    const fields = ['background', 'b64_json', 'created_at', 'output_format', 'quality', 'size', 'type'];
    // It draws nothing before somebody listens.
    worker.kill('SIGSTOP');
    const drawn = events({ prompt: 'seen', partial_images: 1 });
    await untilPartialsAreHeard(platform);
    worker.kill('SIGCONT');
    const [partial, completed, ...none] = await drawn;
    expect([partial?.event, completed?.event, none]).toEqual([
      'image_generation.partial_image',
      'image_generation.completed',
      [],
    ]);
    expect(Object.keys(partial?.data as object).sort()).toEqual([...fields, 'partial_image_index'].sort());
    expect(Object.keys(completed?.data as object).sort()).toEqual([...fields, 'usage'].sort());
    expect(await events({ prompt: '[[fault=moderation]]' })).toEqual([
      {
        event: 'error',
        data: {
          type: 'error',
          request_id: expect.stringMatching(/^req_/) as string,
          error: {
            type: 'image_generation_user_error',
            code: 'moderation_blocked',
            param: 'prompt',
            message: expect.any(String) as string,
            task_id: expect.stringMatching(/^task_/) as string,
          },
        },
      },
    ]);
  });

  it('to keys of the other dialect are a task at once, streams and edits excepted', async () => {
    const key = await platform.newKey({ submit_mode: 'apimart', default_response_format: 'b64_json' });
    for (const path of [GENERATIONS, '/images/generations']) {
      const response = await generate({}, { key }, path);
      expect(response.status).toBe(200);
      expect(await response.json()).toEqual({ code: 200, data: [{ status: 'submitted', task_id: taskOf(response) }] });
    }
    const explicit = await generate({}, { key }, `${GENERATIONS}/async`);
    expect(explicit.status).toBe(202);
    const stream = await generate({ stream: true }, { key });
    expect(stream.headers.get('content-type')).toMatch(/^text\/event-stream/);
    expect(await stream.text()).toContain('event: image_generation.completed');
    expect((await generate({ size: 'x' }, { key })).status).toBe(400);
  });
});
