import { gradientImage } from '#images/sample-images.fixture.js';
import { waitUntil } from '#embedded/wait-until.js';
import { deleteTasks } from '#tasks/row/delete-task.sql.js';
import { endTasks } from '#tasks/row/end-task.sql.js';
import { endedBatch, GENERATIONS, lineOf, readBatch, resultsIn, startBatch, uploadLines } from '../support/batches.js';
import { startApiPlatform, startPlatform, type Platform } from '../support/platform.js';
import { startApi } from '../support/processes.js';
import { startS3 } from '../support/s3.js';
import { TEST_ACCOUNT } from '../support/task-room.js';

const EDITS = '/v1/images/edits';

const BODY = { model: 'gpt-image-2', resolution: '1k', prompt: 'one of many' };

/** One worker that takes one task after the other. Lines that must not run wait while it is stopped. */
describe('batches', () => {
  let platform: Platform;
  beforeAll(async () => {
    platform = await startPlatform({ WORKER_CONCURRENCY: '1' });
  });
  afterAll(() => platform.close());

  const many = (count: number, prompt = BODY.prompt): object[] =>
    Array.from({ length: count }, (_, at) => lineOf(`line-${at}`, { ...BODY, prompt }));
  const create = (body: object, key?: string) =>
    platform.call('/v1/batches', { body, ...(key !== undefined && { key }) });
  const codeOf = async (response: Response): Promise<unknown> => {
    const { error } = (await response.json()) as { error: { code: string; param: string | null } };
    return [response.status, error.code, error.param];
  };
  async function tasksOf(batchId: string): Promise<{ id: string; status: string; phase: string }[]> {
    const text = 'SELECT id, status, phase FROM tasks WHERE batch_id = $1 ORDER BY id';
    return (await platform.pool.query<{ id: string; status: string; phase: string }>(text, [batchId])).rows;
  }
  const queued = async (batchId: string, count: number): Promise<void> => {
    expect(await waitUntil(async () => (await tasksOf(batchId)).length === count, { timeoutMs: 60_000 })).toBe(true);
  };

  it('make each line an image or an error, in two files', async () => {
    const lines = [
      lineOf('first', { ...BODY, user: 'someone' }),
      '',
      lineOf('refused', { ...BODY, size: 'huge' }),
      lineOf('streamed', { ...BODY, stream: true }),
      lineOf('not stored', { ...BODY, store: false }),
      lineOf('short-lived', { ...BODY, expires_after: 600_000 }),
      lineOf('moderated', { ...BODY, prompt: '[[fault=moderation]]' }),
      lineOf('last', BODY),
    ];
    const begun = await startBatch(platform, lines);
    expect(begun).toMatchObject({ object: 'batch', status: 'validating', endpoint: GENERATIONS, errors: null });
    const batch = await endedBatch(platform, begun.id);
    expect(batch).toMatchObject({
      status: 'completed',
      request_counts: { total: 7, completed: 2, failed: 5 },
      completed_at: expect.any(Number) as number,
      failed_at: null,
      cancelled_at: null,
    });
    const output = await resultsIn(platform, batch.output_file_id);
    expect(output.map(({ custom_id: id }) => id)).toEqual(['first', 'last']);
    for (const { id, response, error } of output) {
      expect(id).toMatch(/^batch_req_/);
      expect(error).toBeNull();
      expect(response).toMatchObject({ status_code: 200, request_id: expect.stringMatching(/^req_/) as string });
      const [image] = response?.body['data'] as { url: string }[];
      const link = await fetch(image?.url ?? '');
      expect([link.status, link.headers.get('content-type')]).toEqual([200, 'image/png']);
    }
    const errors = await resultsIn(platform, batch.error_file_id);
    const seen = errors.map(({ custom_id: id, response }) => {
      const { error } = (response?.body ?? {}) as { error?: { code: string; param: string | null } };
      return [id, response?.status_code, error?.code, error?.param];
    });
    expect(seen).toEqual([
      ['refused', 400, 'invalid_value', 'size'],
      ['streamed', 400, 'invalid_value', 'stream'],
      ['not stored', 400, 'invalid_value', 'store'],
      ['short-lived', 400, 'unsupported_parameter', 'expires_after'],
      ['moderated', 400, 'moderation_blocked', 'prompt'],
    ]);
    // They go right after the batch has its last status.
    const areGone = async (): Promise<boolean> =>
      (await platform.pool.query('SELECT 1 FROM batch_lines')).rowCount === 0;
    expect(await waitUntil(areGone, { timeoutMs: 30_000 })).toBe(true);
  });

  it('are refused as a whole for lines that are no requests', async () => {
    const lines = [
      'no json',
      '[1]',
      { method: 'POST', url: GENERATIONS, body: BODY },
      lineOf('twice', BODY),
      lineOf('twice', BODY),
      { ...lineOf('read', BODY), method: 'GET' },
      lineOf('elsewhere', BODY, EDITS),
      { ...lineOf('empty', BODY), body: 'x' },
      lineOf('long', { ...BODY, prompt: 'x'.repeat(1_100_000) }),
      lineOf('valid', BODY),
    ];
    const { id } = await startBatch(platform, lines);
    const batch = await endedBatch(platform, id);
    expect(batch).toMatchObject({ status: 'failed', output_file_id: null, error_file_id: null });
    expect(batch.errors?.data.map(({ code, line }) => [line, code])).toEqual([
      [1, 'invalid_json_line'],
      [2, 'invalid_json_line'],
      [3, 'invalid_custom_id'],
      [5, 'duplicate_custom_id'],
      [6, 'invalid_method'],
      [7, 'invalid_url'],
      [8, 'invalid_request'],
      [9, 'line_too_long'],
    ]);
    expect(await tasksOf(id)).toEqual([]);
    const empty = await endedBatch(platform, (await startBatch(platform, [''])).id);
    expect(empty.errors?.data).toMatchObject([{ code: 'empty_file', line: null }]);
  });

  it('and their files belong to an account, and to a key that sees only its own', async () => {
    const stranger = await platform.newKey({}, await platform.newAccount());
    const own = await platform.newKey({ tasks: 'own' });
    const { id } = await startBatch(platform, [lineOf('a', BODY)]);
    const batch = await endedBatch(platform, id);
    const file = batch.output_file_id ?? '';
    for (const key of [stranger, own]) {
      expect(await codeOf(await platform.call(`/v1/batches/${id}`, { key }))).toEqual([404, 'not_found', 'id']);
      const cancel = await platform.call(`/v1/batches/${id}/cancel`, { key, method: 'POST' });
      expect(await codeOf(cancel)).toEqual([404, 'not_found', 'id']);
      for (const [path, method] of [
        ['', 'GET'],
        ['/content', 'GET'],
        ['', 'DELETE'],
      ] as const) {
        const response = await platform.call(`/v1/files/${file}${path}`, { key, method });
        expect(await codeOf(response)).toEqual([404, 'file_not_found', 'id']);
      }
      for (const list of ['/v1/files', '/v1/batches']) {
        expect(await (await platform.call(list, { key })).json()).toMatchObject({ data: [], has_more: false });
      }
      const input = { input_file_id: batch['input_file_id'], endpoint: GENERATIONS, completion_window: '24h' };
      expect(await codeOf(await create(input, key))).toEqual([400, 'invalid_value', 'input_file_id']);
    }
    const edit = { prompt: 'x', images: [{ file_id: file }] };
    const used = await platform.call('/v1/images/edits', { body: edit });
    expect(await codeOf(used)).toEqual([400, 'unsupported_parameter', 'images[0].file_id']);
  });

  it('are cancelled: what waits never starts, and what was done is kept', async () => {
    const running = await startBatch(platform, many(91, '[[latency=600s]]'));
    const started = async (): Promise<boolean> => (await tasksOf(running.id)).some(({ phase }) => phase === 'running');
    expect(await waitUntil(started, { timeoutMs: 60_000 })).toBe(true);
    // The others wait in a bounded number.
    await queued(running.id, 64);
    const answer = await platform.call(`/v1/batches/${running.id}/cancel`, { method: 'POST' });
    expect(await answer.json()).toMatchObject({ status: 'cancelling', cancelling_at: expect.any(Number) as number });
    const batch = await endedBatch(platform, running.id);
    expect(batch).toMatchObject({ status: 'cancelled', request_counts: { total: 91, completed: 0, failed: 91 } });
    const errors = await resultsIn(platform, batch.error_file_id);
    expect(errors.map(({ custom_id: id }) => id)).toEqual(many(91).map((_line, at) => `line-${at}`));
    expect(new Set(errors.map(({ response, error }) => (response === null ? error?.code : 'a response')))).toEqual(
      new Set(['batch_cancelled']),
    );
    const tasks = await tasksOf(running.id);
    expect(new Set(tasks.map(({ status }) => status))).toEqual(new Set(['cancelled']));
    const again = await platform.call(`/v1/batches/${running.id}/cancel`, { method: 'POST' });
    expect(await again.json()).toMatchObject({ status: 'cancelled' });
  });

  it('keep their images longer than they take, whatever the lifetime of their key', async () => {
    const key = await platform.newKey({ keep_seconds: 60 });
    const { id } = await startBatch(platform, [lineOf('kept', BODY)], { key });
    expect(await endedBatch(platform, id)).toMatchObject({ request_counts: { completed: 1 } });
    const text = 'SELECT extract(epoch FROM expires_at - created_at)::int AS kept FROM tasks WHERE batch_id = $1';
    expect((await platform.pool.query(text, [id])).rows).toEqual([{ kept: 172_800 }]);
  });

  it('have no image of a task that was deleted, and say so', async () => {
    platform.worker.kill('SIGSTOP');
    const { id } = await startBatch(platform, [lineOf('deleted', BODY)]);
    await queued(id, 1);
    const ids = (await tasksOf(id)).map((task) => task.id);
    const client = await platform.pool.connect();
    // At once: the batch must not see the task between its end and its deletion.
    await client.query('BEGIN');
    await endTasks(
      client,
      ids.map((task) => ({ by: { id: task, accountId: TEST_ACCOUNT }, status: 'cancelled' })),
    );
    expect(await deleteTasks(client, ids)).toEqual(ids);
    await client.query('COMMIT');
    client.release();
    platform.worker.kill('SIGCONT');
    const batch = await endedBatch(platform, id);
    const errors = await resultsIn(platform, batch.error_file_id);
    expect(errors).toMatchObject([{ custom_id: 'deleted', response: null, error: { code: 'task_not_found' } }]);
  });

  it('expire: what was not done by then has no response', async () => {
    // One line at a time, in their order.
    const key = await platform.newKey({ tasks_in_flight: 2 });
    const { id } = await startBatch(
      platform,
      [lineOf('done', BODY), lineOf('slow', { ...BODY, prompt: '[[latency=600s]]' })],
      { key },
    );
    const oneDone = async (): Promise<boolean> => (await readBatch(platform, id)).request_counts.completed === 1;
    expect(await waitUntil(oneDone, { timeoutMs: 60_000 })).toBe(true);
    await platform.pool.query('UPDATE batches SET expires_at = now() WHERE id = $1', [id]);
    const batch = await endedBatch(platform, id);
    expect(batch).toMatchObject({ status: 'expired', request_counts: { total: 2, completed: 1, failed: 1 } });
    expect(await resultsIn(platform, batch.output_file_id)).toMatchObject([{ custom_id: 'done' }]);
    const late = { custom_id: 'slow', response: null, error: { code: 'batch_expired' } };
    expect(await resultsIn(platform, batch.error_file_id)).toMatchObject([late]);
  });

  it('end with the error of their key once it is revoked', async () => {
    const { id: keyId, key } = await platform.newKeyWithId({ tasks_in_flight: 4 });
    platform.worker.kill('SIGSTOP');
    const { id } = await startBatch(platform, many(6), { key });
    // Half of what the key may have in flight is left to its other requests.
    await queued(id, 2);
    await platform.pool.query('UPDATE api_keys SET revoked_at = now() WHERE id = $1', [keyId]);
    platform.worker.kill('SIGCONT');
    const batch = await endedBatch(platform, id);
    expect(batch).toMatchObject({ status: 'completed', request_counts: { total: 6, completed: 2, failed: 4 } });
    const errors = await resultsIn(platform, batch.error_file_id);
    expect(errors.map(({ response }) => response?.status_code)).toEqual([401, 401, 401, 401]);
  });

  it('go on with a new task for a line that never started before its deadline', async () => {
    platform.worker.kill('SIGSTOP');
    const { id } = await startBatch(platform, [lineOf('late', BODY)]);
    await queued(id, 1);
    await platform.pool.query('UPDATE tasks SET deadline_at = now() WHERE batch_id = $1', [id]);
    await queued(id, 2);
    platform.worker.kill('SIGCONT');
    const batch = await endedBatch(platform, id);
    expect(batch).toMatchObject({ status: 'completed', request_counts: { total: 1, completed: 1, failed: 0 } });
    expect((await tasksOf(id)).map(({ status }) => status)).toEqual(['failed', 'completed']);
  });

  it('let a request of their key start next', async () => {
    platform.worker.kill('SIGSTOP');
    const { id } = await startBatch(platform, many(40));
    await queued(id, 40);
    const response = await platform.call(`${GENERATIONS}/async`, { body: BODY });
    const taskId = response.headers.get('x-task-id') ?? '';
    platform.worker.kill('SIGCONT');
    const started = async (): Promise<string[]> => {
      const text =
        'SELECT id FROM tasks WHERE started_at IS NOT NULL AND (batch_id = $1 OR id = $2) ORDER BY started_at, id';
      return (await platform.pool.query<{ id: string }>(text, [id, taskId])).rows.map((row) => row.id);
    };
    expect(await waitUntil(async () => (await started()).includes(taskId), { timeoutMs: 60_000 })).toBe(true);
    // The worker had perhaps a task in hand when it was stopped.
    expect((await started()).indexOf(taskId)).toBeLessThanOrEqual(1);
    await platform.call(`/v1/batches/${id}/cancel`, { method: 'POST' });
    await endedBatch(platform, id);
  });

  it('are listed newest first, page by page', async () => {
    const key = await platform.newKey({}, await platform.newAccount());
    const ids: string[] = [];
    for (let n = 0; n < 3; n++) ids.unshift((await startBatch(platform, ['no json'], { key })).id);
    const page = await (await platform.call('/v1/batches?limit=2', { key })).json();
    expect(page).toMatchObject({ object: 'list', has_more: true, first_id: ids[0], last_id: ids[1] });
    const next = await (await platform.call(`/v1/batches?limit=2&after=${ids[1]}`, { key })).json();
    expect(next).toMatchObject({ has_more: false, data: [{ id: ids[2] }] });
  });

  it.each([
    [{ endpoint: '/v1/embeddings' }, 'invalid_value', 'endpoint'],
    [{ completion_window: '1h' }, 'invalid_value', 'completion_window'],
    [{ input_file_id: undefined }, 'missing_required_parameter', 'input_file_id'],
    [{ input_file_id: 'file_unknown' }, 'invalid_value', 'input_file_id'],
    [{ metadata: { a: 1 } }, 'invalid_value', 'metadata'],
    [{ output_expires_after: { anchor: 'created_at', seconds: 60 } }, 'invalid_value', 'output_expires_after.seconds'],
    [{ priority: 'high' }, 'unsupported_parameter', 'priority'],
  ])('are refused with %j', async (change, code, param) => {
    const input = await uploadLines(platform, [lineOf('a', BODY)]);
    const body = { input_file_id: input, endpoint: GENERATIONS, completion_window: '24h', ...change };
    expect(await codeOf(await create(body))).toEqual([400, code, param]);
  });
});

