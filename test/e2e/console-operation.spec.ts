import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { EmbeddedService } from '#embedded/postgres.js';
import { startRedis } from '#embedded/redis.js';
import { waitUntil } from '#embedded/wait-until.js';
import { newTaskId } from '#tasks/row/task-id.js';
import { signInFirstAdmin, signInInvited, type Browser } from '../support/console.js';
import { insertFailed } from '../support/failed-task.js';
import { freePort } from '../support/free-port.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { startWorker } from '../support/processes.js';

/** The second provider is at a port where nobody answers. */
const MODELS = `
currency: USD
providers:
  house: { type: sandbox, limits: { concurrency: 4 } }
  broken: { type: openai, base_url: "http://127.0.0.1:9/v1", keys: [{ name: team, env: KEY_OF_TEAM }] }
models:
  gpt-image-2:
    kind: image
    routes: [{ provider: house }, { provider: broken }]
    prices: [{ from: 2026-01-01, per_image: { 1k: 0.02, 2k: 0.04, 4k: 0.16 } }]
  talk: { kind: chat, routes: [{ provider: house }] }
`;
const WAIT = { timeoutMs: 30_000 };
const KIND = { code: 'upstream_error', provider: 'house', model: 'gpt-image-2' };

type Json = Record<string, unknown>;
interface Rows<Row = Json> {
  readonly data: Row[];
  readonly next: string | null;
}
interface Outcome {
  readonly retried: { task_id: string; new_task_id: string }[];
  readonly refused: { task_id: string; code: string; message: string }[];
  readonly next: string | null;
}
interface Queue {
  readonly workers: { host: string; pid: number; slots: number; version: string; last_seen_at: string }[];
}

