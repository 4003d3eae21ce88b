import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { APIError } from 'openai';
import OpenAI from 'openai';
import { waitUntil } from '#embedded/wait-until.js';
import { BudgetRepository } from '#billing/budget.repository.js';
import { EndpointStore } from '#notifications/endpoint-store.js';
import { WebhooksConfig } from '#notifications/webhooks.config.js';
import { endedBatch, lineOf, readBatch, startBatch } from '../support/batches.js';
import { type Browser, signInFirstAdmin, signInInvited } from '../support/console.js';
import { databaseOf } from '../support/open-prisma.js';
import { patientSetting } from '../support/patience.js';
import type { Platform } from '../support/platform.js';
import { startApi } from '../support/processes.js';
import { TEST_ACCOUNT } from '../support/task-room.js';
import { startWebhookPlatform, type WebhookPlatform } from '../support/webhook-platform.js';

const GENERATIONS = '/v1/images/generations';
const PRICE = 40_001;
/** A budget that covers three images, and nothing more. */
const BUDGET = 3 * PRICE;
const MODELS = `providers:
  drawn: { type: sandbox }
models:
  priced: { kind: image, routes: [{ provider: drawn }], prices: [{ from: 2026-01-01, per_image: { 1k: 0.040001, 2k: 0.040001, 4k: 1 } }] }
  unpriced: { kind: image, routes: [{ provider: drawn }], prices: [{ from: 2026-01-01, per_million_tokens: { input: 5, output: 40 } }] }
  gratis: { kind: image, routes: [{ provider: drawn }] }
`;

interface Shown {
  readonly data: {
    readonly id: string;
    readonly status: string;
    readonly phase: string;
    readonly error?: { readonly code: string; readonly http_status: number; readonly message: string };
    readonly cost?: { readonly state: string; readonly amount: string };
    readonly timeline?: { readonly event: string }[];
  };
}

interface Refused {
  readonly error: { readonly code: string; readonly type: string; readonly task_id?: string };
}

interface Approvals {
  readonly count: number;
  readonly data: { readonly task: { readonly id: string }; readonly approve_above: string }[];
}