describe('a batch that is canceled while a process submits its lines', () => {
  it('has no task that goes on: one that is accepted after its line had ended is canceled', async () => {
    const platform = await startApiPlatform();
    const other = await startApi(platform.settings);
    const lock = await platform.pool.connect();
    try {
      // Whichever process submits can't insert, and only the other one takes the next step.
      await lock.query('BEGIN');
      await lock.query('LOCK TABLE idempotency_keys IN EXCLUSIVE MODE');
      const { id } = await startBatch(platform, [lineOf('one', BODY), lineOf('two', BODY)]);
      const claimed = async (): Promise<boolean> => {
        const text = `SELECT 1 FROM batch_lines WHERE batch_id = $1 AND state = 'claimed'`;
        return (await platform.pool.query(text, [id])).rowCount === 2;
      };
      expect(await waitUntil(claimed, { timeoutMs: 60_000 })).toBe(true);
      for (const at of [platform, other]) await platform.call(`/v1/batches/${id}/cancel`, { method: 'POST', at });
      await platform.pool.query('UPDATE batches SET next_step_at = now() WHERE id = $1', [id]);
      const batch = await endedBatch(platform, id);
      expect(batch).toMatchObject({ status: 'cancelled', request_counts: { total: 2, completed: 0, failed: 2 } });
      await lock.query('COMMIT');
      const text = `SELECT count(*)::int AS ended FROM tasks WHERE batch_id = $1 AND status = 'cancelled'`;
      const ended = async (): Promise<boolean> => {
        const { rows } = await platform.pool.query<{ ended: number }>(text, [id]);
        return rows[0]?.ended === 2;
      };
      expect(await waitUntil(ended, { timeoutMs: 60_000 })).toBe(true);
    } finally {
      lock.release();
      await other.stop();
      await platform.close();
    }
  });
});

