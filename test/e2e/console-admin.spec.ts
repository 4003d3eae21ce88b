import { waitUntil } from '#embedded/wait-until.js';
import { signInFirstAdmin, signInInvited, Browser, PASSWORD } from '../support/console.js';
import { startPlatform, type Platform } from '../support/platform.js';

const PATIENTLY = { timeoutMs: 60_000 };

type Rows = { readonly data: Record<string, unknown>[] };

describe('usage, operation and team in the console', () => {
  let platform: Platform;
  let ada: Browser;
  let member: Browser;
  let eve: Browser;
  const codeOf = async (response: Response): Promise<[number, string]> => [
    response.status,
    ((await response.json()) as { error: { code: string } }).error.code,
  ];

  beforeAll(async () => {
    platform = await startPlatform();
    ada = await signInFirstAdmin(platform);
    member = await signInInvited(platform, { email: 'mo@example.org', role: 'member' });
    eve = await signInInvited(platform, {
      email: 'eve@example.org',
      role: 'admin',
      accountId: await platform.newAccount(),
    });
  });
  afterAll(() => platform.close());

  it('counts images, failures, spend and times of known tasks', async () => {
    await platform.newKey({ name: '=SUM(A1)' });
    const insert = (id: string, status: string, at: string, ms: number, cost: object | null) =>
      platform.pool.query(
        `INSERT INTO tasks (id, account_id, api_key_id, request_id, action, model, prompt, options, status, phase, provider,
           created_at, finished_at, deadline_at, images, cost)
         SELECT $1, 'acct_default', api_keys.id, 'req', 'generation', 'm1', 'p', '{}', $2, 'done', 'sandbox', $3::timestamptz,
           $3::timestamptz + $4 * interval '1 ms', $3::timestamptz, '[]', $5 FROM api_keys WHERE name = '=SUM(A1)'`,
        [id, status, at, ms, cost === null ? null : JSON.stringify(cost)],
      );
    const cost = { reserved: 90_000, settled: 40_000, currency: 'USD' };
    await insert('task_1', 'completed', '2026-03-01T10:15:00Z', 1_000, cost);
    await insert('task_2', 'completed', '2026-03-01T10:45:00Z', 3_000, cost);
    await insert('task_3', 'failed', '2026-03-01T11:00:00Z', 9_000, cost);
    await insert('task_4', 'completed', '2026-03-02T00:00:00Z', 2_000, null);
    const range = 'from=2026-03-01T00:00:00Z&to=2026-03-03T00:00:00Z';
    const none = { chats: 0, input_tokens: 0, output_tokens: 0, unpriced_images: 0, unpriced_chats: 0 };
    const served = { model: expect.arrayContaining(['gpt-image-2']), provider: expect.arrayContaining(['sandbox']) };
    const { since, ...usage } = await ada.ask<{ since: string | null }>(`/usage?${range}&by=day&group=model`);
    // Workers add up every few seconds; until then nothing is.
    expect([null, '2026-03-01T00:00:00.000Z']).toContain(since);
    expect(usage).toEqual({
      currency: 'USD',
      names: { ...served, key: ['e2e', '=SUM(A1)'] },
      // Of both days together, not the slower one.
      groups: [{ ...none, group: 'm1', images: 3, failed: 1, spend: '0.080000', p50_ms: 2_000, p95_ms: 2_900 }],
      // Of all three together, not of the slowest day.
      total: { ...none, images: 3, failed: 1, spend: '0.080000', p50_ms: 2_000, p95_ms: 2_900 },
      data: [
        {
          time: '2026-03-01T00:00:00.000Z',
          group: 'm1',
          images: 2,
          failed: 1,
          spend: '0.080000',
          p50_ms: 2_000,
          p95_ms: 2_900,
          ...none,
        },
        {
          time: '2026-03-02T00:00:00.000Z',
          group: 'm1',
          images: 1,
          failed: 0,
          spend: '0.000000',
          p50_ms: 2_000,
          p95_ms: 2_000,
          ...none,
        },
      ],
    });
    const hours = await ada.ask<Rows>(`/usage?${range}&by=hour&group=provider`);
    expect(hours.data.map(({ time, group, images, failed }) => [time, group, images, failed])).toEqual([
      ['2026-03-01T10:00:00.000Z', 'sandbox', 2, 0],
      ['2026-03-01T11:00:00.000Z', 'sandbox', 0, 1],
      ['2026-03-02T00:00:00.000Z', 'sandbox', 1, 0],
    ]);
    // Every figure of a month by hour would be far more than anybody reads.
    const long = await ada.call('/usage?from=2026-03-01T00:00:00Z&to=2026-03-03T00:00:01Z&by=hour');
    expect([long.status, await long.json()]).toMatchObject([
      400,
      { error: { code: 'invalid_value', message: 'from must be at most 2 days before to', param: 'from' } },
    ]);
    const only = async (filter: string) =>
      (await ada.ask<{ total: { images: number } }>(`/usage?${range}&${filter}`)).total;
    expect(await only(`model=m1&provider=sandbox&key=${encodeURIComponent('=SUM(A1)')}`)).toMatchObject({ images: 3 });
    for (const filter of ['model=m2', 'provider=other', 'key=e2e']) {
      expect(await only(filter)).toMatchObject({ images: 0, failed: 0, spend: '0.000000' });
    }
    const table = await member.call(`/usage.csv?${range}&group=key`);
    expect(table.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(table.headers.get('content-disposition')).toBe('attachment; filename="darkroom-usage.csv"');
    expect((await table.text()).split('\r\n').slice(0, 2)).toEqual([
      'time,group,images,failed,spend,currency,p50_ms,p95_ms,chats,input_tokens,output_tokens,unpriced_images,unpriced_chats',
      "2026-03-01T00:00:00.000Z,'=SUM(A1),2,1,0.080000,USD,2000,2900,0,0,0,0,0",
    ]);
    expect(await eve.ask(`/usage?${range}`)).toEqual({
      data: [],
      groups: [],
      currency: 'USD',
      since: null,
      names: { ...served, key: [] },
      total: { ...none, images: 0, failed: 0, spend: '0.000000', p50_ms: null, p95_ms: null },
    });
  });

  it.each([
    'by=year',
    'group=prompt',
    'from=yesterday',
    'from=0000-01-01',
    'from=2026-02-01&to=2026-01-01',
    'from=2020-01-01&to=2026-01-01',
  ])('refuses usage with %s', async (query) => {
    expect((await ada.call(`/usage?${query}`)).status).toBe(400);
  });

  it('refuses more figures than one answer can hold, and says what to ask for', async () => {
    await platform.pool.query(
      `INSERT INTO usage_rollups (account_id, step, time, kind, api_key_id, model, provider, outcome, currency, bucket, count, images,
         spend_micros, input_tokens, output_tokens, latency_ms)
       SELECT 'acct_default', 'day', date_trunc('day', now(), 'UTC') - n % 100 * interval '1 day', 'image', 'key_' || n / 100, 'm', 'p', 'completed',
         'USD', 50, 1, 1, 1, 0, 0, 5000 FROM generate_series(0, 50000) AS n`,
    );
    const from = new Date(Date.now() - 101 * 86_400_000).toISOString();
    const answer = await ada.call(`/usage?group=key&from=${from}`);
    expect([answer.status, ((await answer.json()) as { error: object }).error]).toMatchObject([
      400,
      { code: 'invalid_value', param: 'from', message: expect.stringContaining('Request fewer days at a time.') },
    ]);
    expect((await ada.ask<Rows>(`/usage?group=model&from=${from}`)).data).toHaveLength(100);
    expect((await ada.ask<Rows>('/usage?group=key')).data.length).toBeGreaterThan(10_000);
    await platform.pool.query(`DELETE FROM usage_rollups WHERE model = 'm' AND provider = 'p'`);
  });

  it('shows providers and queue to operators, who drain one and let it go on', async () => {
    const [sandbox] = (await ada.ask<Rows>('/providers')).data;
    expect(sandbox).toMatchObject({ name: 'sandbox', breaker: 'closed', drained: null, resting_keys: [] });
    expect(sandbox!['models']).toContain('gpt-image-2');
    expect((await ada.call('/providers/sandbox/drain', { method: 'POST' })).status).toBe(204);
    expect((await ada.ask<Rows>('/providers')).data[0]!['drained']).toMatchObject({
      reason: 'by ada@example.org in the console',
    });
    const { rows } = await platform.pool.query('SELECT provider FROM provider_switches');
    expect(rows).toEqual([{ provider: 'sandbox' }]);
    expect((await ada.call('/providers/sandbox/resume', { method: 'POST' })).status).toBe(204);
    expect((await ada.ask<Rows>('/providers')).data[0]!['drained']).toBeNull();
    expect(await codeOf(await ada.call('/providers/none/drain', { method: 'POST' }))).toEqual([404, 'not_found']);
    expect(await ada.ask('/queue')).toEqual({
      waiting: 0,
      running: 0,
      waiting_for: [],
      oldest_waiting_seconds: 0,
      completed_last_minute: 0,
      failed_last_hour: 0,
      workers: [expect.objectContaining({ slots: 10 })],
    });
  });

  it.each(['/providers', '/queue'])('%s is no matter of members, nor of other accounts', async (path) => {
    for (const who of [member, eve]) expect(await codeOf(await who.call(path))).toEqual([403, 'not_permitted']);
  });

  it.each<[string, string, object | undefined]>([
    ['GET', '/people', undefined],
    ['POST', '/people', { email: 'x@example.org', role: 'admin' }],
    ['PATCH', '/people/x', { role: 'admin' }],
    ['GET', '/audit', undefined],
    ['GET', '/audit.csv', undefined],
    ['GET', '/webhooks/secrets', undefined],
    ['POST', '/webhooks/secrets/rotate', {}],
    ['POST', '/webhooks/endpoints', { url: 'https://example.org' }],
    ['PATCH', '/webhooks/endpoints/x', { active: false }],
    ['POST', '/webhooks/endpoints/x/test', undefined],
    ['DELETE', '/webhooks/endpoints/x', undefined],
    ['POST', '/providers/sandbox/drain', {}],
  ])('%s %s is for admins', async (method, path, body) => {
    const answer = await member.call(path, { method, ...(body === undefined ? {} : { body }) });
    expect(await codeOf(answer)).toEqual([403, 'not_permitted']);
    expect((await new Browser(platform.url).call(path, { method, ...(body && { body }) })).status).toBe(401);
  });

  it('invites somebody, makes them an admin, and shuts them out', async () => {
    const { link } = await ada.ask<{ link: string }>('/people', { body: { email: 'Kim@example.org', role: 'member' } });
    expect(link).toMatch(new RegExp(`^${platform.url}/console/invite#token=[\\w-]{43}$`));
    const kim = new Browser(platform.url);
    const { person } = await kim.ask<{ person: { id: string } }>('/join', {
      body: { token: link.split('=')[1], name: 'Kim', password: PASSWORD },
    });
    expect(await codeOf(await kim.call('/people'))).toEqual([403, 'not_permitted']);
    const change = (body: object, who = ada) => who.call(`/people/${person.id}`, { method: 'PATCH', body });
    expect((await change({ role: 'member' }, eve)).status).toBe(404);
    expect(await (await change({ role: 'admin' })).json()).toMatchObject({ role: 'admin', email: 'kim@example.org' });
    const { data } = await kim.ask<Rows>('/people');
    expect(data.map(({ email }) => email)).toEqual(['ada@example.org', 'mo@example.org', 'kim@example.org']);
    expect(JSON.stringify(data)).not.toContain('argon2');
    expect((await change({ disabled: true })).status).toBe(200);
    expect((await kim.call('/session')).status).toBe(401);
    expect(await codeOf(await ada.call('/people', { body: { email: 'kim@example.org', role: 'admin' } }))).toEqual([
      ...[409, 'already_exists'],
    ]);
    expect((await change({ role: 'boss' })).status).toBe(400);
  });

  it('lets nobody change themselves, so that an admin remains', async () => {
    const { person } = await ada.ask<{ person: { id: string } }>('/session');
    expect((await ada.call(`/people/${person.id}`, { method: 'PATCH', body: { role: 'member' } })).status).toBe(400);
  });

  it('tells what the sums leave out where no price was known, before and after it is added up', async () => {
    await platform.newKey({ name: 'unpriced' });
    const { rows } = await platform.pool.query<{ id: string }>("SELECT id FROM api_keys WHERE name = 'unpriced'");
    const id = rows[0]!.id;
    const insert = async (task: string, status: string, cost: object | null) => {
      await platform.pool.query(
        `INSERT INTO tasks (id, account_id, api_key_id, request_id, action, model, prompt, options, status, phase, provider,
           created_at, finished_at, deadline_at, images, cost)
         VALUES ($1, 'acct_default', $2, 'req', 'generation', 'm3', 'p', '{}', $3, 'done', 'sandbox', now(), now(), now(), $4, $5)`,
        [task, id, status, status === 'completed' ? '[{},{}]' : '[]', cost === null ? null : JSON.stringify(cost)],
      );
    };
    const unknown = { reserved: null, settled: null, currency: 'USD' };
    await insert('task_unpriced_1', 'completed', unknown);
    // A provider had begun it, and may charge for it.
    await insert('task_unpriced_2', 'cancelled', unknown);
    await insert('task_unpriced_3', 'failed', { ...unknown, settled: 0 });
    await insert('task_unpriced_4', 'completed', null);
    await insert('task_unpriced_5', 'completed', { reserved: 90_000, settled: 50_000, currency: 'USD' });
    for (const [request, cost] of [
      ['req_unpriced_1', null],
      ['req_unpriced_2', 0],
    ])
      await platform.pool.query(
        `INSERT INTO chat_usage VALUES ($1, 'acct_default', $2, 'm3', 'p', NULL, 'm', false, 200, 'completed', 1, 1, 0, 1, 1, now(), $3)`,
        [request, id, cost],
      );
    const sums = { unpriced_images: 3, unpriced_chats: 1 };
    const spend = { ...sums, amount: '0.050000', currency: 'USD' };
    const check = async () => {
      const usage = await ada.ask<{ total: object } & Rows>('/usage?model=m3');
      expect(usage.total).toMatchObject({ ...sums, images: 6, chats: 2, spend: '0.050000' });
      expect(await ada.ask<object>('/usage?group=key')).toMatchObject({
        groups: expect.arrayContaining([expect.objectContaining({ ...sums, group: 'unpriced' })]),
      });
      const keys = (await ada.ask<Rows>('/keys')).data;
      expect(keys.find((key) => key['id'] === id)).toMatchObject({ spend });
      expect(keys.find((key) => key['name'] === 'e2e')).toMatchObject({ spend: { unpriced_images: 0 } });
      expect(await ada.ask<object>('/account')).toMatchObject({ spend: sums });
    };
    await check();
    const isAddedUp = async (): Promise<boolean> => {
      const { rowCount } = await platform.pool.query('SELECT 1 FROM usage_changes WHERE api_key_id = $1', [id]);
      return rowCount === 0;
    };
    expect(await waitUntil(isAddedUp, PATIENTLY)).toBe(true);
    await check();
  });
});