/** A platform whose images cost 40,001 millionths, and keys with thresholds and budgets. */
describe('approval above a price', () => {
  let room: WebhookPlatform;
  let platform: Platform;
  let ada: Browser;
  let prompts = 0;
  const file = join(tmpdir(), `darkroom-approvals-${process.pid}.yaml`);

  beforeAll(async () => {
    await writeFile(file, MODELS);
    // What a busy machine reads too late would be told again.
    const WEBHOOK_TIMEOUT_MS = patientSetting(15_000, 60_000);
    room = await startWebhookPlatform({ MODELS_FILE: file, WEBHOOK_TIMEOUT_MS });
    ({ platform } = room);
    ada = await signInFirstAdmin(platform);
  });
  afterAll(async () => {
    await room.close();
    await rm(file);
  });

  const order = (changes: object = {}) => ({
    ...{ model: 'priced', prompt: `a harbor, ${++prompts}`, resolution: '1k' },
    ...changes,
  });

  /** A key with a threshold and a budget, in millionths. */
  async function payer(above: number | null, columns: Readonly<Record<string, unknown>> = {}) {
    const { id, key } = await platform.newKeyWithId({ ...columns, approve_above_micros: above });
    const budgets = new BudgetRepository(databaseOf(platform));
    await budgets.set({ ownerId: id, owner: 'key' }, { limit: BUDGET, period: 'total' });
    return { id, key, spent: async () => (await budgets.find([id]))[0]?.spent };
  }

  async function submit(key: string, body: object = order(), headers = {}): Promise<string> {
    const response = await platform.call(`${GENERATIONS}/async`, { key, body, headers });
    expect(response.status).toBe(202);
    return response.headers.get('x-task-id') ?? '';
  }

  async function read(id: string, query = ''): Promise<Shown['data']> {
    return ((await (await platform.call(`/v1/tasks/${id}${query}`)).json()) as Shown).data;
  }

  async function ended(id: string): Promise<Shown['data']> {
    expect(await waitUntil(async () => (await read(id)).status !== 'pending', { timeoutMs: 60_000 })).toBe(true);
    return await read(id);
  }

  async function startsOf(id: string): Promise<number> {
    const { rows } = await platform.pool.query<{ n: number }>('SELECT provider_starts AS n FROM tasks WHERE id = $1', [
      id,
    ]);
    return rows[0]?.n ?? NaN;
  }

  async function waiting(id: string): Promise<Approvals['data'][number] | undefined> {
    return (await ada.ask<Approvals>('/approvals')).data.find(({ task }) => task.id === id);
  }

  const approve = (id: string, who = ada) => who.call(`/tasks/${id}/approve`, { method: 'POST' });

  async function emptyRedis(): Promise<void> {
    const redis = new Redis(platform.settings['REDIS_URL'] ?? '');
    const match = `${platform.settings['REDIS_PREFIX'] ?? ''}*`;
    for await (const keys of redis.scanStream({ match }) as AsyncIterable<string[]>)
      if (keys.length > 0) await redis.unlink(keys);
    redis.disconnect();
  }

  it('holds what costs more than the threshold, and neither what costs as much nor what is free', async () => {
    const at = await payer(PRICE);
    expect(await ended(await submit(at.key))).toMatchObject({ status: 'completed' });
    const below = await payer(PRICE - 1);
    const id = await submit(below.key);
    expect(await read(id)).toMatchObject({ status: 'pending', phase: 'held' });
    expect(await waiting(id)).toMatchObject({ approve_above: '0.040000', task: { waiting: { for: 'approval' } } });
    const { key: gratis } = await platform.newKeyWithId({ approve_above_micros: 0 });
    expect(await ended(await submit(gratis, order({ model: 'gratis' })))).toMatchObject({ status: 'completed' });
  });

  it('holds what has no known price, whatever the threshold', async () => {
    const { key } = await platform.newKeyWithId({ approve_above_micros: 900_000_000 });
    expect(await read(await submit(key, order({ model: 'unpriced' })))).toMatchObject({ phase: 'held' });
  });

  it('leaves the other lines of a batch alone, and runs a held one once it is approved', async () => {
    // One line in flight at a time.
    const { key } = await platform.newKeyWithId({ approve_above_micros: 0, tasks_in_flight: 2 });
    const lines = ['priced', 'priced', 'gratis', 'gratis'].map((model, at) => lineOf(`line-${at}`, order({ model })));
    const { id } = await startBatch(platform, lines, { key });
    const done = async () => (await readBatch(platform, id)).request_counts.completed === 2;
    expect(await waitUntil(done, { timeoutMs: 60_000 })).toBe(true);
    const text = `SELECT id FROM tasks WHERE batch_id = $1 AND phase = 'held'`;
    const held = (await platform.pool.query<{ id: string }>(text, [id])).rows;
    expect(held).toHaveLength(2);
    for (const task of held) await approve(task.id);
    expect(await endedBatch(platform, id)).toMatchObject({ status: 'completed', request_counts: { completed: 4 } });
  });

  it('takes the lower one of the thresholds of a key and its account', async () => {
    const accountId = await platform.newAccount();
    await platform.pool.query('UPDATE accounts SET approve_above_micros = $2 WHERE id = $1', [accountId, PRICE - 1]);
    const { key } = await platform.newKeyWithId({ approve_above_micros: PRICE }, accountId);
    const held = await platform.call(GENERATIONS, { key, body: order() });
    expect([held.status, await held.json()]).toMatchObject([409, { error: { code: 'approval_required' } }]);
  });

  it('reserves while it is held, and settles once what was approved', async () => {
    const { key, spent } = await payer(0);
    const id = await submit(key);
    expect(await spent()).toBe(PRICE);
    await approve(id);
    expect(await ended(id)).toMatchObject({ status: 'completed', cost: { state: 'settled', amount: '0.040001' } });
    expect([await spent(), await startsOf(id)]).toEqual([PRICE, 1]);
    expect((await read(id, '?include=timeline')).timeline?.map(({ event }) => event)).toEqual([
      ...['accepted', 'approved', 'started', 'provider_call', 'completed'],
    ]);
  });

  it('counts what is held in the budget, so that it can’t be overdrawn by approvals', async () => {
    const { key, spent } = await payer(0);
    await Promise.all([submit(key), submit(key), submit(key)]);
    expect(await spent()).toBe(BUDGET);
    const more = await platform.call(`${GENERATIONS}/async`, { key, body: order() });
    expect([more.status, await more.json()]).toMatchObject([402, { error: { code: 'insufficient_quota' } }]);
  });

  it('lets the first of simultaneous decisions win, and tells the others', async () => {
    const { key, spent } = await payer(0);
    const id = await submit(key);
    const bob = await signInInvited(platform, { email: 'bob@example.org', role: 'admin' });
    const answers = await Promise.all([
      ...[ada, bob, ada, bob].map((who) => approve(id, who)),
      bob.call(`/tasks/${id}/reject`, { body: { reason: 'Too dear.' } }),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409]);
    const refused = (await answers.find(({ status }) => status === 409)?.json()) as Refused;
    expect(refused.error).toMatchObject({ code: 'already_decided', type: 'conflict_error', task_id: id });
    const { status } = await ended(id);
    expect(await spent()).toBe(status === 'completed' ? PRICE : 0);
    expect(await startsOf(id)).toBe(status === 'completed' ? 1 : 0);
  });

  it('refunds what is rejected, and tells the caller why', async () => {
    const { key, spent } = await payer(0);
    const id = await submit(key);
    await ada.ask(`/tasks/${id}/reject`, { body: { reason: 'Use the cheaper model.' } });
    expect(await read(id)).toMatchObject({
      status: 'failed',
      error: {
        code: 'approval_rejected',
        http_status: 403,
        message: 'The request was not approved: Use the cheaper model.',
      },
      cost: { state: 'refunded' },
    });
    expect([await spent(), await startsOf(id)]).toEqual([0, 0]);
    expect(await waiting(id)).toBeUndefined();
  });

  it('fails and refunds what nobody approves in time', async () => {
    const { key, spent } = await payer(0);
    const id = await submit(key);
    await platform.pool.query(`UPDATE tasks SET deadline_at = now() - interval '1 second' WHERE id = $1`, [id]);
    expect((await approve(id)).status).toBe(409);
    expect(await ended(id)).toMatchObject({ status: 'failed', error: { code: 'approval_expired', http_status: 403 } });
    expect([await spent(), await startsOf(id)]).toEqual([0, 0]);
  });

  it('is cancelled by its caller, for nothing', async () => {
    const { key, spent } = await payer(0);
    const id = await submit(key);
    const cancelled = await platform.call(`/v1/tasks/${id}/cancel`, { key, method: 'POST' });
    expect(await cancelled.json()).toMatchObject({ data: { status: 'cancelled', charged: 'none' } });
    expect((await approve(id)).status).toBe(409);
    expect([await spent(), await startsOf(id)]).toEqual([0, 0]);
  });

  it('takes no slot while it is held, and one once it is approved', async () => {
    const { key, spent } = await payer(0, { tasks_in_flight: 1 });
    const held = await submit(key);
    await submit(key);
    expect(await spent()).toBe(2 * PRICE);
    expect(await ended(await submit(key, order({ model: 'gratis' })))).toMatchObject({ status: 'completed' });
    await approve(held);
    expect(await ended(held)).toMatchObject({ status: 'completed' });
  });

  it('tells a synchronous caller at once, whose equal request gets the same task, then its image, once', async () => {
    const { key, spent } = await payer(0);
    const body = order();
    const send = () => platform.call(GENERATIONS, { key, body });
    const [first, second] = await Promise.all([send(), send()]);
    const { error } = (await first.json()) as Refused;
    expect(first.status).toBe(409);
    expect(error).toMatchObject({ code: 'approval_required', type: 'conflict_error' });
    expect(first.headers.get('x-should-retry')).toBe('false');
    const id = error.task_id ?? '';
    expect(first.headers.get('x-task-id')).toBe(id);
    expect(second.headers.get('x-task-id')).toBe(id);
    expect((await send()).headers.get('x-task-id')).toBe(id);
    expect(await spent()).toBe(PRICE);
    await approve(id);
    const answered = await send();
    expect([answered.status, answered.headers.get('x-task-id')]).toEqual([200, id]);
    await answered.arrayBuffer();
    // An answer without the cost could not note in time that it told the outcome; that is noted a little later.
    const isTold = async (): Promise<boolean> => {
      if (answered.headers.has('x-litellm-response-cost')) return true;
      const text = 'SELECT 1 FROM tasks WHERE id = $1 AND delivered_at IS NOT NULL';
      return (await platform.pool.query(text, [id])).rowCount === 1;
    };
    expect(await waitUntil(isTold, { timeoutMs: 30_000 })).toBe(true);
    const again = await send();
    expect(again.status).toBe(409);
    expect(again.headers.get('x-task-id')).not.toBe(id);
  });

  it('buys once for a synchronous caller when the threshold goes between its refusal and its equal request', async () => {
    const { id: keyId, key, spent } = await payer(0);
    const body = order();
    const send = () => platform.call(GENERATIONS, { key, body });
    const id = (await send()).headers.get('x-task-id') ?? '';
    expect((await ada.call(`/keys/${keyId}`, { method: 'PATCH', body: { approve_above: null } })).status).toBe(200);
    const held = await send();
    expect([held.status, held.headers.get('x-task-id')]).toEqual([409, id]);
    await approve(id);
    const answered = await send();
    expect([answered.status, answered.headers.get('x-task-id')]).toEqual([200, id]);
    expect(await spent()).toBe(PRICE);
  });

  it('lets a synchronous caller wait with Prefer: wait', async () => {
    const { key } = await payer(0);
    const answer = platform.call(GENERATIONS, { key, body: order(), headers: { prefer: 'wait=60' } });
    const find = async () => (await ada.ask<Approvals>('/approvals')).data.find(({ task }) => mine(task));
    const mine = (task: { id: string }) => (task as { prompt?: string }).prompt === `a harbor, ${prompts}`;
    expect(await waitUntil(async () => (await find()) !== undefined, { timeoutMs: 30_000 })).toBe(true);
    await approve((await find())?.task.id ?? '');
    expect((await answer).status).toBe(200);
  });

  it('tells the callers of streams and chats before the first event', async () => {
    const { key } = await payer(0);
    const streamed = await platform.call(GENERATIONS, { key, body: order({ stream: true }) });
    expect([streamed.status, await streamed.json()]).toMatchObject([409, { error: { code: 'approval_required' } }]);
    for (const stream of [false, true]) {
      const body = { model: 'priced', stream, messages: [{ role: 'user', content: `a harbor, ${++prompts}` }] };
      const chat = await platform.call('/v1/chat/completions', { key, body });
      expect([chat.status, await chat.json()]).toMatchObject([409, { error: { code: 'approval_required' } }]);
    }
  });

  it('is not retried by the OpenAI SDK, whose later equal call gets the same task', async () => {
    const { key, spent } = await payer(0);
    const openai = new OpenAI({ apiKey: key, baseURL: `${platform.url}/v1`, maxRetries: 3 });
    const { model, prompt } = order();
    const call = () => openai.images.generate({ model, prompt });
    const refused = async (): Promise<APIError> =>
      await call().then(
        () => Promise.reject(new Error()),
        (error: APIError) => error,
      );
    const [one, other] = [await refused(), await refused()];
    expect([one.status, one.code, other.headers?.get('x-task-id')]).toEqual([
      ...[409, 'approval_required', one.headers?.get('x-task-id')],
    ]);
    expect(await spent()).toBe(PRICE);
    await approve(one.headers?.get('x-task-id') ?? '');
    expect((await call()).data).toHaveLength(1);
  });

  it('gets the same task for the same Idempotency-Key, and its rejection afterwards', async () => {
    const { key, spent } = await payer(0);
    const body = order();
    const send = () => platform.call(GENERATIONS, { key, body, headers: { 'idempotency-key': `approval-${prompts}` } });
    const id = (await send()).headers.get('x-task-id') ?? '';
    expect((await send()).headers.get('x-task-id')).toBe(id);
    expect(await spent()).toBe(PRICE);
    await ada.ask(`/tasks/${id}/reject`, { body: {} });
    const answered = await send();
    expect([answered.status, await answered.json()]).toMatchObject([403, { error: { code: 'approval_rejected' } }]);
  });

  it('outlives the API that accepted it, and an emptied Redis before and after its approval', async () => {
    const { key, spent } = await payer(0);
    const other = await startApi({ ...platform.settings, PORT: undefined });
    const accepted = await platform.call(`${GENERATIONS}/async`, { key, body: order(), at: other });
    const id = accepted.headers.get('x-task-id') ?? '';
    other.kill('SIGKILL');
    await other.exited;
    platform.worker.kill('SIGSTOP');
    const later = await submit(key, order({ model: 'gratis' }));
    await emptyRedis();
    // As if it was requested again, or the sweep would leave it alone for as long as its caller might be refused.
    await platform.pool.query(`UPDATE tasks SET next_try_at = now() - interval '10 seconds' WHERE id = $1`, [later]);
    platform.worker.kill('SIGCONT');
    // The sweep that enqueued the later one has seen the held one, too.
    expect(await ended(later)).toMatchObject({ status: 'completed' });
    expect(await read(id)).toMatchObject({ phase: 'held' });
    await approve(id);
    await emptyRedis();
    expect(await ended(id)).toMatchObject({ status: 'completed' });
    expect([await spent(), await startsOf(id)]).toEqual([PRICE, 1]);
  });

  it('is decided about by keys with the permission alone, and never by the key that ordered it', async () => {
    const { key } = await payer(0, { scopes: ['images', 'approve'] });
    const id = await submit(key);
    const decide = async (by: string, what = 'approve', body: object = {}) => {
      const answer = await platform.call(`/v1/tasks/${id}/${what}`, { key: by, method: 'POST', body });
      return [answer.status, ((await answer.json()) as Partial<Refused>).error?.code];
    };
    expect(await decide(platform.key)).toEqual([403, 'endpoint_not_allowed']);
    expect(await decide(key)).toEqual([403, 'not_permitted']);
    expect(await decide(await platform.newKey({ scopes: ['approve'], tasks: 'own' }))).toEqual([404, 'task_not_found']);
    const stranger = await platform.newKey({ scopes: ['approve'] }, await platform.newAccount());
    expect(await decide(stranger)).toEqual([404, 'task_not_found']);
    const approver = await platform.newKeyWithId({ scopes: ['approve'] });
    expect(await decide(approver.key, 'reject', { reason: 'x'.repeat(501) })).toEqual([400, 'string_above_max_length']);
    expect(await decide(approver.key)).toEqual([200, undefined]);
    expect(await decide(approver.key)).toEqual([409, 'already_decided']);
    expect(await ended(id)).toMatchObject({ status: 'completed' });
    const { data } = await ada.ask<{ data: { action: string; target: string; details: object }[] }>('/audit');
    expect(data.find(({ action, target }) => action === 'task.approved' && target === id)?.details).toEqual({
      key: approver.id,
    });
  });

  it('is seen and decided about in the console by owners and admins alone', async () => {
    const { key } = await payer(0);
    const id = await submit(key);
    const mo = await signInInvited(platform, { email: 'mo@example.org', role: 'member' });
    expect((await mo.call('/approvals')).status).toBe(403);
    expect((await approve(id, mo)).status).toBe(403);
    const eve = await signInInvited(platform, {
      ...{ email: 'eve@example.org', role: 'admin', accountId: await platform.newAccount() },
    });
    expect(await eve.ask('/approvals')).toEqual({ data: [], count: 0 });
    expect((await approve(id, eve)).status).toBe(404);
    expect((await ada.ask<{ count: number }>('/approvals/count')).count).toBeGreaterThan(0);
  });

  it('is not avoided by a member, neither with the key, nor with another one, nor in the playground', async () => {
    const lou = await signInInvited(platform, { email: 'lou@example.org', role: 'member' });
    const { key } = await lou.ask<{ key: { id: string } }>('/keys', { body: { name: 'of a member' } });
    const patch = (who: Browser, above: string | null) =>
      who.call(`/keys/${key.id}`, { method: 'PATCH', body: { approve_above: above } });
    expect(await (await patch(ada, '0.04')).json()).toMatchObject({ approve_above: '0.040000' });
    expect((await patch(lou, null)).status).toBe(403);
    expect((await lou.call('/keys', { body: { name: 'another' } })).status).toBe(403);
    const { task_id: id } = await lou.ask<{ task_id: string }>('/images', { body: order() });
    expect(await read(id)).toMatchObject({ phase: 'held' });
  });

  it('has at most 1,000 tasks of an account wait, of which an equal request still gets its own', async () => {
    const accountId = await platform.newAccount();
    const { id, key } = await platform.newKeyWithId({ approve_above_micros: 0 }, accountId);
    const body = order();
    const send = (changes = {}) => platform.call(GENERATIONS, { key, body: { ...body, ...changes } });
    const first = (await send()).headers.get('x-task-id');
    await platform.pool.query(
      `INSERT INTO tasks (id, account_id, api_key_id, request_id, action, model, prompt, options, phase, deadline_at, approval)
       SELECT 'task_held' || n, $1, $2, '', 'generation', 'priced', '', '{}', 'held', now() + interval '1 day', '{"above": 0}'
       FROM generate_series(1, 999) AS n`,
      [accountId, id],
    );
    const refused = await send({ prompt: 'one more' });
    expect([refused.status, await refused.json()]).toMatchObject([
      429,
      { error: { code: 'concurrency_limit_exceeded' } },
    ]);
    const again = await send();
    expect([again.status, again.headers.get('x-task-id')]).toEqual([409, first]);
  });

  it('is told to the webhook endpoints that ask for it, once, and its end to the others', async () => {
    const endpoints = new EndpointStore(databaseOf(platform), { ...new WebhooksConfig(), endpointsPerAccount: 0 });
    const asks = await endpoints.add(TEST_ACCOUNT, room.receiver.url('/asks'), [
      'image.task.held',
      'image.task.failed',
    ]);
    const usual = await endpoints.add(TEST_ACCOUNT, room.receiver.url('/usual'));
    const { key } = await payer(0);
    const id = await submit(key);
    const [held] = await room.receiver.arrived('/asks');
    expect(held?.event).toMatchObject({
      ...{ id: `${id.replace('task', 'evt')}_held`, type: 'image.task.held' },
      data: { id, status: 'pending', phase: 'held' },
    });
    await ada.ask(`/tasks/${id}/reject`, { body: {} });
    const [, end] = await room.receiver.arrived('/asks', 2);
    const [only] = await room.receiver.arrived('/usual');
    expect([end?.event.id, only?.event.type]).toEqual([id.replace('task', 'evt'), 'image.task.failed']);
    await endpoints.remove(TEST_ACCOUNT, asks);
    await endpoints.remove(TEST_ACCOUNT, usual);
  });
});