describe('batches in S3', () => {
  it('edit images that were uploaded before, and those behind links', async () => {
    const s3 = await startS3();
    const platform = await startPlatform({
      STORAGE: 's3',
      S3_ENDPOINT: s3.endpoint,
      S3_REGION: s3.region,
      S3_BUCKET: s3.bucket,
      S3_ACCESS_KEY_ID: s3.accessKeyId,
      S3_SECRET_ACCESS_KEY: s3.secretAccessKey,
    });
    try {
      const form = new FormData();
      form.append('file', new Blob([new Uint8Array(await gradientImage(128, 96, 'png'))]), 'a.png');
      const upload = (await (await platform.call('/v1/uploads/images', { body: form })).json()) as Record<
        string,
        string
      >;
      const edit = (id: string, image: object): object =>
        lineOf(id, { prompt: 'x', size: '1024x1024', images: [image] }, EDITS);
      const lines = [
        edit('by id', { file_id: upload['id'] }),
        edit('by link', { image_url: upload['url'] }),
        edit('unknown', { file_id: 'upload_01JD0Z8Q4M0W3E5V6T7R8Y9X0A' }),
      ];
      const batch = await endedBatch(platform, (await startBatch(platform, lines, { endpoint: EDITS })).id);
      expect(batch).toMatchObject({ status: 'completed', endpoint: EDITS });
      const output = await resultsIn(platform, batch.output_file_id);
      expect(output.map(({ custom_id: id }) => id)).toEqual(['by id', 'by link']);
      const [error] = await resultsIn(platform, batch.error_file_id);
      expect(error).toMatchObject({
        custom_id: 'unknown',
        response: { body: { error: { code: 'image_file_not_found' } } },
      });
    } finally {
      await platform.close();
      await s3.stop();
    }
  });
});

