import { waitUntil } from '#embedded/wait-until.js';
import { patient } from '../support/patience.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { startApi, type TestProcess } from '../support/processes.js';

const REQUEST = { model: 'gpt-image-2', resolution: '1k', prompt: 'a small harbour' };

/** Two APIs that share nothing but the database and Redis. */
describe('limits of a key', () => {
  let platform: Platform;
  let second: TestProcess;
  beforeAll(async () => {
    platform = await startPlatform({
      RATE_SUBMITS_PER_MINUTE: '25',
      RATE_POLLS_PER_MINUTE: '20',
      MAX_TASKS_IN_FLIGHT: '2',
      // Keys of the tests share an account; what binds it is set in tests of its own.
      ACCOUNT_LIMIT_FACTOR: '0',
    });
    second = await startApi(platform.settings);
  });
  afterAll(async () => {
    await second.stop();
    await platform.close();
  });

  function get(api: { url: string }, path: string, key: string): Promise<Response> {
    return fetch(api.url + path, {
      headers: { authorization: `Bearer ${key}` },
      signal: AbortSignal.timeout(patient(60_000)),
    });
  }

  function submit(key: string, headers: Record<string, string> = {}, body: object = REQUEST): Promise<Response> {
    return platform.call('/v1/images/generations/async', { key, headers, body });
  }

  it('counts polls exactly at both processes, and says what is left and how long to wait', async () => {
    const key = await platform.newKey();
    const other = await platform.newKey();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => get(n % 2 === 0 ? platform : second, '/v1/tasks', key)),
    );
    const good = answers.filter(({ status }) => status === 200);
    expect(
      good.map(({ headers }) => Number(headers.get('x-ratelimit-remaining-requests'))).sort((a, b) => a - b),
    ).toEqual(Array.from({ length: 20 }, (_, n) => n));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(30);
    const headers = Object.fromEntries(refused[0]?.headers ?? []);
    expect(headers).toMatchObject({
      'x-ratelimit-limit-requests': '20',
      'x-ratelimit-remaining-requests': '0',
      'ratelimit-policy': '"polls";q=20;w=60',
    });
    expect(headers['x-ratelimit-reset-requests']).toMatch(/^(\d{1,2}s|1m0s)$/);
    expect(headers['ratelimit']).toBe(`"polls";r=0;t=${headers['retry-after'] ?? ''}`);
    expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(Number(headers['retry-after'])).toBeLessThanOrEqual(60);
    expect(await refused[0]?.json()).toMatchObject({
      error: { type: 'rate_limit_error', code: 'rate_limit_exceeded' },
      code: 429,
    });
    expect((await get(platform, '/v1/tasks', other)).status).toBe(200);
    // Of each process's refusals, a line of its own for the first alone; the others are counted.
    const ids = new Set(refused.map((answer) => answer.headers.get('x-request-id')));
    const linesOf = (api: TestProcess) =>
      api.logs().filter(({ event, requestId }) => event === 'request' && ids.has(requestId as string));
    for (const api of [platform.api, second]) {
      const unknown = await get(api, '/v1/tasks/unknown', other);
      const last = unknown.headers.get('x-request-id');
      const hasLast = (): boolean => api.logs().some(({ requestId }) => requestId === last);
      expect(await waitUntil(hasLast, { timeoutMs: 30_000 })).toBe(true);
      // One, or two when the log's minute ended in between.
      expect([1, 2]).toContain(linesOf(api).length);
    }
  });

  it('refuses submits above the limit, and has one limit for good and bad ones', async () => {
    const key = await platform.newKey();
    const bad = await Promise.all(Array.from({ length: 25 }, () => submit(key, {}, {})));
    expect(bad.map(({ status }) => status)).toEqual(bad.map(() => 400));
    const response = await submit(key);
    expect(response.status).toBe(429);
    expect(response.headers.get('ratelimit-policy')).toBe('"submits";q=25;w=60');
    expect((await get(platform, '/v1/tasks', key)).status).toBe(200);
  });

  it('lets a key have so many tasks in flight, answers repeats all the same, and takes more once one has ended', async () => {
    const key = await platform.newKey();
    platform.worker.kill('SIGSTOP');
    const first = await submit(key, { 'idempotency-key': 'one' });
    const repeated = await submit(key, { 'idempotency-key': 'one' });
    const taskId = first.headers.get('x-task-id') ?? '';
    expect(repeated.headers.get('x-task-id')).toBe(taskId);
    const other = await submit(key);
    expect(other.ok).toBe(true);
    const refused = await submit(key);
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toBe('2');
    expect(await refused.json()).toMatchObject({ error: { code: 'concurrency_limit_exceeded' } });
    expect((await submit(key, { 'idempotency-key': 'one' })).headers.get('x-task-id')).toBe(taskId);
    platform.worker.kill('SIGCONT');
    const pending = async (): Promise<number> => {
      const { rows } = await platform.pool.query<{ count: number }>(
        `SELECT count(*)::int AS count FROM tasks WHERE status = 'pending'`,
      );
      return rows[0]?.count ?? 0;
    };
    expect(await waitUntil(async () => (await pending()) === 0, { timeoutMs: 30_000 })).toBe(true);
    // The place is given back just after the task has ended. Each look is a submit, of which the key has 25.
    expect(await waitUntil(async () => (await submit(key)).ok, { timeoutMs: 30_000, everyMs: 2_000 })).toBe(true);
  });

  it('goes by the limits of a key where it has its own, at both processes, and by new ones soon', async () => {
    const keyed = { submits_per_minute: 40, polls_per_minute: 5, tasks_in_flight: 3 };
    const { id, key } = await platform.newKeyWithId(keyed);
    const polls = await Promise.all(
      Array.from({ length: 12 }, (_, n) => get(n % 2 === 0 ? platform : second, '/v1/tasks', key)),
    );
    expect(polls.map(({ status }) => status).filter((status) => status === 200)).toHaveLength(5);
    expect(polls[0]?.headers.get('ratelimit-policy')).toBe('"polls";q=5;w=60');
    const bad = await submit(key, {}, {});
    expect(bad.headers.get('ratelimit-policy')).toBe('"submits";q=40;w=60');

    platform.worker.kill('SIGSTOP');
    const submits = [await submit(key), await submit(key), await submit(key)];
    expect(submits.map(({ status }) => status)).toEqual([202, 202, 202]);
    const refused = await submit(key);
    expect(await refused.json()).toMatchObject({
      error: { code: 'concurrency_limit_exceeded', message: expect.stringContaining('3 tasks') as unknown },
    });
    platform.worker.kill('SIGCONT');

    await platform.pool.query('UPDATE api_keys SET polls_per_minute = 0, submits_per_minute = NULL WHERE id = $1', [
      id,
    ]);
    for (const api of [platform, second]) {
      const free = async (): Promise<boolean> => (await get(api, '/v1/tasks', key)).headers.get('ratelimit') === null;
      expect(await waitUntil(free, { timeoutMs: 30_000 })).toBe(true);
    }
    expect((await submit(key, {}, {})).headers.get('ratelimit-policy')).toBe('"submits";q=25;w=60');
    // What a worker ends is given back, though it does not know whether the key has a limit. Each look is a submit.
    const isTaken = async (): Promise<boolean> => (await submit(key)).status === 202;
    expect(await waitUntil(isTaken, { timeoutMs: 30_000, everyMs: 2_000 })).toBe(true);
  });

  it('H6: a key and its replacement have one rate and one number of tasks in flight between them', async () => {
    const keyed = { submits_per_minute: 40, polls_per_minute: 5, tasks_in_flight: 3 };
    const old = await platform.newKeyWithId(keyed);
    const pair = [old.key, await platform.newKey({ ...keyed, original_key_id: old.id })];
    const polls = await Promise.all(
      Array.from({ length: 12 }, (_, n) => get(n % 3 === 0 ? platform : second, '/v1/tasks', pair[n % 2] ?? '')),
    );
    expect(polls.map(({ status }) => status).filter((status) => status === 200)).toHaveLength(5);
    platform.worker.kill('SIGSTOP');
    const submits: Response[] = [];
    for (let n = 0; n < 6; n++) submits.push(await submit(pair[n % 2] ?? ''));
    expect(submits.map(({ status }) => status)).toEqual([202, 202, 202, 429, 429, 429]);
    expect(await submits.at(-1)?.json()).toMatchObject({ error: { code: 'concurrency_limit_exceeded' } });
    platform.worker.kill('SIGCONT');
  });

  it('H6: limits of an account hold for all its keys together, whatever these may do, and the answer says whose they are', async () => {
    const accountId = await platform.newAccount();
    await platform.pool.query(
      'UPDATE accounts SET polls_per_minute = 30, submits_per_minute = 50, tasks_in_flight = 3 WHERE id = $1',
      [accountId],
    );
    const any = { polls_per_minute: 0, submits_per_minute: 0, tasks_in_flight: 0 };
    const keys = await Promise.all(Array.from({ length: 4 }, () => platform.newKey(any, accountId)));
    const polls = await Promise.all(
      Array.from({ length: 48 }, (_, n) => get(n % 2 === 0 ? platform : second, '/v1/tasks', keys[n % 4] ?? '')),
    );
    expect(polls.filter(({ status }) => status === 200)).toHaveLength(30);
    const refused = polls.find(({ status }) => status === 429);
    expect(refused?.headers.get('ratelimit-policy')).toBe('"account-polls";q=30;w=60');
    expect(refused?.headers.get('x-ratelimit-limit-requests')).toBe('30');
    expect(await refused?.json()).toMatchObject({
      error: {
        code: 'rate_limit_exceeded',
        message: expect.stringMatching(
          /^The account of this API key is limited to 30 status checks per minute\. Try again in \d+ s\.$/,
        ),
      },
    });

    platform.worker.kill('SIGSTOP');
    const submits = await Promise.all(Array.from({ length: 8 }, (_, n) => submit(keys[n % 4] ?? '')));
    expect(submits.filter(({ status }) => status === 202)).toHaveLength(3);
    const full = submits.find(({ status }) => status === 429);
    expect(await full?.json()).toMatchObject({
      error: {
        code: 'concurrency_limit_exceeded',
        message: expect.stringMatching(/^The account .* 3 tasks/) as unknown,
      },
    });
    platform.worker.kill('SIGCONT');
  });

  it('a key above its own limit uses up nothing of its account’s, and headers show the limit that leaves least', async () => {
    const accountId = await platform.newAccount();
    await platform.pool.query('UPDATE accounts SET polls_per_minute = 24 WHERE id = $1', [accountId]);
    const loud = await platform.newKey({ polls_per_minute: 4 }, accountId);
    const quiet = await platform.newKey({ polls_per_minute: 100 }, accountId);
    const statuses = await Promise.all(
      Array.from({ length: 40 }, async () => (await get(platform, '/v1/tasks', loud)).status),
    );
    expect(statuses.filter((status) => status === 200)).toHaveLength(4);
    const first = await get(platform, '/v1/tasks', quiet);
    expect(first.headers.get('ratelimit')).toMatch(/^"account-polls";r=19;t=/);
    const key = await platform.newKey({ polls_per_minute: 9 }, accountId);
    expect((await get(second, '/v1/tasks', key)).headers.get('ratelimit')).toMatch(/^"polls";r=8;t=/);
  });
});