describe('providers and queue in the console', () => {
  let folder: string;
  let redis: EmbeddedService;
  let platform: Platform;
  let ada: Browser;
  let member: Browser;
  let eve: Browser;
  const codeOf = async (response: Response): Promise<[number, string]> => [
    response.status,
    ((await response.json()) as { error: { code: string } }).error.code,
  ];
  const provider = async (name: string): Promise<Json> =>
    (await ada.ask<Rows>('/providers')).data.find((one) => one['name'] === name)!;
  const test = async (name: string, body = {}): Promise<string> =>
    (await ada.ask<{ task_id: string }>(`/providers/${name}/test`, { body })).task_id;
  const ended = async (id: string): Promise<Json> => {
    const find = () => ada.ask<Json>(`/tasks/${id}`);
    await waitUntil(async () => (await find())['status'] !== 'pending', { timeoutMs: 30_000 });
    return await find();
  };
  const retry = (body: object): Promise<Outcome> => ada.ask<Outcome>('/failures/retry', { body });
  const rowOf = async (id: string): Promise<Json> =>
    (await platform.pool.query<Json>('SELECT * FROM tasks WHERE id = $1', [id])).rows[0]!;
  const audit = async (what: string, who = ada): Promise<Json[]> =>
    (await who.ask<Rows>('/audit')).data
      .filter(({ action }) => String(action).startsWith(what))
      .map(({ action, target, details, person }) => ({
        action,
        target,
        details,
        person: (person as { name: string } | null)?.name ?? null,
      }));

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-operation-'));
    await writeFile(join(folder, 'models.yaml'), MODELS);
    redis = await startRedis({
      folder: join(folder, 'redis'),
      password: 'operation',
      log: join(folder, 'redis.log'),
      port: await freePort(),
      toolFolders: [resolve('node_modules', '.cache', 'darkroom')],
      durable: false,
    });
    platform = await startPlatform({
      REDIS_URL: redis.url,
      REDIS_PREFIX: '{operation}',
      MODELS_FILE: join(folder, 'models.yaml'),
      KEY_OF_TEAM: 'sk-canary',
      SHUTDOWN_GRACE_MS: '1000',
    });
    ada = await signInFirstAdmin(platform);
    member = await signInInvited(platform, { email: 'mo@example.org', role: 'member' });
    const accountId = await platform.newAccount();
    eve = await signInInvited(platform, { email: 'eve@example.org', role: 'admin', accountId });
  });
  afterAll(async () => {
    await platform.close();
    await redis.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it.each<[string, object | undefined]>([
    ['/providers', undefined],
    ['/providers/house/drain', {}],
    ['/providers/house/resume', {}],
    ['/providers/house/test', {}],
    ['/providers/house/try', {}],
    ['/queue', undefined],
    ['/queue/history', undefined],
    ['/failures', undefined],
    ['/failures/tasks?code=upstream_error&model=gpt-image-2', undefined],
    ['/failures/retry', { code: 'upstream_error', model: 'gpt-image-2' }],
  ])('%s is for operators', async (path, body) => {
    for (const who of [member, eve]) {
      expect(await codeOf(await who.call(path, body === undefined ? {} : { body }))).toEqual([403, 'not_permitted']);
    }
  });

  it('tells of each provider what it is for and what a trial of it costs', async () => {
    expect(await provider('house')).toMatchObject({
      type: 'sandbox',
      models: ['gpt-image-2', 'talk'],
      concurrency: 4,
      has_key: true,
      unset_keys: [],
      trials: [{ model: 'gpt-image-2', cost: { amount: '0.020000', currency: 'USD' } }],
    });
    expect(await provider('broken')).toMatchObject({ images_url: 'http://127.0.0.1:9/v1/images/generations' });
    expect(JSON.stringify(await provider('broken'))).not.toContain('canary');
  });

  it('drains with a reason, and tries the drained provider out, and it alone', async () => {
    expect(await codeOf(await ada.call('/providers/house/drain', { body: { reason: 'a\nb' } }))).toEqual([
      ...[400, 'invalid_value'],
    ]);
    expect((await ada.call('/providers/house/drain', { body: { reason: 'bill not paid' } })).status).toBe(204);
    expect(await provider('house')).toMatchObject({
      drained: { reason: 'bill not paid (by ada@example.org in the console)' },
    });
    // Who waits for the house now waits until it is resumed; the worker knows of the drain by then.
    const refused = async (): Promise<boolean> => {
      const body = { model: 'gpt-image-2', prompt: 'not by the house', resolution: '1k' };
      const answer = await platform.call('/v1/images/generations', { body });
      await answer.text();
      return answer.status >= 500;
    };
    expect(await waitUntil(refused, { timeoutMs: 20_000 })).toBe(true);
    const task = await ended(await test('house'));
    // By a key of its own, so that the test is no image of the playground's.
    expect(task).toMatchObject({ status: 'completed', key: { name: 'Provider test' }, cost: { amount: '0.020000' } });
    const calls = (task['timeline'] as Json[]).filter(({ event }) => event === 'provider_call');
    expect(calls.map((call) => call['provider'])).toEqual(['house']);
    expect(await provider('house')).toMatchObject({ drained: { reason: expect.any(String) } });
    expect((await ada.call('/providers/house/resume', { method: 'POST' })).status).toBe(204);
    expect((await audit('provider.')).map(({ action, target }) => [action, target])).toEqual([
      ...[
        ['provider.resumed', 'house'],
        ['provider.tested', 'house'],
        ['provider.drained', 'house'],
      ],
    ]);
  });

  it('shows how a broken provider fails, which no other one stands in for', async () => {
    const id = await test('broken', { model: 'gpt-image-2' });
    const row = await rowOf(id);
    expect(Number(row['deadline_at']) - Number(row['created_at'])).toBe(120_000);
    const task = await ended(id);
    expect(task).toMatchObject({ status: 'failed', error: { code: 'upstream_error', message: expect.any(String) } });
    const calls = (task['timeline'] as Json[]).filter(({ event }) => event === 'provider_call');
    expect(new Set(calls.map((call) => call['provider']))).toEqual(new Set(['broken']));
    const hourOf = async (name: string): Promise<Json> => (await provider(name))['last_hour'] as Json;
    // Also those of earlier callers, whom this provider was to serve while the other one was drained.
    const made = async (name: string): Promise<number> => {
      const text = `SELECT 1 FROM tasks, jsonb_array_elements(calls) AS call
        WHERE call ->> 'provider' = $1 AND call ->> 'outcome' IN ('succeeded', 'failed')`;
      return (await platform.pool.query(text, [name])).rowCount ?? 0;
    };
    const [ofHouse, ofBroken] = [await made('house'), await made('broken')];
    // The worker reports its calls once a second.
    expect(await waitUntil(async () => Number((await hourOf('broken'))['failing']) >= ofBroken, WAIT)).toBe(true);
    const none = { failed: 0, rate_limited: 0, timed_out: 0, rejected: 0, canceled: 0 };
    expect(await hourOf('house')).toMatchObject({
      total: { ...none, calls: ofHouse, succeeded: ofHouse, average_ms: expect.any(Number) },
      failing: 0,
      last_failure: null,
    });
    const failure = { model: 'gpt-image-2', code: 'upstream_error', status: null, provider_message: null };
    expect(await hourOf('broken')).toMatchObject({
      total: { ...none, calls: ofBroken, succeeded: 0, failed: ofBroken, average_ms: null },
      models: [{ model: 'gpt-image-2', calls: ofBroken }],
      failing: ofBroken,
      last_failure: { ...failure, message: 'The provider could not be reached.' },
    });
    // What an operator tried out is no failure of a caller.
    const listed = await ada.ask<Rows>(`/failures/tasks?code=upstream_error&provider=broken&model=gpt-image-2`);
    expect(listed.data.map((one) => one['id'])).not.toContain(id);
    const tests = await ada.ask<Rows>(
      `/failures/tasks?code=upstream_error&provider=broken&model=gpt-image-2&provider_test=true`,
    );
    expect(tests.data.map((one) => one['id'])).toEqual([id]);
    const kind = { code: 'upstream_error', provider: 'broken', model: 'gpt-image-2' };
    expect((await ada.ask<Rows>('/failures')).data).toContainEqual(
      expect.objectContaining({ ...kind, provider_test: true, count: 1, why_not: expect.stringContaining('Test') }),
    );
    expect(await retry({ tasks: [id] })).toMatchObject({ retried: [], refused: [{ task_id: id }] });
    // Drawn again by its owner, it is an image like any other.
    const { task_id: again } = await ada.ask<{ task_id: string }>(`/tasks/${id}/again`, { method: 'POST' });
    expect(await ended(again)).toMatchObject({ status: 'completed' });
  });

  it.each([
    ['none', {}, 404, 'not_found'],
    ['house', { model: 'talk' }, 400, 'model_not_found'],
    ['house', { provider: 'x' }, 400, 'unsupported_parameter'],
  ])('refuses to try %s out with %j', async (name, body, status, code) => {
    expect(await codeOf(await ada.call(`/providers/${name}/test`, { body }))).toEqual([status, code]);
  });

  it('lets no request choose its provider', async () => {
    const body = { model: 'gpt-image-2', prompt: 'mine', resolution: '1k', size: '1:1' };
    const chosen = { onlyProvider: 'broken', only_provider: 'broken', options: { onlyProvider: 'broken' } };
    const open = await platform.call('/v1/images/generations', { body: { ...body, ...chosen } });
    expect(open.status).toBe(200);
    const row = await rowOf(open.headers.get('x-task-id')!);
    expect([row['provider'], row['retry_of']]).toEqual(['house', null]);
    expect(row['options']).not.toHaveProperty('onlyProvider');
    const { task_id: id } = await ada.ask<{ task_id: string }>('/images', { body: { ...body, ...chosen } });
    expect((await rowOf(id))['options']).not.toHaveProperty('onlyProvider');
  });

  it('counts what ended minute by minute', async () => {
    // What the tests before ordered and did not wait for would end between the two counts.
    const pending = `SELECT count(*)::int AS count FROM tasks WHERE status = 'pending'`;
    const areOver = async () => (await platform.pool.query<{ count: number }>(pending)).rows[0]?.count === 0;
    expect(await waitUntil(areOver, { timeoutMs: 30_000 })).toBe(true);
    const { data } = await ada.ask<{ data: { completed: number; failed: number }[] }>('/queue/history');
    expect(data).toHaveLength(60);
    const { rows } = await platform.pool.query<Json>(
      `SELECT (count(*) FILTER (WHERE status = 'completed'))::int AS completed,
         (count(*) FILTER (WHERE status = 'failed'))::int AS failed FROM tasks`,
    );
    const sum = (name: 'completed' | 'failed'): number => data.reduce((total, minute) => total + minute[name], 0);
    expect({ completed: sum('completed'), failed: sum('failed') }).toEqual(rows[0]);
    expect(await ada.ask('/queue')).toMatchObject({ failed_last_hour: sum('failed'), waiting: 0 });
  });

  it('counts every task that waits by its row, with its age, whether or not a job of it is in Redis', async () => {
    const row = { status: 'pending', phase: 'queued', finished_at: null, error: null, provider: null };
    const times = { created_at: new Date(Date.now() - 41_000), deadline_at: new Date(Date.now() + 600_000) };
    // Nobody takes it before its time.
    const id = await insertFailed(platform, { ...row, ...times, next_try_at: new Date(Date.now() + 300_000) });
    const queue = await ada.ask<Json & { oldest_waiting_seconds: number }>('/queue');
    expect(queue).toMatchObject({ waiting: 1, waiting_for: [{ count: 1 }] });
    expect(queue.oldest_waiting_seconds).toBeGreaterThanOrEqual(41);
    expect(await ada.ask('/tasks/count?status=waiting')).toMatchObject({ count: 1 });
    await platform.pool.query('DELETE FROM tasks WHERE id = $1', [id]);
  });

  it('knows the workers, and soon that one was killed or stopped', async () => {
    const workers = async () => (await ada.ask<Queue>('/queue')).workers;
    const [first] = await workers();
    expect(first).toMatchObject({ pid: platform.worker.pid, slots: 10, running: expect.any(Number), version: '1.0.0' });
    const isSeenAgain = async (): Promise<boolean> => (await workers())[0]!.last_seen_at > first!.last_seen_at;
    expect(await waitUntil(isSeenAgain, { timeoutMs: 20_000, everyMs: 250 })).toBe(true);
    const settings = { ...platform.settings, WORKER_CONCURRENCY: '3' };
    const killed = await startWorker(settings);
    const stopped = await startWorker(settings);
    const pids = async () => (await workers()).map(({ pid }) => pid);
    const is = (...wanted: number[]) =>
      waitUntil(async () => String(await pids()) === String(wanted), { timeoutMs: 20_000, everyMs: 250 });
    expect(await is(platform.worker.pid, killed.pid, stopped.pid)).toBe(true);
    await stopped.stop();
    expect(await pids()).toEqual([platform.worker.pid, killed.pid]);
    killed.kill('SIGKILL');
    expect(await is(platform.worker.pid)).toBe(true);
  });

  it('groups what failed, and pages through it without showing a prompt', async () => {
    const message = 'Another trouble.';
    const old = await insertFailed(platform, { provider: null, code: 'storage_error', message });
    const refused = await insertFailed(platform, { code: 'moderation_blocked' });
    const ids: string[] = [];
    for (let n = 0; n < 3; n++) ids.unshift(await insertFailed(platform, { model: 'm2' }));
    await insertFailed(platform, { model: 'm3', finished_at: new Date(Date.now() - 3 * 86_400_000) });
    const { data } = await ada.ask<Rows>('/failures?days=1');
    const of = (code: string, model = 'gpt-image-2') =>
      data.find((one) => one['code'] === code && one['model'] === model);
    expect(data[0]).toMatchObject({ ...KIND, model: 'm2', count: 3, retried: 0, why_not: null });
    expect(of('storage_error')).toMatchObject({ provider: null, why_not: null });
    expect(of('moderation_blocked')).toMatchObject({ why_not: expect.stringContaining('would reject it again') });
    expect([of('upstream_error', 'm3'), (await ada.ask<Rows>('/failures')).data.length]).toEqual([
      ...[undefined, data.length + 1],
    ]);
    const page = (query: string) =>
      ada.ask<Rows>(`/failures/tasks?code=upstream_error&provider=house&model=m2${query}`);
    const first = await page('&limit=2');
    expect([first.data.map(({ id }) => id), first.next]).toEqual([ids.slice(0, 2), ids[1]]);
    expect((await page(`&limit=2&after=${first.next}`)).data.map(({ id }) => id)).toEqual(ids.slice(2));
    const [shown] = (await ada.ask<Rows>('/failures/tasks?code=storage_error&model=gpt-image-2')).data;
    expect(shown).toEqual({
      id: old,
      account: { id: 'acct_default', name: 'Default' },
      key: { id: expect.any(String), name: 'e2e' },
      failed_at: expect.any(String),
      message,
      retried_as: null,
    });
    expect(JSON.stringify([data, first, shown])).not.toContain('secret wish');
    expect(await retry({ tasks: [refused] })).toMatchObject({ retried: [], refused: [{ code: 'invalid_value' }] });
  });

  it('draws a failed task anew for its owner, once, however many ask', async () => {
    const accountId = await platform.newAccount();
    await platform.newKey({ name: 'shop', weight: 3 }, accountId);
    const { rows } = await platform.pool.query<{ id: string }>(`SELECT id FROM api_keys WHERE name = 'shop'`);
    const owner = await signInInvited(platform, { email: 'olga@example.org', role: 'admin', accountId });
    const sync = await insertFailed(platform, { account_id: accountId, api_key_id: rows[0]!.id });
    const told = await insertFailed(platform, { asynchronous: true, callback_url: 'https://127.0.0.1:9/told' });
    const gone = await insertFailed(platform, { account_id: accountId, api_key_id: rows[0]!.id, model: 'gone' });
    expect(await owner.ask('/tasks/open-failures')).toEqual({ count: 2 });
    // What has no price is counted, rather than making the whole sum unknown.
    const cost = { currency: 'USD', state: 'reserved', amount: '0.020000' };
    expect(await owner.ask('/tasks/retry?dry_run=true', { method: 'POST' })).toEqual({
      count: 2,
      refused: [],
      has_more: false,
      next: null,
      cost: { amount: '0.020000', currency: 'USD' },
      unpriced: 1,
      first: [
        { task_id: gone, prompt: 'a secret wish', cost: { ...cost, state: 'unpriced', amount: null } },
        { task_id: sync, prompt: 'a secret wish', cost },
      ],
    });
    const outcomes = await Promise.all(Array.from({ length: 6 }, () => retry({ tasks: [sync, told] })));
    expect(outcomes.flatMap((outcome) => outcome.retried.map(({ task_id: id }) => id)).sort()).toEqual(
      [sync, told].sort(),
    );
    expect(outcomes.flatMap(({ refused }) => refused.map(({ code }) => code))).toEqual(
      Array(10).fill('already_exists'),
    );
    const anew = async (old: string): Promise<Json> =>
      (await platform.pool.query<Json>('SELECT * FROM tasks WHERE retry_of = $1', [old])).rows[0]!;
    const one = await anew(sync);
    const two = await anew(told);
    expect(one).toMatchObject({
      account_id: accountId,
      api_key_id: rows[0]!.id,
      prompt: 'a secret wish',
      asynchronous: false,
      cost: { reserved: 20_000 },
    });
    expect(two).toMatchObject({
      asynchronous: true,
      callback_url: 'https://127.0.0.1:9/told',
      account_id: 'acct_default',
    });
    expect(await ended(String(two['id']))).toMatchObject({ status: 'completed', retry_of: told, retried_as: null });
    expect(await ada.ask(`/tasks/${told}`)).toMatchObject({ retried_as: two['id'], retry_of: null });
    expect(await owner.ask(`/tasks/${sync}`)).toMatchObject({ retried_as: one['id'] });
    // Its list says so, too, and nobody has to look at it any more.
    expect((await owner.ask<Rows>('/tasks')).data.map(({ id, retried_as: as }) => [id, as])).toEqual([
      [one['id'], null],
      [gone, null],
      [sync, one['id']],
    ]);
    expect(await owner.ask('/tasks/open-failures')).toEqual({ count: 1 });
    // Its owner reads that somebody else had it drawn, and not who.
    expect(await audit('tasks.', owner)).toEqual([
      { action: 'tasks.redriven', target: null, details: { count: 1, by: 'operator' }, person: null },
    ]);
    const counts = (await audit('tasks.redriven')).map(({ details }) => (details as { count: number }).count);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(2);
    const [group] = (await ada.ask<Rows>('/failures?days=1')).data.filter(
      (kind) => kind['model'] === KIND.model && kind['code'] === KIND.code && kind['provider'] === KIND.provider,
    );
    expect(group).toMatchObject({ retried: 2 });
  });

  it('counts a failed task that its owner runs again as retried, and nobody buys it once more', async () => {
    const accountId = await platform.newAccount();
    await platform.newKey({ name: 'press' }, accountId);
    const { rows } = await platform.pool.query<{ id: string }>(`SELECT id FROM api_keys WHERE name = 'press'`);
    const owner = await signInInvited(platform, { email: 'pia@example.org', role: 'admin', accountId });
    const own = { account_id: accountId, api_key_id: rows[0]!.id };
    const failed = await insertFailed(platform, own);
    // Nobody can do anything about what would be refused again.
    await insertFailed(platform, { ...own, code: 'moderation_blocked' });
    expect(await owner.ask('/tasks/open-failures')).toEqual({ count: 1 });
    const again = () => owner.ask<{ task_id: string }>(`/tasks/${failed}/again`, { method: 'POST' });
    const { task_id: first } = await again();
    expect(await owner.ask(`/tasks/${failed}`)).toMatchObject({ retried_as: first });
    expect(await owner.ask('/tasks/open-failures')).toEqual({ count: 0 });
    expect(await owner.ask('/tasks/retry', { method: 'POST' })).toMatchObject({ count: 0 });
    // Whoever asks for it once more gets another one, which is no retry.
    const { task_id: second } = await again();
    const ofTasks = await platform.pool.query<Json>(
      'SELECT id, retry_of FROM tasks WHERE id = ANY($1) ORDER BY created_at, id',
      [[first, second]],
    );
    expect(ofTasks.rows).toEqual([
      { id: first, retry_of: failed },
      { id: second, retry_of: null },
    ]);
  });

  it('says of each task why it was not drawn anew, and goes on with the others', async () => {
    const accountId = await platform.newAccount();
    const owned = async (name: string, columns: Json, account?: string): Promise<Json> => {
      await platform.newKey({ ...columns, name }, account);
      const { rows } = await platform.pool.query<{ id: string }>(`SELECT id FROM api_keys WHERE name = $1`, [name]);
      return { api_key_id: rows[0]!.id, ...(account === undefined ? {} : { account_id: account }) };
    };
    const revoked = await owned('revoked', { revoked_at: new Date() });
    const disabled = await owned('disabled', {}, accountId);
    const narrow = await owned('narrow', { models: ['other'] });
    const reader = await owned('reader', { scopes: ['tasks'] });
    const poor = await owned('poor', {});
    await platform.pool.query('UPDATE accounts SET disabled_at = now() WHERE id = $1', [accountId]);
    await platform.pool.query(
      `INSERT INTO budgets (owner_id, owner, limit_micros, period, spent_micros, period_start)
       VALUES ($1, 'key', 10000, 'total', 0, now())`,
      [poor['api_key_id']],
    );
    const image = { kind: 'object', key: `inputs/${newTaskId()}/0`, bytes: 4, param: 'image' };
    const cases: [Json, string][] = [
      [revoked, 'invalid_api_key'],
      [disabled, 'account_disabled'],
      [narrow, 'model_not_allowed'],
      [reader, 'endpoint_not_allowed'],
      [poor, 'insufficient_quota'],
      [{ inputs: [image], action: 'edit' }, 'invalid_value'],
      [{ model: 'gone' }, 'model_not_found'],
    ];
    const ids: string[] = [];
    for (const [columns] of cases) ids.push(await insertFailed(platform, { ...columns, code: 'generation_timeout' }));
    const fine = await insertFailed(platform, { code: 'interrupted' });
    const unknown = newTaskId();
    const { retried, refused } = await retry({ tasks: [...ids, unknown, fine] });
    expect(retried.map(({ task_id: id }) => id)).toEqual([fine]);
    expect(refused.map(({ task_id: id, code }) => [id, code]).sort()).toEqual(
      [...cases.map(([, code], index) => [ids[index], code]), [unknown, 'task_not_found']].sort(),
    );
    for (const { message } of refused) expect(message).not.toBe('');
    // Nothing is in the way of a later one: with the budget raised, the same task goes through.
    await platform.pool.query(`UPDATE budgets SET limit_micros = 1000000`);
    const poorTask = ids[cases.findIndex(([columns]) => columns === poor)]!;
    expect((await retry({ tasks: [poorTask] })).retried).toHaveLength(1);
  });

  it('draws a whole kind anew, a hundred at a time', async () => {
    for (let n = 0; n < 103; n++) await insertFailed(platform, { code: 'upstream_invalid_response' });
    const kind = { ...KIND, code: 'upstream_invalid_response', days: 1 };
    const first = await retry(kind);
    expect([first.retried.length, first.refused]).toEqual([100, []]);
    const second = await retry({ ...kind, after: first.next });
    expect([second.retried.length, second.next]).toEqual([3, null]);
    expect(await retry(kind)).toEqual({ retried: [], refused: [], next: null });
  });

  it.each([
    [{}, 'missing_required_parameter'],
    [{ tasks: [] }, 'invalid_value'],
    [{ tasks: ['x'] }, 'invalid_value'],
    [{ tasks: Array(101).fill(newTaskId()) }, 'array_above_max_length'],
    [{ code: 'x', model: 'y', days: 0 }, 'integer_below_min_value'],
    [{ code: 'x', model: 'y', after: '1' }, 'invalid_value'],
    [{ code: 'x\u0000', model: 'y' }, 'invalid_value'],
  ])('refuses to draw %j anew', async (body, code) => {
    expect(await codeOf(await ada.call('/failures/retry', { body }))).toEqual([400, code]);
  });

  it.each([
    '/failures?days=0',
    '/failures?days=x',
    '/failures/tasks?model=m',
    '/failures/tasks?code=a&model=b&after=x',
  ])('refuses %s', async (path) => {
    expect((await ada.call(path)).status).toBe(400);
  });

  it('says so when Redis is away, and shows what it can', async () => {
    await redis.stop();
    for (const path of ['/queue', '/providers']) {
      expect(await codeOf(await ada.call(path))).toEqual([503, 'server_is_overloaded']);
    }
    expect((await ada.ask<Rows>('/failures')).data).not.toEqual([]);
    const id = await insertFailed(platform);
    expect(await retry({ tasks: [id] })).toMatchObject({ refused: [{ code: 'server_is_overloaded' }] });
  });
});