describe('files of batches', () => {
  let platform: Platform;
  beforeAll(async () => {
    platform = await startPlatform({ UPLOADS_PER_ACCOUNT_BYTES: '100000' });
  });
  afterAll(() => platform.close());

  async function send(parts: Readonly<Record<string, string>>, content: string | null = '{}\n'): Promise<Response> {
    const form = new FormData();
    if (content !== null) form.append('file', new Blob([content]), 'a.jsonl');
    for (const [name, value] of Object.entries(parts)) form.append(name, value);
    return await platform.call('/v1/files', { body: form });
  }

  it('are kept for 30 days, or as long as their sender says', async () => {
    const answers = [
      await send({ purpose: 'batch', other: 'x' }),
      await send({ purpose: 'batch', 'expires_after[anchor]': 'created_at', 'expires_after[seconds]': '3600' }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(answers[0]?.headers.get('x-ignored-params')).toBe('other');
    const [usual, short] = (await Promise.all(answers.map((answer) => answer.json()))) as Record<string, unknown>[];
    expect(usual).toMatchObject({
      object: 'file',
      bytes: 3,
      filename: 'a.jsonl',
      purpose: 'batch',
      status: 'processed',
    });
    const keptFor = (file: Record<string, unknown> | undefined) =>
      Number(file?.['expires_at']) - Number(file?.['created_at']);
    expect([keptFor(usual), keptFor(short)]).toEqual([2_592_000, 3_600]);
    const list = await (await platform.call('/v1/files?purpose=batch&order=asc')).json();
    expect(list).toMatchObject({ data: [{ id: usual?.['id'] }, { id: short?.['id'] }], has_more: false });
    const input = { input_file_id: short?.['id'], endpoint: GENERATIONS, completion_window: '24h' };
    const soon = await platform.call('/v1/batches', { body: input });
    expect([soon.status, await soon.json()]).toMatchObject([400, { error: { param: 'input_file_id' } }]);
    const path = `/v1/files/${String(usual?.['id'])}`;
    expect(await (await platform.call(`${path}/content`)).text()).toBe('{}\n');
    const head = await platform.call(`${path}/content`, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, '3']);
    const gone = await platform.call(path, { method: 'DELETE' });
    expect(await gone.json()).toEqual({ id: usual?.['id'], object: 'file', deleted: true });
    expect((await platform.call(path)).status).toBe(404);
    expect((await platform.call(`${path}/content`)).status).toBe(404);
  });

  it.each([
    ['a missing purpose', {}, '{}', 400, 'purpose'],
    ['another purpose', { purpose: 'vision' }, '{}', 400, 'purpose'],
    ['a missing file', { purpose: 'batch' }, null, 400, 'file'],
    ['an empty file', { purpose: 'batch' }, '', 400, 'file'],
    [
      'too short a life',
      { purpose: 'batch', 'expires_after[anchor]': 'created_at', 'expires_after[seconds]': '10' },
      ...(['{}', 400, 'expires_after.seconds'] as const),
    ],
    ['no room in the quota', { purpose: 'batch' }, 'x'.repeat(100_001), 413, null],
  ])('are refused for %s', async (_what, parts, content, status, param) => {
    const response = await send(parts, content);
    expect([response.status, await response.json()]).toMatchObject([status, { error: { param } }]);
  });
});
