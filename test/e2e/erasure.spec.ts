import { createHash, createPublicKey, verify, type JsonWebKey } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from '#embedded/wait-until.js';
import { gradientImage } from '#images/sample-images.fixture.js';
import { patient, patientSetting } from '../support/patience.js';
import { startPlatform, type CallOptions, type Platform } from '../support/platform.js';
import { startApi, startWorker } from '../support/processes.js';
import { redisTexts, storedKeys, tableTexts } from '../support/traces-of.js';

const CANARY = 'canary-8d1f77';
const GONE = [410, 'task_deleted'];
/** A retry's image, which the API still has to read, is not to be erased when the API stalls. */
const WINDOW_MS = patientSetting(10_000, 60_000);

interface Receipt {
  id: string;
  deleted_at: number;
  erased_at: number;
  images: number;
  reference_images: number;
  uploads: number;
  digest: string;
  key_id: string;
  jws: string;
}

interface Deleted {
  id: string;
  object: string;
  deleted: boolean;
  receipt: Receipt | null;
}

const CATALOG = `providers:
  paid: { type: sandbox, free: false }
models:
  gpt-image-2:
    kind: image
    routes: [{ provider: paid }]
    prices: [{ from: 2026-01-01, per_image: { 1k: 4, 2k: 4, 4k: 4 } }]
`;

