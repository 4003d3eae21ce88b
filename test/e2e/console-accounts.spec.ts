import { waitUntil } from '#embedded/wait-until.js';
import { Browser, PASSWORD, signInFirstAdmin, signInInvited } from '../support/console.js';
import { insertSettledTask } from '../support/settled-task.js';
import { startPlatform, type Platform } from '../support/platform.js';

interface Account {
  readonly id: string;
  readonly name: string;
  readonly [field: string]: unknown;
}
type List<Item> = { readonly data: Item[] };

/** How soon every process must know (contract.md, reliability.md). */
const SOON_MS = 10_000;

describe('the accounts of an installation', () => {
  let platform: Platform;
  let ada: Browser;
  let member: Browser;
  let grace: Browser;
  let account: Account;
  let key: string;
  const answerOf = async (response: Response): Promise<[number, string]> => [
    response.status,
    ((await response.json()) as { error: { code: string } }).error.code,
  ];
  const accounts = async () => (await ada.ask<List<Account>>('/accounts')).data;
  const change = (body: object, id = account.id) => ada.call(`/accounts/${id}`, { method: 'PATCH', body });
  const audit = async (who: Browser) =>
    (await who.ask<List<Record<string, unknown>>>('/audit?kind=team')).data
      .filter(({ target }) => target === account.id)
      .map(({ action, person, details }) => [action, person === null ? null : (person as Account).name, details]);

  beforeAll(async () => {
    platform = await startPlatform();
    ada = await signInFirstAdmin(platform);
    member = await signInInvited(platform, { email: 'mo@example.org', role: 'member' });
  });
  afterAll(() => platform.close());

  it('are made with a budget and a link for their first admin', async () => {
    const body = { name: 'Atelier', email: 'Grace@example.org', budget: '2.50', budget_period: 'total' };
    const created = await ada.ask<{ account: Account; link: string; hours: number }>('/accounts', { body });
    account = created.account;
    expect(created.hours).toBe(24);
    expect(account).toMatchObject({
      name: 'Atelier',
      first: false,
      people: 0,
      admins: 0,
      keys: 0,
      tasks_in_flight: 0,
      disabled_at: null,
      budget: { amount: '2.500000', period: 'total', spent: '0.000000' },
    });
    grace = new Browser(platform.url);
    const token = created.link.split('#token=')[1];
    expect(await grace.ask('/join', { body: { token, name: 'Grace', password: PASSWORD } })).toMatchObject({
      person: { email: 'grace@example.org', role: 'owner' },
      operator: false,
      account: { id: account.id, name: 'Atelier' },
    });
    expect(await accounts()).toHaveLength(2);
    const again = await ada.call(`/accounts/${account.id}/admins`, { body: { email: 'GRACE@example.org' } });
    expect(await answerOf(again)).toEqual([409, 'already_exists']);
  });

  it.each([
    { name: 'x' },
    { name: ' ', email: 'a@example.org' },
    { name: 'x', email: 'none' },
    { name: 'x', email: 'a@example.org', budget: '1,5' },
    { name: 'x', email: 'a@example.org', budget_period: 'total' },
  ])('are not made of %j', async (body) => {
    const before = await accounts();
    expect((await ada.call('/accounts', { body })).status).toBe(400);
    expect(await accounts()).toEqual(before);
  });

  it('have their own keys, figures and nothing of each other', async () => {
    ({ secret: key } = await grace.ask<{ secret: string }>('/keys', { body: { name: 'shop' } }));
    const answer = await platform.call('/v1/images/generations', {
      key,
      body: { model: 'gpt-image-2', prompt: 'a boat' },
    });
    expect(answer.status).toBe(200);
    const [first, second] = await accounts();
    expect(first).toMatchObject({ id: 'acct_default', first: true, people: 2, admins: 1 });
    expect(second).toMatchObject({ id: account.id, people: 1, admins: 1, keys: 1, tasks_in_flight: 0 });
    expect(JSON.stringify([first, second])).not.toContain('a boat');
    const tasks = async (who: Browser) => (await who.ask<List<unknown>>('/tasks')).data.length;
    expect([await tasks(grace), await tasks(ada)]).toEqual([1, 0]);
    const owner = { accountId: account.id, apiKeyId: 'k' };
    await insertSettledTask(platform.pool, { ...owner, id: 't1', reserved: 90_000, settled: 40_000 });
    await insertSettledTask(platform.pool, { ...owner, id: 't3', reserved: 10_000, settled: 10_000 });
    // Accepted a month ago, so it counts there, though it is settled and refunded now.
    const priced = { currency: 'USD', unpriced_images: 0, unpriced_chats: 0 };
    const lastMonth = { ...owner, acceptedAt: `month_of(now()) - interval '1 second'` };
    await insertSettledTask(platform.pool, { ...lastMonth, id: 't2', reserved: 700_000, settled: 100_000 });
    expect((await accounts()).map(({ spend }) => spend)).toEqual([
      { amount: '0.000000', ...priced },
      { amount: '0.050000', ...priced },
    ]);
  });

  it('are renamed, and their budgets are set, changed and taken away', async () => {
    expect(await (await change({ name: 'Atelier B', budget: '20' })).json()).toMatchObject({
      name: 'Atelier B',
      budget: { amount: '20.000000', period: 'total' },
    });
    expect(await (await change({ budget_period: 'month' })).json()).toMatchObject({
      budget: { amount: '20.000000', period: 'month', spent: '0.050000' },
    });
    expect(await (await change({ budget: null })).json()).toMatchObject({ budget: null });
    expect(await answerOf(await change({ budget_period: 'total' }))).toEqual([400, 'invalid_value']);
    expect(await answerOf(await change({ default_response_format: 'jpeg' }))).toEqual([400, 'invalid_value']);
    expect((await change({ id: 'acct_x' })).status).toBe(400);
    expect(await answerOf(await change({ name: 'x' }, 'acct_none'))).toEqual([404, 'not_found']);
  });

  it('decide how their keys answer requests that ask for no format', async () => {
    expect(await (await change({ default_response_format: 'url' })).json()).toMatchObject({
      default_response_format: 'url',
    });
    const answersWithLinks = async (): Promise<boolean> => {
      const answer = await platform.call('/v1/images/generations', {
        key,
        body: { model: 'gpt-image-2', prompt: 'a boat' },
      });
      const { data } = (await answer.json()) as { data: object[] };
      return Object.keys(data[0] ?? {}).join() === 'url';
    };
    expect(await waitUntil(answersWithLinks, { timeoutMs: SOON_MS, everyMs: 100 })).toBe(true);
    expect(await accounts()).toMatchObject([{ default_response_format: null }, { default_response_format: 'url' }]);
    expect((await change({ name: 'Atelier B' })).status).toBe(200);
    expect(await (await change({ default_response_format: null })).json()).toMatchObject({
      default_response_format: null,
    });
  });

  it('are disabled: keys are refused within 10 s, people are out, what runs ends as ever', async () => {
    platform.worker.kill('SIGSTOP');
    const accepted = await platform.call('/v1/images/generations/async', {
      key,
      body: { model: 'gpt-image-2', prompt: 'slow [[latency=10s]]' },
    });
    expect(accepted.status).toBe(202);
    expect((await accounts())[1]).toMatchObject({ tasks_in_flight: 1 });
    platform.worker.kill('SIGCONT');
    // The key is known to the process that is asked: from here on it must find out.
    expect((await platform.call('/v1/models', { key })).status).toBe(200);
    // A provider works on it, so it is paid already; what waits is not bought any more.
    const isBought = async () => {
      const { rows } = await platform.pool.query<{ starts: number }>(
        `SELECT provider_starts AS starts FROM tasks WHERE account_id = $1 ORDER BY id DESC LIMIT 1`,
        [account.id],
      );
      return rows[0]?.starts === 1;
    };
    expect(await waitUntil(isBought, { timeoutMs: 30_000, everyMs: 50 })).toBe(true);
    expect((await change({ disabled: true })).status).toBe(200);
    expect((await grace.call('/session')).status).toBe(401);
    const signIn = { body: { email: 'grace@example.org', password: PASSWORD } };
    expect(await answerOf(await new Browser(platform.url).call('/sign-in', signIn))).toEqual([401, 'sign_in_failed']);
    const isRefused = async () => (await platform.call('/v1/models', { key })).status === 403;
    expect(await waitUntil(isRefused, { timeoutMs: SOON_MS, everyMs: 100 })).toBe(true);
    expect(await answerOf(await platform.call('/v1/models', { key }))).toEqual([403, 'account_disabled']);
    const hasEnded = async () => {
      const { rows } = await platform.pool.query<{ status: string }>(
        `SELECT status FROM tasks WHERE account_id = $1 ORDER BY id DESC LIMIT 1`,
        [account.id],
      );
      return rows[0]?.status === 'completed';
    };
    expect(await waitUntil(hasEnded, { timeoutMs: 30_000, everyMs: 200 })).toBe(true);
  });

  it('let nobody join while they are disabled, and are enabled again', async () => {
    const invited = await ada.ask<{ link: string }>(`/accounts/${account.id}/admins`, {
      body: { email: 'hal@example.org' },
    });
    const join = () =>
      new Browser(platform.url).call('/join', {
        body: { token: invited.link.split('#token=')[1], name: 'Hal', password: PASSWORD },
      });
    expect((await join()).status).toBe(410);
    expect((await change({ disabled: false })).status).toBe(200);
    expect((await join()).status).toBe(201);
    expect((await grace.call('/session')).status).toBe(401);
    await grace.ask('/sign-in', { body: { email: 'grace@example.org', password: PASSWORD } });
    const works = async () => (await platform.call('/v1/models', { key })).status === 200;
    expect(await waitUntil(works, { timeoutMs: SOON_MS, everyMs: 100 })).toBe(true);
  });

  it('always have the first one', async () => {
    expect(await answerOf(await change({ disabled: true }, 'acct_default'))).toEqual([400, 'invalid_value']);
    expect((await change({ name: 'House', disabled: false }, 'acct_default')).status).toBe(200);
    expect((await ada.call('/session')).status).toBe(200);
  });

  it('read what was done to them, and not by whom', async () => {
    const done = [
      ['account.enabled', { name: 'Atelier B' }],
      ['account.disabled', { name: 'Atelier B' }],
      ['account.limits_set', { name: 'Atelier B', changes: { default_response_format: null } }],
      ['account.limits_set', { name: 'Atelier B', changes: { default_response_format: 'url' } }],
      ['account.budget_set', { name: 'Atelier B', budget: null, period: null }],
      ['account.budget_set', { name: 'Atelier B', budget: '20.000000', period: 'month' }],
      ['account.budget_set', { name: 'Atelier B', budget: '20.000000', period: 'total' }],
      ['account.renamed', { name: 'Atelier B', from: 'Atelier' }],
      ['account.budget_set', { name: 'Atelier', budget: '2.500000', period: 'total' }],
      ['account.created', { name: 'Atelier', email: 'grace@example.org' }],
    ];
    expect(await audit(ada)).toEqual(done.map(([action, details]) => [action, 'Ada', details]));
    expect(await audit(grace)).toEqual(done.map(([action, details]) => [action, null, details]));
  });

  it.each<[string, string, object | undefined]>([
    ['GET', '/accounts', undefined],
    ['POST', '/accounts', { name: 'x', email: 'x@example.org' }],
    ['PATCH', '/accounts/acct_default', { name: 'x' }],
    ['POST', '/accounts/acct_default/admins', { email: 'x@example.org' }],
    ['POST', '/accounts/acct_default/delete', { name: 'House' }],
  ])('%s %s is no matter of members, nor of other accounts', async (method, path, body) => {
    const call = { method, ...(body && { body }) };
    for (const who of [member, grace])
      expect(await answerOf(await who.call(path, call))).toEqual([403, 'not_permitted']);
    expect((await new Browser(platform.url).call(path, call)).status).toBe(401);
  });

  it('are deleted for good, once their name is typed: everything stops, and what was used stays', async () => {
    const remove = async (name: string, id = account.id) =>
      await ada.call(`/accounts/${id}/delete`, { body: { name } });
    await grace.ask('/webhooks/endpoints', { body: { url: 'https://hooks.example.org/x' } });
    await grace.ask('/alerts/rules/budget', { method: 'PUT', body: { enabled: true } });
    await platform.pool.query(
      `INSERT INTO alert_events (id, account_id, kind, subject, name, state, level, title, text, path, started_at, clear_minutes)
       VALUES ('ale_1', $1, 'failure_rate', 'tasks', 'This account', 'firing', 1, 'a', 'b', '/c', now(), 5)`,
      [account.id],
    );
    const starred = await platform.call('/v1/images/generations', {
      key,
      body: { model: 'gpt-image-2', prompt: 'a star' },
    });
    await grace.ask(`/tasks/${starred.headers.get('x-task-id')!}/favorite`, { method: 'POST' });
    const accepted = await platform.call('/v1/images/generations/async', {
      key,
      body: { model: 'gpt-image-2', prompt: 'slow [[latency=600s]]' },
    });
    const taskId = accepted.headers.get('x-task-id');
    const [before] = (await accounts()).slice(1);
    expect(await answerOf(await remove('Atelier'))).toEqual([400, 'invalid_value']);
    expect(await answerOf(await remove('House', 'acct_default'))).toEqual([400, 'invalid_value']);
    expect((await grace.call('/session')).status).toBe(200);
    expect((await remove('Atelier B')).status).toBe(204);

    expect((await grace.call('/session')).status).toBe(401);
    const signIn = { body: { email: 'grace@example.org', password: PASSWORD } };
    expect(await answerOf(await new Browser(platform.url).call('/sign-in', signIn))).toEqual([401, 'sign_in_failed']);
    const isRefused = async () => (await platform.call('/v1/models', { key })).status === 401;
    expect(await waitUntil(isRefused, { timeoutMs: SOON_MS, everyMs: 100 })).toBe(true);
    const { rows } = await platform.pool.query(
      `SELECT (SELECT status FROM tasks WHERE id = $2) AS task,
         (SELECT count(*)::int FROM tasks WHERE account_id = $1 AND favorited_at IS NOT NULL) AS favorites,
         (SELECT count(*)::int FROM webhook_endpoints WHERE account_id = $1) AS endpoints,
         (SELECT count(*)::int FROM alert_rules WHERE account_id = $1) AS rules,
         (SELECT count(*)::int FROM alert_events WHERE account_id = $1) AS alerts,
         (SELECT count(*)::int FROM sign_in_links WHERE account_id = $1) AS links,
         (SELECT count(*)::int FROM people WHERE account_id = $1 AND (email NOT LIKE 'deleted:%' OR password_hash IS NOT NULL)) AS people`,
      [account.id, taskId],
    );
    expect(rows).toEqual([{ task: 'cancelled', favorites: 0, endpoints: 0, rules: 0, alerts: 0, links: 0, people: 0 }]);
    const [, after] = await accounts();
    expect(after).toMatchObject({ deleted_at: expect.any(String), people: 0, keys: 0, tasks_in_flight: 0 });
    expect(after!['spend']).toEqual(before!['spend']);
    expect((await audit(ada))[0]).toEqual(['account.deleted', 'Ada', { name: 'Atelier B' }]);
    for (const body of [{ disabled: false }, { name: 'x' }]) expect((await change(body)).status).toBe(404);
    expect((await remove('Atelier B')).status).toBe(404);
    // The address is free again, there and elsewhere.
    await ada.ask('/people', { body: { email: 'grace@example.org', role: 'member' } });
  });
});
