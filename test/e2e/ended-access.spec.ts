import { readEvents } from '../support/event-source.js';
import { waitUntil } from '#embedded/wait-until.js';
import { signInFirstAdmin, signInInvited, type Browser } from '../support/console.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';
import { startWorker, type TestProcess } from '../support/processes.js';

const PATIENCE = { timeoutMs: 60_000 };

/** No worker at first, so that tasks stay pending and are followed for as long as they may be. */
describe('what goes on after access has ended', () => {
  let platform: ApiPlatform;
  let operator: Browser;
  let worker: TestProcess | undefined;

  beforeAll(async () => {
    platform = await startApiPlatform();
    operator = await signInFirstAdmin(platform);
  });
  afterAll(async () => {
    await worker?.stop();
    await platform.close();
  });

  const submit = async (key: string): Promise<string> => {
    const answer = await platform.call('/v1/images/generations/async', {
      key,
      body: { model: 'gpt-image-2', prompt: 'a boat' },
    });
    expect(answer.status).toBe(202);
    return ((await answer.json()) as { task_id: string }).task_id;
  };
  /** The events of a stream until it ends by itself. */
  const events = async (answer: Response): Promise<unknown[]> => {
    const seen: unknown[] = [];
    for await (const { event, data } of readEvents(answer)) if (event !== undefined) seen.push([event, data]);
    return seen;
  };
  const follow = async (key: string) => {
    const id = await submit(key);
    // As if a provider worked on it: it would be fetched, also after the account was disabled.
    await platform.pool.query('UPDATE tasks SET provider_call_open = true WHERE id = $1', [id]);
    const stream = await platform.call(`/v1/tasks/${id}/events`, { key });
    expect(stream.status).toBe(200);
    return { stream: events(stream), poll: platform.call(`/v1/tasks/${id}?wait=60`, { key }) };
  };

  it.each([
    ['is revoked', 'UPDATE api_keys SET revoked_at = now() WHERE id = $1', 401, 'invalid_api_key'],
    ['expires', 'UPDATE api_keys SET expires_at = now() WHERE id = $1', 401, 'invalid_api_key'],
    [
      'is of an account that is disabled',
      'UPDATE accounts SET disabled_at = now() WHERE id = (SELECT account_id FROM api_keys WHERE id = $1)',
      403,
      'account_disabled',
    ],
  ])('event streams and long polls end when their key %s', async (_case, statement, status, code) => {
    const { id, key } = await platform.newKeyWithId({}, await platform.newAccount());
    const { stream, poll } = await follow(key);
    await platform.pool.query(statement, [id]);
    const answer = await poll;
    expect([answer.status, await answer.json()]).toEqual([
      status,
      expect.objectContaining({ error: expect.objectContaining({ code }) as object }),
    ]);
    expect((await stream).at(-1)).toEqual([
      'error',
      expect.objectContaining({ error: expect.objectContaining({ code }) as object }),
    ]);
  });

  it('calls that wait for their image end with their key’s access, whatever way they wait', async () => {
    const { id, key } = await platform.newKeyWithId({}, await platform.newAccount());
    const order = { model: 'gpt-image-2', prompt: 'a boat' };
    const chat = { model: 'gpt-image-2', messages: [{ role: 'user', content: 'a boat' }] };
    const calls = [
      platform.call('/v1/images/generations', { key, body: order }),
      platform.call('/v1/images/generations', { key, body: { ...order, stream: true } }),
      platform.call('/v1/images/generations?async=true', { key, body: order, headers: { prefer: 'wait=60' } }),
      platform.call('/v1/chat/completions', { key, body: chat }),
      platform.call('/v1/chat/completions', { key, body: { ...chat, stream: true } }),
    ];
    const areWaiting = async (): Promise<boolean> =>
      (await platform.pool.query('SELECT 1 FROM tasks WHERE api_key_id = $1', [id])).rowCount === calls.length;
    expect(await waitUntil(areWaiting, PATIENCE)).toBe(true);
    await platform.pool.query('UPDATE api_keys SET revoked_at = now() WHERE id = $1', [id]);
    for (const answer of await Promise.all(calls)) {
      const text = await answer.text();
      expect(text).toContain('"code":"invalid_api_key"');
      expect(
        answer.headers.get('content-type')?.startsWith('text/event-stream') === true || answer.status === 401,
      ).toBe(true);
    }
  });

  it('a call that waits for its own image goes on when its key may no longer see other tasks', async () => {
    const { id, key } = await platform.newKeyWithId({}, await platform.newAccount());
    const call = platform.call('/v1/images/generations', { key, body: { model: 'gpt-image-2', prompt: 'a boat' } });
    const { stream } = await follow(key);
    await platform.pool.query(`UPDATE api_keys SET tasks = 'own' WHERE id = $1`, [id]);
    // The next look at this key ends the stream, and sees the call, too.
    expect((await stream).at(-1)).toMatchObject(['error', { error: { code: 'task_not_found' } }]);
    const overdue = `UPDATE tasks SET deadline_at = now() - interval '1 second' WHERE api_key_id = $1 AND NOT provider_call_open`;
    const isOver = async (): Promise<boolean> => (await platform.pool.query(overdue, [id])).rowCount === 1;
    expect(await waitUntil(isOver, PATIENCE)).toBe(true);
    expect(await (await call).json()).toMatchObject({ error: { code: 'generation_timeout' } });
  });

  it('the console’s event stream ends with its session', async () => {
    const member = await signInInvited(platform, { email: 'mo@example.org', role: 'member' });
    const { task_id: id } = await member.ask<{ task_id: string }>('/images', {
      body: { model: 'gpt-image-2', prompt: 'a boat' },
    });
    const stream = events(await member.call(`/tasks/${id}/events`));
    await platform.pool.query(
      `DELETE FROM sessions WHERE person_id IN (SELECT id FROM people WHERE email = 'mo@example.org')`,
    );
    expect((await stream).at(-1)).toMatchObject(['error', { error: { code: 'not_signed_in' } }]);
  });

  it('a disabled account’s pending tasks are not bought: they fail, and cost nothing', async () => {
    const accountId = await platform.newAccount();
    const { key } = await platform.newKeyWithId({}, accountId);
    const ids = [await submit(key), await submit(key)];
    const { id: own } = { id: await submit(platform.key) };
    await operator.ask(`/accounts/${accountId}`, { method: 'PATCH', body: { disabled: true } });
    worker = await startWorker(platform.settings);
    const ended = async (id: string) => {
      const { rows } = await platform.pool.query<{ status: string; code: string; starts: number; settled: unknown }>(
        `SELECT status, error ->> 'code' AS code, provider_starts AS starts, cost ->> 'settled' AS settled FROM tasks WHERE id = $1`,
        [id],
      );
      return rows[0];
    };
    for (const id of ids) {
      expect(await waitUntil(async () => (await ended(id))?.status !== 'pending', PATIENCE)).toBe(true);
      expect(await ended(id)).toMatchObject({ status: 'failed', code: 'account_disabled', starts: 0 });
      expect((await ended(id))?.settled ?? '0').toBe('0');
    }
    expect(await waitUntil(async () => (await ended(own))?.status === 'completed', PATIENCE)).toBe(true);
  });

  it('webhook secrets, exports and refused requests leave an entry; members see no secret of a webhook URL', async () => {
    const member = await signInInvited(platform, { email: 'kim@example.org', role: 'member' });
    const secretUrl = 'https://93.184.215.14/hook?token=secret';
    await operator.ask('/webhooks/endpoints', { body: { url: secretUrl } });
    const urls = async (who: Browser) =>
      (await who.ask<{ data: { url: string }[] }>('/webhooks/endpoints')).data.map(({ url }) => url);
    expect(await urls(operator)).toEqual([secretUrl]);
    expect(await urls(member)).toEqual(['https://93.184.215.14/hook']);
    await operator.ask('/webhooks/secrets');
    for (const table of ['tasks.csv', 'usage.csv', 'audit.csv'])
      expect((await operator.call(`/${table}`)).ok).toBe(true);
    expect((await member.call('/webhooks/secrets')).status).toBe(403);
    const sentences = async () =>
      (await operator.ask<{ data: { sentence: string }[] }>('/audit')).data.map(({ sentence }) => sentence);
    const wanted = [
      'viewed the signing secret',
      'exported the usage',
      'exported the audit log',
      'was refused “GET /console/api/webhooks/secrets”, which their role does not include',
    ];
    const isComplete = async () => {
      const all = await sentences();
      return wanted.every((one) => all.includes(one)) && all.some((one) => /^exported \d+ tasks$/.test(one));
    };
    expect(await waitUntil(isComplete, PATIENCE)).toBe(true);
    const { data } = await operator.ask<{ data: { sentence: string }[] }>('/audit?kind=refused');
    expect(data.map(({ sentence }) => sentence)).toEqual([wanted[3]]);
  });

  it('an option that no header can carry is named, not an internal error', async () => {
    for (const organization of ['org\r\nx-evil: 1', 'org\n', 'ö', 'a b']) {
      const entry = { type: 'openai', base_url: 'https://93.184.215.14/v1', options: { organization } };
      const answer = await operator.call('/catalog/connection', { body: { entry, keys: [{ name: 'k', key: 'sk' }] } });
      const { error } = (await answer.json()) as { error: { code: string; param: string; message: string } };
      expect([answer.status, error.code, error.param]).toEqual([400, 'invalid_value', 'entry.options']);
      expect(error.message).toContain('organization');
    }
  });
});