describe('deleting tasks', () => {
  let folder: string;
  let platform: Platform;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-erasure-'));
    await writeFile(join(folder, 'models.yaml'), CATALOG);
    platform = await startPlatform({
      MODELS_FILE: join(folder, 'models.yaml'),
      ATTACH_WINDOW_MS: WINDOW_MS,
    });
  });
  afterAll(async () => {
    await platform.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function answerOf(path: string, options: CallOptions = {}) {
    const response = await platform.call(path, options);
    const text = await response.text();
    const { error } = (text.startsWith('{') ? JSON.parse(text) : {}) as { error?: { code: string } };
    return { status: response.status, text, code: error?.code };
  }
  const refusalOf = async (path: string, options?: CallOptions): Promise<unknown[]> => {
    const { status, code } = await answerOf(path, options);
    return [status, code];
  };

  async function remove(id: string, options: CallOptions = {}): Promise<[number, Deleted]> {
    // As clients do that name a type with every request.
    const headers = { 'content-type': 'application/json' };
    const { status, text } = await answerOf(`/v1/tasks/${id}`, { method: 'DELETE', headers, ...options });
    return [status, JSON.parse(text) as Deleted];
  }

  /** The same for a task that has ended: what takes longer than five seconds is answered with 202 first. */
  async function erase(id: string): Promise<[number, Deleted]> {
    let answer = await remove(id);
    await waitUntil(
      async () => {
        if (answer[0] === 202) answer = await remove(id);
        return answer[0] !== 202;
      },
      { timeoutMs: 60_000 },
    );
    return answer;
  }

  async function generate(prompt: string, more: object = {}, options: CallOptions = {}) {
    const body = { model: 'gpt-image-2', prompt, resolution: '1k', response_format: 'url', ...more };
    const response = await platform.call('/v1/images/generations', { body, ...options });
    const { data } = (await response.json()) as { data?: { url: string }[] };
    return { status: response.status, id: response.headers.get('x-task-id') ?? '', url: data?.[0]?.url ?? '' };
  }

  async function submit(prompt: string): Promise<string> {
    const body = { model: 'gpt-image-2', prompt, resolution: '1k' };
    const response = await platform.call('/v1/images/generations/async', { body });
    return ((await response.json()) as { task_id: string }).task_id;
  }

  async function upload(bytes: Buffer): Promise<string> {
    const form = new FormData();
    form.append('file', new Blob([new Uint8Array(bytes)]), 'a.png');
    const response = await platform.call('/v1/uploads/images', { body: form });
    return ((await response.json()) as { id: string }).id;
  }

  /** The receipt of a task, once it is erased. */
  async function receiptOf(id: string): Promise<Receipt> {
    let found: Receipt | undefined;
    await waitUntil(
      async () => {
        const { status, text } = await answerOf(`/v1/tasks/${id}/receipt`);
        if (status === 200) found = JSON.parse(text) as Receipt;
        return found !== undefined;
      },
      { timeoutMs: 60_000 },
    );
    if (found === undefined) throw new Error('the task was not erased');
    return found;
  }

  async function charges(): Promise<unknown[]> {
    return (await platform.pool.query<object>('SELECT * FROM charges ORDER BY task_id, kind')).rows;
  }

  it('leaves nothing of what was in a task, anywhere, but what it cost', async () => {
    const png = await gradientImage(256, 192, 'png');
    const more = { user: `${CANARY}-user`, image_urls: [`data:image/png;base64,${png.toString('base64')}`] };
    const headers = { 'Idempotency-Key': 'one-key' };
    const { id, url } = await generate(`${CANARY} a red kite`, more, { headers });
    const image = Buffer.from(await (await fetch(url)).arrayBuffer());
    expect((await tableTexts(platform)).match(new RegExp(CANARY, 'g'))?.length).toBeGreaterThan(1);
    expect((await storedKeys(platform)).filter((key) => key.includes(id))).toHaveLength(2);
    const charged = await charges();
    expect(charged.length).toBeGreaterThan(0);

    const [status, body] = await erase(id);
    expect([status, body]).toMatchObject([200, { id, object: 'task.deleted', deleted: true }]);

    expect(await tableTexts(platform)).not.toContain(CANARY);
    expect(await redisTexts(platform)).not.toContain(CANARY);
    expect(platform.api.output() + platform.worker.output()).not.toContain(CANARY);
    expect((await storedKeys(platform)).filter((key) => key.includes(id))).toEqual([]);
    expect(await charges()).toEqual(charged);

    const receipt = body.receipt;
    expect(receipt).toMatchObject({ id, images: 1, reference_images: 1, uploads: 0 });
    const digest = createHash('sha256').update(image).digest('hex');
    expect(receipt?.digest).toBe(`sha256:${createHash('sha256').update(`${digest}\n`).digest('hex')}`);

    const path = `/v1/tasks/${id}`;
    for (const read of [path, `${path}?wait=1`, `${path}/events`, `/v1/images/tasks/${id}`])
      expect([read, ...(await refusalOf(read))]).toEqual([read, ...GONE]);
    expect(await refusalOf(`${path}/cancel`, { method: 'POST' })).toEqual(GONE);
    expect(await refusalOf(new URL(url).pathname + new URL(url).search, { key: null })).toEqual(GONE);
    const listed = await answerOf('/v1/tasks');
    expect(listed.text).not.toContain(id);
    const batch = await answerOf('/v1/tasks/batch', { body: { task_ids: [id] } });
    expect(JSON.parse(batch.text)).toMatchObject({ data: [], missing: [id] });
    // A repetition with its key buys nothing.
    const again = await generate(`${CANARY} a red kite`, more, { headers });
    expect(again.status).toBe(410);
    expect(await charges()).toEqual(charged);

    expect(await remove(id)).toEqual([200, body]);
    expect(await receiptOf(id)).toEqual(receipt);
  });

  it('proves it with a signature that anybody can verify offline', async () => {
    const { id } = await generate('a signed image');
    const [, { receipt }] = await erase(id);
    const { keys } = JSON.parse((await answerOf('/v1/receipts/keys', { key: null })).text) as {
      keys: (JsonWebKey & { kid: string })[];
    };
    const jwk = keys.find(({ kid }) => kid === receipt?.key_id) ?? {};
    const [head = '', payload = '', signature = ''] = (receipt?.jws ?? '').split('.');
    const key = createPublicKey({ key: jwk, format: 'jwk' });
    const isValid = (text: string): boolean =>
      verify(null, Buffer.from(text), key, Buffer.from(signature, 'base64url'));
    expect([isValid(`${head}.${payload}`), isValid(`${head}.${payload}A`)]).toEqual([true, false]);
    const { jws: _, ...facts } = receipt ?? { jws: '' };
    expect(JSON.parse(Buffer.from(payload, 'base64url').toString())).toEqual(facts);
  });

  it('cancels a running task first, and erases what its worker stores late', async () => {
    const id = await submit(`${CANARY} too slow [[latency=60s]]`);
    const isRunning = async (): Promise<boolean> =>
      (await answerOf(`/v1/tasks/${id}`)).text.includes('"phase":"running"');
    expect(await waitUntil(isRunning, { timeoutMs: 30_000 })).toBe(true);
    // A worker that says in time that it has stopped lets the first answer have the receipt.
    platform.worker.kill('SIGSTOP');
    const [status, body] = await remove(id);
    platform.worker.kill('SIGCONT');
    expect([status, body]).toMatchObject([202, { id, deleted: true, receipt: null }]);
    expect(await refusalOf(`/v1/tasks/${id}`)).toEqual(GONE);
    expect(await tableTexts(platform)).not.toContain(CANARY);
    expect(await receiptOf(id)).toMatchObject({ id, images: 0 });
    expect(await remove(id)).toMatchObject([200, { receipt: { id } }]);
  });

  it('is for whoever may cancel the task, and unknown to everybody else', async () => {
    const { id } = await generate('not yours');
    const strangers = [await platform.newKey({}, await platform.newAccount()), await platform.newKey({ tasks: 'own' })];
    for (const key of strangers) {
      expect(await refusalOf(`/v1/tasks/${id}`, { method: 'DELETE', key })).toEqual([404, 'task_not_found']);
      expect(await refusalOf(`/v1/tasks/${id}/receipt`, { key })).toEqual([404, 'task_not_found']);
    }
    expect((await answerOf(`/v1/tasks/${id}`)).status).toBe(200);
    expect(await refusalOf(`/v1/tasks/${id}/receipt`)).toEqual([404, 'task_not_found']);
    expect((await erase(id))[0]).toBe(200);
    for (const key of strangers) expect(await refusalOf(`/v1/tasks/${id}`, { key })).toEqual([404, 'task_not_found']);
  });

  it('keeps an upload until the last task that used it is deleted', async () => {
    const file = await upload(await gradientImage(200, 200, 'png'));
    const edit = async (): Promise<string> => {
      const body = { prompt: 'edit it', images: [{ file_id: file }], size: '1024x1024', response_format: 'url' };
      const response = await platform.call('/v1/images/edits', { body });
      expect(response.status).toBe(200);
      await response.text();
      return response.headers.get('x-task-id') ?? '';
    };
    const ids = [await edit(), await edit()];
    const removed = async (id = ''): Promise<unknown> => (await erase(id))[1].receipt?.uploads;
    expect(await removed(ids[0])).toBe(0);
    expect(await storedKeys(platform)).toContain(`uploads/${file}`);
    expect(await removed(ids[1])).toBe(1);
    expect(await storedKeys(platform)).not.toContain(`uploads/${file}`);
    expect(await tableTexts(platform)).not.toContain(file);
  });

  const isGone = async (id: string): Promise<boolean> =>
    await waitUntil(async () => (await answerOf(`/v1/tasks/${id}`)).status === 410, { timeoutMs: 90_000 });

  it('comes by itself with store: false, after the time in which a retry still gets its image', async () => {
    const body = { model: 'gpt-image-2', prompt: CANARY, resolution: '1k', store: false };
    const call = (count: number, signal = AbortSignal.timeout(patient(60_000))) => {
      const headers = { 'x-stainless-retry-count': String(count) };
      return platform.call('/v1/images/generations', { body, headers, signal });
    };
    const accepted = `SELECT id FROM tasks WHERE kept_after_end_ms = ${WINDOW_MS} AND status = 'pending'`;
    const hangUp = new AbortController();
    // Nothing is drawn, and then erased, before the retry is there.
    platform.worker.kill('SIGSTOP');
    const cut = call(0, hangUp.signal).catch(() => undefined);
    const isAccepted = async (): Promise<boolean> => (await platform.pool.query(accepted)).rowCount === 1;
    expect(await waitUntil(isAccepted, { timeoutMs: 30_000 })).toBe(true);
    hangUp.abort();
    await cut;
    const retry = call(1);
    const attached = `SELECT 1 FROM tasks WHERE kept_after_end_ms = ${WINDOW_MS} AND attached_by IS NOT NULL AND abandoned_at IS NULL`;
    const isAttached = async (): Promise<boolean> => (await platform.pool.query(attached)).rowCount === 1;
    expect(await waitUntil(isAttached, { timeoutMs: 30_000 })).toBe(true);
    platform.worker.kill('SIGCONT');
    const retried = await retry;
    const { data } = (await retried.json()) as { data: { b64_json: string }[] };
    expect([retried.status, data[0]?.b64_json.slice(0, 5)]).toEqual([200, 'iVBOR']);
    const id = retried.headers.get('x-task-id') ?? '';
    expect(await isGone(id)).toBe(true);
    expect(await receiptOf(id)).toMatchObject({ images: 1 });
    expect(await tableTexts(platform)).not.toContain(CANARY);
    const { rows } = await platform.pool.query(
      `SELECT count(*)::int AS count FROM tasks WHERE kept_after_end_ms = ${WINDOW_MS}`,
    );
    expect(rows).toEqual([{ count: 1 }]);
  });

  it('leaves whoever polls ten minutes, in a form too', async () => {
    const form = new FormData();
    const texts = { prompt: 'from a form', store: 'false', resolution: '1k' };
    for (const [name, text] of Object.entries(texts)) form.append(name, text);
    form.append('image', new Blob([new Uint8Array(await gradientImage(128, 128, 'png'))]), 'a.png');
    const response = await platform.call('/v1/images/edits/async', { body: form });
    const { task_id: id } = (await response.json()) as { task_id: string };
    const kept = `SELECT EXTRACT(EPOCH FROM expires_at - finished_at)::float8 AS seconds FROM tasks WHERE id = $1 AND status = 'completed'`;
    const isDone = async (): Promise<boolean> => (await platform.pool.query(kept, [id])).rowCount === 1;
    expect(await waitUntil(isDone, { timeoutMs: 60_000 })).toBe(true);
    expect((await platform.pool.query(kept, [id])).rows).toEqual([{ seconds: 600 }]);
  });

  it('comes at the end of a lifetime: the request’s, or else its key’s, or else its account’s', async () => {
    const account = await platform.newAccount();
    await platform.pool.query('UPDATE accounts SET keep_seconds = 7200 WHERE id = $1', [account]);
    const ofAccount = await platform.newKey({}, account);
    const ofKey = await platform.newKey({ keep_seconds: 3600 }, account);
    const tasks = [
      await generate('a', {}, { key: ofAccount }),
      await generate('b', {}, { key: ofKey }),
      await generate('c', { expires_after: 120 }, { key: ofKey }),
      await generate('d'),
    ];
    const ids = tasks.map(({ id }) => id);
    const seconds = `SELECT EXTRACT(EPOCH FROM expires_at - created_at)::float8 AS seconds FROM tasks
      WHERE id = ANY($1) ORDER BY array_position($1, id)`;
    const { rows } = await platform.pool.query<{ seconds: number | null }>(seconds, [ids]);
    expect(rows.map((row) => row.seconds)).toEqual([7200, 3600, 120, null]);
    // A link ends with its image.
    const ends = Number(new URL(tasks[2]?.url ?? '').searchParams.get('exp'));
    expect(ends - Date.now() / 1_000).toBeLessThanOrEqual(120);
    expect(
      await refusalOf('/v1/images/generations', { body: { prompt: 'e', model: 'gpt-image-2', expires_after: 59 } }),
    ).toEqual([400, 'integer_below_min_value']);
    await platform.pool.query('UPDATE task_erasures SET due_at = now() WHERE task_id = ANY($1)', [ids]);
    const isErased = async (): Promise<boolean> =>
      (
        await platform.pool.query('SELECT 1 FROM task_erasures WHERE task_id = ANY($1) AND erased_at IS NOT NULL', [
          ids,
        ])
      ).rowCount === 3;
    expect(await waitUntil(isErased, { timeoutMs: 60_000 })).toBe(true);
    expect((await answerOf(`/v1/tasks/${ids[3] ?? ''}`)).status).toBe(200);
    expect((await storedKeys(platform)).filter((key) => ids.slice(0, 3).some((id) => key.includes(id)))).toEqual([]);
  });

  it('takes all that match a filter, after a confirmation where there is none', async () => {
    const account = await platform.newAccount();
    const key = await platform.newKey({}, account);
    const own = await platform.newKey({ tasks: 'own' }, account);
    const done = [await generate('one', {}, { key }), await generate('two', {}, { key })].map(({ id }) => id);
    const theirs = (await generate('three', {}, { key: own })).id;
    const failed = (await generate('[[fault=moderation]]', {}, { key })).id;
    const labels = { tags: ['draft'] };
    const tagged = [await generate('four', labels, { key }), await generate('five', labels, { key: own })].map(
      ({ id }) => id,
    );
    const running = (
      await platform.call('/v1/images/generations/async', {
        body: { model: 'gpt-image-2', prompt: '[[latency=60s]]', resolution: '1k' },
        key,
      })
    ).headers.get('location');
    const statusOf = async (ids: readonly string[]): Promise<number[]> =>
      await Promise.all(ids.map(async (id) => (await answerOf(`/v1/tasks/${id}`, { key })).status));

    expect(await refusalOf('/v1/tasks', { method: 'DELETE', key })).toEqual([400, 'missing_required_parameter']);
    const unknown = await refusalOf('/v1/tasks?status=failed&owner=me', { method: 'DELETE', key });
    expect(unknown).toEqual([400, 'unsupported_parameter']);
    const finished = async (query: string, as: string): Promise<{ deleted: number }> => {
      const { status, text } = await answerOf(`/v1/tasks?${query}`, { method: 'DELETE', key: as });
      expect([status, JSON.parse(text)]).toMatchObject([
        202,
        { object: 'task.erasure', status: 'in_progress', deleted: 0 },
      ]);
      const { id } = JSON.parse(text) as { id: string };
      expect(await refusalOf(`/v1/erasures/${id}`)).toEqual([404, 'not_found']);
      let now = { status: '', deleted: 0 };
      const isDone = async (): Promise<boolean> => {
        now = JSON.parse((await answerOf(`/v1/erasures/${id}`, { key: as })).text) as typeof now;
        return now.status === 'completed';
      };
      expect(await waitUntil(isDone, { timeoutMs: 60_000 })).toBe(true);
      return now;
    };
    expect(await finished('before=1700000000', key)).toMatchObject({ deleted: 0 });
    expect(await finished('status=failed', key)).toMatchObject({ deleted: 1 });
    expect(await statusOf([...done, theirs, failed])).toEqual([200, 200, 200, 410]);
    expect(await finished('tag=nothing', key)).toMatchObject({ deleted: 0 });
    expect(await finished('tag=draft', own)).toMatchObject({ deleted: 1 });
    expect(await statusOf([...done, theirs, ...tagged])).toEqual([200, 200, 200, 200, 410]);
    expect(await finished('tag=draft', key)).toMatchObject({ deleted: 1 });
    expect(await statusOf([...done, theirs, ...tagged])).toEqual([200, 200, 200, 410, 410]);
    expect(await finished('all=true', own)).toMatchObject({ deleted: 1 });
    expect(await statusOf([...done, theirs])).toEqual([200, 200, 410]);
    expect(await finished('all=true', key)).toMatchObject({ deleted: 3 });
    expect(await statusOf(done)).toEqual([410, 410]);
    expect((await answerOf(running ?? '', { key })).status).toBe(410);
  });

  it('is finished by another worker when API and worker are killed in the middle of it', async () => {
    const { id } = await generate(`${CANARY} half gone`);
    const api = await startApi(platform.settings);
    const blocker = await platform.pool.connect();
    const waiting = `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    const isBlocked = async (): Promise<boolean> => ((await platform.pool.query(waiting)).rowCount ?? 0) > 0;
    try {
      await blocker.query('BEGIN; LOCK TABLE webhook_deliveries IN SHARE MODE');
      const cut = platform.call(`/v1/tasks/${id}`, { method: 'DELETE', at: api }).catch(() => undefined);
      expect(await waitUntil(isBlocked, { timeoutMs: 30_000 })).toBe(true);
      api.kill('SIGKILL');
      await api.exited;
      await cut;
      platform.worker.kill('SIGKILL');
      await platform.worker.exited;
      await blocker.query(`SELECT pg_terminate_backend(pid) FROM (${waiting}) AS waiting`);
      expect(await refusalOf(`/v1/tasks/${id}`)).toEqual(GONE);
      const victim = await startWorker(platform.settings);
      expect(await waitUntil(isBlocked, { timeoutMs: 60_000 })).toBe(true);
      victim.kill('SIGKILL');
      await victim.exited;
    } finally {
      await blocker.query('ROLLBACK');
      blocker.release();
    }
    expect((await storedKeys(platform)).some((key) => key.includes(id))).toBe(true);
    expect(await refusalOf(`/v1/tasks/${id}/receipt`)).toEqual([404, 'not_found']);
    const successor = await startWorker(platform.settings);
    expect(await receiptOf(id)).toMatchObject({ id, images: 1 });
    expect((await storedKeys(platform)).some((key) => key.includes(id))).toBe(false);
    expect(await tableTexts(platform)).not.toContain(CANARY);
    await successor.stop();
  });
});
