import { waitUntil } from '#embedded/wait-until.js';
import { signInFirstAdmin, signInInvited, type Browser } from '../support/console.js';
import { insertSettledTask } from '../support/settled-task.js';
import { startPlatform, type Platform } from '../support/platform.js';

interface Key {
  readonly id: string;
  readonly [field: string]: unknown;
}
interface NewKey {
  readonly key: Key;
  readonly secret: string;
}

describe('keys in the console', () => {
  let platform: Platform;
  let ada: Browser;
  const draw = (key: string, body: object = {}): Promise<Response> =>
    platform.call('/v1/images/generations', {
      key,
      body: { model: 'gpt-image-2', prompt: 'a key', resolution: '1k', ...body },
    });
  const list = async (): Promise<Key[]> => (await ada.ask<{ data: Key[] }>('/keys')).data;
  const find = async (id: string): Promise<Key | undefined> => (await list()).find((key) => key.id === id);

  beforeAll(async () => {
    platform = await startPlatform();
    ada = await signInFirstAdmin(platform);
  });
  afterAll(() => platform.close());

  it('makes a key that works at once, shows it only then, and tells its last use and its spend', async () => {
    const { key, secret } = await ada.ask<NewKey>('/keys', { body: { name: 'shop', budget: '5', weight: 3 } });
    expect(secret).toMatch(/^sk-dr-[A-Za-z0-9_-]{43}$/);
    expect(key).toEqual({
      id: expect.stringMatching(/^key_/),
      name: 'shop',
      prefix: secret.slice(0, 12),
      models: [],
      scopes: [],
      weight: 3,
      tasks: 'all',
      submits_per_minute: null,
      polls_per_minute: null,
      tasks_in_flight: null,
      default_response_format: null,
      keep_seconds: null,
      approve_above: null,
      allow_pixel_size: null,
      submit_mode: 'sync',
      region: null,
      end_users: 'off',
      tags: [],
      created_at: expect.any(String),
      expires_at: null,
      created_by: { id: expect.stringMatching(/^person_/), name: 'Ada' },
      made_by: null,
      replaced_by: null,
      oauth_client: null,
      revoked_at: null,
      last_used_at: null,
      refused_24h: 0,
      spend: { amount: '0.000000', currency: 'USD', unpriced_images: 0, unpriced_chats: 0 },
      budget: { amount: '5.000000', period: 'month', spent: '0.000000', used_up: false },
    });
    const answer = await draw(secret);
    expect(answer.status).toBe(200);
    const taskId = answer.headers.get('x-task-id');
    const other = { id: `other_${taskId}`, accountId: 'acct_default', apiKeyId: key.id };
    await insertSettledTask(platform.pool, { ...other, reserved: 90_000, settled: 40_000 });
    expect(await waitUntil(async () => (await find(key.id))?.['last_used_at'] !== null, { timeoutMs: 15_000 })).toBe(
      true,
    );
    const before = (
      await platform.pool.query<{ spent: number }>(
        `SELECT COALESCE(sum(CASE kind WHEN 'settle' THEN amount_micros END), 0)::float8 / 1e6 AS spent FROM charges WHERE api_key_id = $1`,
        [key.id],
      )
    ).rows[0]!.spent;
    expect(before).toBeGreaterThanOrEqual(0.04);
    expect((await find(key.id))?.['spend']).toMatchObject({ amount: before.toFixed(6), currency: 'USD' });
    expect(JSON.stringify(await list())).not.toContain(secret);
    const { rows } = await platform.pool.query('SELECT * FROM audit_log');
    expect(JSON.stringify(rows)).not.toContain(secret);
  });

  it('revokes a key within 10 seconds, everywhere', async () => {
    const { key, secret } = await ada.ask<NewKey>('/keys', { body: { name: 'to be revoked' } });
    expect((await draw(secret)).status).toBe(200);
    const revoked = await ada.ask<Key>(`/keys/${key.id}/revoke`, { method: 'POST' });
    expect(revoked['revoked_at']).toEqual(expect.any(String));
    expect(await waitUntil(async () => (await draw(secret)).status === 401, { timeoutMs: 30_000 })).toBe(true);
  });

  it('changes limits and takes them back', async () => {
    const { key } = await ada.ask<NewKey>('/keys', { body: { name: 'limits', models: ['gpt-image-2'] } });
    const change = (body: object) => ada.ask<Key>(`/keys/${key.id}`, { method: 'PATCH', body });
    const changes = {
      name: 'new name',
      weight: 9,
      submits_per_minute: 3,
      polls_per_minute: 0,
      tasks_in_flight: 2,
      default_response_format: 'url',
      allow_pixel_size: true,
      submit_mode: 'apimart',
      region: 'eu',
      models: [],
      scopes: ['tasks', 'chat'],
    };
    const changed = await change({
      ...changes,
      budget: '10',
      budget_period: 'total',
      expires_at: '2100-01-01T00:00:00Z',
    });
    expect(changed).toMatchObject({ ...changes, expires_at: '2100-01-01T00:00:00.000Z' });
    expect(changed['budget']).toEqual({
      ...{ amount: '10.000000', period: 'total', spent: '0.000000', used_up: false },
    });
    expect(await change({ budget_period: 'month' })).toMatchObject({
      budget: { amount: '10.000000', period: 'month' },
    });
    expect((await ada.call(`/keys/${key.id}`, { method: 'PATCH', body: { scopes: ['admin'] } })).status).toBe(400);
    const reset = await change({
      scopes: null,
      weight: null,
      submits_per_minute: null,
      budget: null,
      expires_at: null,
      name: null,
    });
    expect(reset).toMatchObject({
      scopes: [],
      weight: 1,
      submits_per_minute: null,
      budget: null,
      expires_at: null,
      name: 'new name',
    });
  });

  it('rotates a key: the new one has its settings, the old one works until the overlap is over', async () => {
    const { key, secret } = await ada.ask<NewKey>('/keys', { body: { name: 'old', weight: 7, budget: '2' } });
    const rotated = await ada.ask<NewKey>(`/keys/${key.id}/rotate`, { body: { overlap_hours: 24 } });
    expect(rotated.key).toMatchObject({ name: 'old', weight: 7, budget: { amount: '2.000000' }, expires_at: null });
    expect([(await draw(secret)).status, (await draw(rotated.secret)).status]).toEqual([200, 200]);
    const hours = (Date.parse((await find(key.id))?.['expires_at'] as string) - Date.now()) / 3_600_000;
    expect(hours).toBeGreaterThan(23.9);
    expect(hours).toBeLessThanOrEqual(24.01);
    await ada.ask(`/keys/${rotated.key.id}/rotate`, { body: { overlap_hours: 0 } });
    expect(await waitUntil(async () => (await draw(rotated.secret)).status === 401, { timeoutMs: 30_000 })).toBe(true);
    expect((await ada.call(`/keys/${rotated.key.id}/rotate`, { body: { overlap_hours: 1 } })).status).toBe(400);
  });

  it('section 4, 5: a key and the key that replaces it draw on one budget', async () => {
    const old = await ada.ask<NewKey>('/keys', { body: { name: 'thrifty', budget: '2' } });
    const heir = await ada.ask<NewKey>(`/keys/${old.key.id}/rotate`, { body: { overlap_hours: 24 } });
    const last = await ada.ask<NewKey>(`/keys/${heir.key.id}/rotate`, { body: { overlap_hours: 24 } });
    await ada.ask(`/keys/${old.key.id}`, { method: 'PATCH', body: { budget: '3' } });
    for (const { key } of [old, heir, last]) {
      expect((await find(key.id))?.['budget']).toMatchObject({ amount: '3.000000' });
    }
    const rows = await platform.pool.query('SELECT 1 FROM budgets WHERE owner_id = ANY($1)', [
      [old, heir, last].map(({ key }) => key.id),
    ]);
    expect(rows.rowCount).toBe(1);
  });

  it('keeps what a key may do: its models', async () => {
    const { key, secret } = await ada.ask<NewKey>('/keys', { body: { name: 'one model', models: ['gpt-image-2'] } });
    expect(key['models']).toEqual(['gpt-image-2']);
    const { data } = (await (await platform.call('/v1/models', { key: secret })).json()) as { data: { id: string }[] };
    expect(data.map(({ id }) => id)).toEqual(['gpt-image-2']);
  });

  it.each<[object, string, string]>([
    [{}, 'missing_required_parameter', 'name'],
    [{ name: '   ' }, 'invalid_value', 'name'],
    [{ name: 'k', account_id: 'acct_other' }, 'unsupported_parameter', 'account_id'],
    [{ name: 'k', models: ['no-such-model'] }, 'invalid_value', 'models[0]'],
    [{ name: 'k', models: [1] }, 'invalid_type', 'models[0]'],
    [{ name: 'k', weight: 0 }, 'integer_below_min_value', 'weight'],
    [{ name: 'k', submits_per_minute: 1.5 }, 'invalid_type', 'submits_per_minute'],
    [{ name: 'k', budget: '1e9' }, 'invalid_value', 'budget'],
    [{ name: 'k', budget_period: 'month' }, 'invalid_value', 'budget_period'],
    [{ name: 'k', expires_at: '2020-01-01T00:00:00Z' }, 'invalid_value', 'expires_at'],
    [{ name: 'k', submit_mode: 'other' }, 'invalid_value', 'submit_mode'],
    [{ name: 'k', region: 'EU west' }, 'invalid_value', 'region'],
    [{ name: 'k', region: 7 }, 'invalid_value', 'region'],
  ])('refuses %j', async (body, code, param) => {
    const answer = await ada.call('/keys', { body });
    expect([answer.status, await answer.json()]).toMatchObject([400, { error: { code, param } }]);
  });

  it("shows nobody another account's keys, and answers for them as for none", async () => {
    const mine = await ada.ask<NewKey>('/keys', { body: { name: 'mine' } });
    const accountId = await platform.newAccount();
    const eve = await signInInvited(platform, { email: 'eve@example.org', role: 'admin', accountId });
    expect(await eve.ask('/keys')).toEqual({ data: [] });
    const calls = [
      ['PATCH', '', { weight: 2 }],
      ['POST', '/rotate', { overlap_hours: 1 }],
      ['POST', '/revoke', {}],
    ] as const;
    for (const [method, path, body] of calls) {
      const foreign = await eve.call(`/keys/${mine.key.id}${path}`, { method, body });
      const unknown = await eve.call(`/keys/key_none${path}`, { method, body });
      expect([foreign.status, unknown.status]).toEqual([404, 404]);
      const errors = (await Promise.all([foreign.json(), unknown.json()])) as { error: object }[];
      expect(errors[0]!.error).toEqual(errors[1]!.error);
    }
    expect(await find(mine.key.id)).toMatchObject({ revoked_at: null, weight: 1 });
  });
});
