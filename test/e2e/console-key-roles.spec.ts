import { waitUntil } from '#embedded/wait-until.js';
import { signInFirstAdmin, signInInvited, type Browser } from '../support/console.js';
import { startPlatform, type Platform } from '../support/platform.js';

interface Key {
  readonly id: string;
  readonly [field: string]: unknown;
}
interface NewKey {
  readonly key: Key;
  readonly secret: string;
}
type List = { readonly data: Key[] };

const HOUR_MS = 3_600_000;

/** Account B has two admins, of whom one made a key with a budget, and two members. */
describe('who may do what with keys', () => {
  let platform: Platform;
  let accountId: string;
  let operator: Browser;
  let admin: Browser;
  let member: Browser;
  let other: Browser;
  /** The admin's key with a budget, one of the member, one of the other member. */
  let shop: Key;
  let own: Key;
  let others: Key;

  const create = async (who: Browser, body: object): Promise<Key> =>
    (await who.ask<NewKey>('/keys', { body: { name: 'key', ...body } })).key;
  const change = (who: Browser, { id }: Key, body: object) => who.call(`/keys/${id}`, { method: 'PATCH', body });
  const setAccount = async (body: object) => await operator.ask(`/accounts/${accountId}`, { method: 'PATCH', body });
  const now = async ({ id }: Key): Promise<Key | undefined> =>
    (await admin.ask<List>('/keys')).data.find((key) => key.id === id);
  const answerOf = async (response: Response): Promise<[number, string, ...string[]]> => {
    const { error } = (await response.json()) as { error?: { code: string; param: string | null } };
    if (error === undefined) return [response.status, 'done'];
    return [response.status, error.code, ...(error.param === null ? [] : [error.param])];
  };
  const count = async (condition: string): Promise<number> => {
    const { rows } = await platform.pool.query<{ count: number }>(
      `SELECT count(*)::int FROM api_keys WHERE account_id = $1 AND ${condition}`,
      [accountId],
    );
    return rows[0]!.count;
  };
  const WORKS = 'NOT hidden AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())';

  beforeAll(async () => {
    platform = await startPlatform({ RATE_SUBMITS_PER_MINUTE: '60', RATE_POLLS_PER_MINUTE: '600' });
    operator = await signInFirstAdmin(platform);
    accountId = await platform.newAccount();
    admin = await signInInvited(platform, { email: 'grace@example.org', role: 'admin', accountId });
    member = await signInInvited(platform, { email: 'mo@example.org', role: 'member', accountId });
    other = await signInInvited(platform, { email: 'kim@example.org', role: 'member', accountId });
    shop = await create(admin, { name: 'shop', budget: '5', submits_per_minute: 10 });
    own = await create(member, { name: 'own' });
    others = await create(other, { name: 'others' });
  });
  afterAll(() => platform.close());

  it('H6: a member removes no budget and lifts no limit or weight of an admin’s key, which is none to them', async () => {
    const attack = { budget: null, submits_per_minute: 0, polls_per_minute: 0, tasks_in_flight: 0, weight: 100 };
    expect(await answerOf(await change(member, shop, attack))).toEqual([404, 'not_found']);
    for (const [name, value] of Object.entries(attack)) {
      expect(await answerOf(await change(member, shop, { [name]: value }))).toEqual([404, 'not_found']);
    }
    expect(await now(shop)).toEqual(shop);
  });

  it.each<[object, string]>([
    [{ weight: 100 }, 'weight'],
    [{ submits_per_minute: 0 }, 'submits_per_minute'],
    [{ polls_per_minute: 1 }, 'polls_per_minute'],
    [{ tasks_in_flight: 5 }, 'tasks_in_flight'],
    [{ budget: '1000' }, 'budget'],
    [{ budget: '1000', budget_period: 'total' }, 'budget'],
  ])('H6: a member sets %j neither of a key that it made nor of a new one', async (body, param) => {
    expect(await answerOf(await change(member, own, body))).toEqual([403, 'not_permitted', param]);
    const answer = await member.call('/keys', { body: { name: 'more', ...body } });
    expect(await answerOf(answer)).toEqual([403, 'not_permitted', param]);
    expect(await now(own)).toEqual(own);
    expect(await count(`name = 'more'`)).toBe(0);
  });

  it('lets a member name what is so already, and set all else of its own keys', async () => {
    const usual = { weight: 1, submits_per_minute: null, polls_per_minute: null, tasks_in_flight: null, budget: null };
    const free = {
      models: ['gpt-image-2'],
      scopes: ['images'],
      default_response_format: 'url',
      allow_pixel_size: true,
      submit_mode: 'apimart',
      expires_at: '2100-01-01T00:00:00.000Z',
    };
    const key = await create(member, { ...usual, budget_period: 'month', ...free });
    expect(key).toMatchObject({ ...usual, ...free, created_by: { name: 'Somebody' }, replaced_by: null });
    const changed = await change(member, key, { ...usual, weight: null, name: 'renamed', models: null });
    expect(await changed.json()).toMatchObject({ ...usual, ...free, name: 'renamed', models: [] });
    expect((await member.call(`/keys/${key.id}/revoke`, { method: 'POST' })).status).toBe(200);
  });

  describe('keys of a user whose role was taken', () => {
    const DOORS = {
      create: ['POST', '/v1/images/generations/async'],
      wait: ['POST', '/v1/images/generations'],
      edit: ['POST', '/v1/images/edits/async'],
      upload: ['POST', '/v1/uploads/images'],
      chat: ['POST', '/v1/chat/completions'],
      cancel: ['POST', '/v1/tasks/ID/cancel'],
      list: ['GET', '/v1/tasks'],
      read: ['GET', '/v1/tasks/ID'],
      follow: ['GET', '/v1/tasks/ID/events'],
      batch: ['POST', '/v1/tasks/batch'],
      models: ['GET', '/v1/models'],
    } as const;
    type Door = keyof typeof DOORS;
    const CREATING: Door[] = ['create', 'wait', 'edit', 'upload', 'chat', 'cancel'];
    const READING: Door[] = ['list', 'read', 'follow', 'batch'];
    let people = 0;

    const send = async (key: string, id: string, door: Door) => {
      const [method, path] = DOORS[door];
      const body = door === 'batch' ? { task_ids: [id] } : { model: 'gpt-image-2', prompt: 'a boat' };
      return await platform.call(path.replace('ID', id), { key, method, ...(method === 'POST' && { body }) });
    };
    const refusedDoors = async (key: string, id: string): Promise<Door[]> => {
      const refused: Door[] = [];
      for (const door of Object.keys(DOORS) as Door[]) {
        const answer = await send(key, id, door);
        const text = await answer.text();
        if (answer.status === 403 && text.includes('"endpoint_not_allowed"')) refused.push(door);
      }
      return refused;
    };

    it.each<['admin' | 'member', string, Door[], object]>([
      ['member', 'viewer', CREATING, {}],
      ['admin', 'viewer', CREATING, { tasks: 'own' }],
      ['member', 'billing', [...CREATING, ...READING], { tasks: 'own' }],
      ['admin', 'billing', [...CREATING, ...READING], {}],
      ['admin', 'billing', [...CREATING, ...READING], { scopes: ['images'] }],
      ['admin', 'member', [], {}],
    ])('a key of a %s who becomes a %s user is refused %j', async (before, role, refused, settings) => {
      const email = `demoted${++people}@example.org`;
      const user = await signInInvited(platform, { email, role: before, accountId });
      const { secret } = await user.ask<NewKey>('/keys', { body: { name: 'demoted', ...settings } });
      const answer = await send(secret, '', 'create');
      expect(answer.status).toBe(202);
      const { task_id: id } = (await answer.json()) as { task_id: string };
      expect((await send(secret, id, 'read')).status).toBe(200);
      const { data } = await admin.ask<List>('/people');
      const person = data.find((one) => one['email'] === email)!;
      await admin.ask(`/people/${person.id}`, { method: 'PATCH', body: { role } });
      if (refused.length > 0)
        expect(
          await waitUntil(async () => (await send(secret, id, 'cancel')).status === 403, { timeoutMs: 60_000 }),
        ).toBe(true);
      expect(await refusedDoors(secret, id)).toEqual(refused);
      // They get back what their key may do together with their role.
      await admin.ask(`/people/${person.id}`, { method: 'PATCH', body: { role: before } });
      const works = async () => (await send(secret, id, 'create')).status === 202;
      // Each try counts toward the limits of the key and of the account, whose limit all these keys share.
      expect(await waitUntil(works, { timeoutMs: 60_000, everyMs: 500 })).toBe(true);
    });
  });

  it.each<[string, string, object | undefined]>([
    ['PATCH', '', { name: 'taken' }],
    ['POST', '/rotate', { overlap_hours: 1 }],
    ['POST', '/revoke', undefined],
  ])('%s keys/:id%s: nobody but its maker and the admins of its account', async (method, path, body) => {
    const call = { method, ...(body && { body }) };
    const unknown = await member.call(`/keys/key_none${path}`, call);
    const none = ((await unknown.json()) as { error: object }).error;
    for (const [who, key] of [
      ...[member, operator].flatMap((who) => [[who, shop] as const, [who, others] as const]),
      ...[[other, own] as const],
    ]) {
      const answer = await who.call(`/keys/${key.id}${path}`, call);
      expect([answer.status, ((await answer.json()) as { error: object }).error]).toEqual([404, none]);
      expect(await now(key)).toEqual(key);
    }
    for (const who of [member, admin]) {
      const key = await create(member, {});
      expect((await who.call(`/keys/${key.id}${path}`, call)).ok).toBe(true);
      await admin.ask(`/keys/${key.id}/revoke`, { method: 'POST' });
    }
    await platform.pool.query(`DELETE FROM api_keys WHERE account_id = $1 AND id <> ALL ($2)`, [
      ...[accountId, [shop.id, own.id, others.id]],
    ]);
  });

  it('shows members the keys that they made, and admins all with who made them', async () => {
    const names = async (who: Browser, path = '/keys') => (await who.ask<List>(path)).data.map(({ name }) => name);
    for (const path of ['/keys', '/keys/names']) {
      expect([await names(member, path), await names(other, path)]).toEqual([['own'], ['others']]);
      expect(await names(admin, path)).toEqual(['others', 'own', 'shop']);
    }
    expect(await names(operator)).toEqual(['e2e']);
    expect((await operator.ask<List>('/keys')).data[0]).toMatchObject({ created_by: null });
  });

  it('H6: what an admin allows a member’s key outlasts change, rotation, and revoking it for a new one', async () => {
    const limited = await create(other, { name: 'limited' });
    await admin.ask(`/keys/${limited.id}`, {
      method: 'PATCH',
      body: { budget: '1', budget_period: 'total', weight: 2 },
    });
    for (const body of [
      { budget: null },
      { budget: '2' },
      { budget_period: 'month' },
      { weight: 1 },
      { weight: null },
    ]) {
      expect(await answerOf(await change(other, limited, body))).toEqual([403, 'not_permitted', Object.keys(body)[0]]);
    }
    expect((await change(other, limited, { budget: '1.00', budget_period: 'total', name: 'same' })).status).toBe(200);
    const rotated = await other.ask<NewKey>(`/keys/${limited.id}/rotate`, { body: { overlap_hours: 0 } });
    expect(rotated.key).toMatchObject({ budget: { amount: '1.000000', period: 'total' }, weight: 2 });
    const more = () => other.call('/keys', { body: { name: 'more' } });
    expect(await answerOf(await more())).toEqual([403, 'not_permitted']);
    // Nor is the playground a way around: it draws on the key that was limited.
    await admin.ask(`/keys/${rotated.key.id}`, { method: 'PATCH', body: { submits_per_minute: 1 } });
    const draw = () => other.call('/images', { body: { model: 'gpt-image-2', resolution: '1k', prompt: 'a boat' } });
    const drawn = await draw();
    expect(drawn.status).toBe(202);
    const { task_id: taskId } = (await drawn.json()) as { task_id: string };
    const { rows } = await platform.pool.query(`SELECT api_key_id FROM tasks WHERE id = $1`, [taskId]);
    expect(rows).toEqual([{ api_key_id: rotated.key.id }]);
    expect(await answerOf(await draw())).toEqual([429, 'rate_limit_exceeded']);
    expect((await admin.call('/images', { body: { model: 'gpt-image-2', prompt: 'a boat' } })).status).toBe(202);
    await other.ask(`/keys/${rotated.key.id}/revoke`, { method: 'POST' });
    expect(await answerOf(await more())).toEqual([403, 'not_permitted']);
  });

  it.each([
    ['submits_per_minute', 301, 300],
    ['submits_per_minute', 0, 300],
    ['polls_per_minute', 3_001, 3_000],
    ['polls_per_minute', 0, 3_000],
  ])('H6: an admin gives a key no %s of %i where the deployment allows %i', async (param, value, most) => {
    const refused = await change(admin, shop, { [param]: value });
    expect(await refused.json()).toMatchObject({
      error: { code: 'invalid_value', param, message: expect.stringContaining(`the account is limited to ${most}`) },
    });
    expect((await admin.call('/keys', { body: { name: 'k', [param]: value } })).status).toBe(400);
    expect((await change(admin, shop, { [param]: most })).status).toBe(200);
  });

  it('H6: only operators set the limits of an account; its admins stay within them', async () => {
    const limits = { weight: 3, submits_per_minute: 0, polls_per_minute: 50, chats_per_minute: 7, tasks_in_flight: 4 };
    for (const who of [admin, member]) {
      const path = `/accounts/${accountId}`;
      expect(await answerOf(await who.call(path, { method: 'PATCH', body: limits }))).toEqual([403, 'not_permitted']);
      expect((await who.call('/account', { method: 'PATCH', body: { name: 'B', ...limits } })).ok).toBe(false);
    }
    expect(await setAccount(limits)).toMatchObject({ limits: { ...limits, max_keys: null } });
    expect(await admin.ask('/account')).toMatchObject({
      limits: { ...limits, max_keys: null },
      defaults: {
        weight: 1,
        submits_per_minute: 300,
        polls_per_minute: 3_000,
        chats_per_minute: 0,
        tasks_in_flight: 0,
        max_keys: 100,
      },
    });
    const tries = [{ submits_per_minute: 0 }, { polls_per_minute: 51 }, { tasks_in_flight: 0 }, { tasks_in_flight: 4 }];
    const statuses = await Promise.all(tries.map(async (body) => (await change(admin, shop, body)).status));
    expect(statuses).toEqual([200, 400, 400, 200]);
    for (const [body, status] of [
      ...[[{ weight: 101 }, 400] as const, [{ weight: 0 }, 400] as const, [{ max_keys: -1 }, 400] as const],
      ...[[{ weight: null, submits_per_minute: null, polls_per_minute: null, chats_per_minute: null }, 200] as const],
    ]) {
      expect((await operator.call(`/accounts/${accountId}`, { method: 'PATCH', body })).status).toBe(status);
    }
    expect(await setAccount({ tasks_in_flight: null })).toMatchObject({
      limits: { weight: 1, submits_per_minute: null, polls_per_minute: null, chats_per_minute: null },
    });
  });

  it('H6: limits of an account stand in the audit logs of both sides, without names in the account’s own', async () => {
    const logs = await Promise.all(
      [operator, admin].map(async (who) => (await who.ask<List>('/audit?kind=team')).data),
    );
    const told = logs.map((entries) => entries.filter(({ action }) => action === 'account.limits_set').at(-1));
    const changes = { weight: 3, submits_per_minute: 0, polls_per_minute: 50, chats_per_minute: 7, tasks_in_flight: 4 };
    for (const entry of told) expect(entry).toMatchObject({ target: accountId, details: { changes } });
    expect(told.map((entry) => (entry?.['person'] as { name: string } | null)?.name)).toEqual(['Ada', undefined]);
  });

  it('H6: 60 keys of a member at once: as many as the account may have, and not one more', async () => {
    const before = await count(WORKS);
    await setAccount({ max_keys: before + 20 });
    const answers = await Promise.all(
      Array.from({ length: 60 }, async () => await answerOf(await member.call('/keys', { body: { name: 'flood' } }))),
    );
    const outcomes = answers.map(([status, code]) => `${status} ${code}`).sort();
    expect(outcomes).toEqual([...Array(20).fill('201 done'), ...Array(40).fill('409 account_limit_reached')]);
    expect(await count(WORKS)).toBe(before + 20);
    const refused = await admin.call('/keys', { body: { name: 'admin too' } });
    expect(await refused.json()).toMatchObject({
      error: { type: 'conflict_error', message: expect.stringContaining(`${before + 20} keys`) },
    });
  });

  it('H6: rotating makes no room: a pair counts as one key, and no key is in two pairs', async () => {
    const full = await count(WORKS);
    const rotate = (id: string) => member.call(`/keys/${id}/rotate`, { body: { overlap_hours: 24 } });
    const first = await rotate(own.id);
    expect(first.status).toBe(201);
    expect(await answerOf(await rotate(own.id))).toEqual([400, 'invalid_value']);
    expect(await count(WORKS)).toBe(full + 1);
    expect(await answerOf(await member.call('/keys', { body: { name: 'one' } }))).toEqual([
      409,
      'account_limit_reached',
    ]);
    let last = ((await first.json()) as NewKey).key.id;
    for (const _ of Array(3)) last = ((await (await rotate(last)).json()) as NewKey).key.id;
    expect(await count(WORKS)).toBe(full + 1);
    const together = await Promise.all([rotate(last), rotate(last), rotate(last)]);
    expect(together.map(({ status }) => status).sort()).toEqual([201, 400, 400]);
    expect(await count(WORKS)).toBe(full + 1);
  });

  it('H6: ending the successor makes no room either while the rotated key still works', async () => {
    const full = await count(WORKS);
    const { data: keys } = await member.ask<List>('/keys');
    const flood = keys.filter(({ name, replaced_by: by }) => name === 'flood' && by === null).slice(0, 4);
    const refused = [409, 'account_limit_reached'];
    for (const [n, key] of flood.entries()) {
      const rotated = await member.ask<NewKey>(`/keys/${key.id}/rotate`, { body: { overlap_hours: 24 } });
      if (n % 2 === 0) await member.ask(`/keys/${rotated.key.id}/revoke`, { method: 'POST' });
      else
        await platform.pool.query(`UPDATE api_keys SET expires_at = now() - interval '1 s' WHERE id = $1`, [
          rotated.key.id,
        ]);
      expect(await answerOf(await member.call('/keys', { body: { name: 'one more' } }))).toEqual(refused);
    }
    expect(await count(WORKS)).toBe(full);
    await member.ask(`/keys/${flood[0]!.id}/revoke`, { method: 'POST' });
    expect((await member.call('/keys', { body: { name: 'in its place' } })).status).toBe(201);
    expect(await answerOf(await member.call('/keys', { body: { name: 'one more' } }))).toEqual(refused);
  });

  it('H6: a key that has ended, or is to end after its rotation, is not brought back', async () => {
    const pair = (await admin.ask<List>('/keys')).data.find((key) => key['replaced_by'] !== null && !hasEnded(key))!;
    const end = Date.parse(pair['expires_at'] as string);
    const tries = [null, new Date(end + HOUR_MS).toISOString(), new Date(end - HOUR_MS).toISOString()];
    const answers = [];
    for (const expires_at of tries) answers.push((await change(admin, pair, { expires_at })).status);
    expect(answers).toEqual([400, 400, 200]);
    await platform.pool.query(`UPDATE api_keys SET expires_at = now() - interval '1 hour' WHERE id = $1`, [others.id]);
    expect(await answerOf(await change(admin, others, { expires_at: null }))).toEqual([
      ...[400, 'invalid_value', 'expires_at'],
    ]);
  });

  function hasEnded(key: Key): boolean {
    return Date.parse(key['expires_at'] as string) <= Date.now();
  }

  it('shows admins the keys of somebody who was disabled', async () => {
    const { data } = await admin.ask<List>('/people');
    const mo = data.find(({ email }) => email === 'mo@example.org')!;
    await admin.ask(`/people/${mo.id}`, { method: 'PATCH', body: { disabled: true } });
    expect((await admin.ask<List>('/keys')).data.filter((key) => (key['created_by'] as Key).id === mo.id)).not.toEqual(
      [],
    );
    expect((await member.call('/keys')).status).toBe(401);
  });
});
