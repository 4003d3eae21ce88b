import { signInFirstAdmin, signInInvited, type Browser } from '../support/console.js';
import { patient } from '../support/patience.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';

interface NewKey {
  readonly key: { readonly id: string; readonly tasks: string };
  readonly secret: string;
}
interface TaskAnswer {
  readonly data: { readonly id: string; readonly status: string };
}
type Ids = { readonly data: readonly { readonly id: string }[] };

/** One account with two members and an admin. Each of them has a key, and has made a task with it. */
describe('the tasks that a key may see and cancel', () => {
  let platform: ApiPlatform;
  let admin: Browser;
  let mo: Browser;
  let kim: Browser;
  let keys: Record<'admin' | 'mo' | 'moSecond' | 'kim', string>;
  let tasks: Record<'admin' | 'mo' | 'kim' | 'playground', string>;

  const call = (key: string, path: string, body?: object, headers: Record<string, string> = {}, method?: string) =>
    fetch(platform.url + path, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: {
        authorization: `Bearer ${key}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(patient(60_000)),
    });
  const create = async (who: Browser, body: object = {}): Promise<NewKey> =>
    await who.ask<NewKey>('/keys', { body: { name: 'key', ...body } });
  const make = async (key: string, prompt: string, headers: Record<string, string> = {}): Promise<string> => {
    const answer = await call(key, '/v1/images/generations/async', { model: 'gpt-image-2', prompt }, headers);
    expect(answer.status).toBe(202);
    return ((await answer.json()) as { task_id: string }).task_id;
  };
  /** Without the request's own id. */
  const refusalOf = async (answer: Response): Promise<unknown> => {
    const { request_id: _, ...body } = (await answer.json()) as { request_id: string };
    return [answer.status, body];
  };
  const listed = async (key: string, query = ''): Promise<string[]> =>
    ((await (await call(key, `/v1/tasks${query}`)).json()) as Ids).data.map(({ id }) => id).sort();
  const statusOf = async (id: string): Promise<unknown> =>
    ((await (await call(keys.admin, `/v1/tasks/${id}`)).json()) as TaskAnswer).data.status;

  beforeAll(async () => {
    // No worker, so that every task is pending and could be cancelled.
    platform = await startApiPlatform();
    admin = await signInFirstAdmin(platform);
    mo = await signInInvited(platform, { email: 'mo@example.org', role: 'member' });
    kim = await signInInvited(platform, { email: 'kim@example.org', role: 'member' });
    keys = {
      admin: (await create(admin)).secret,
      mo: (await create(mo)).secret,
      moSecond: (await create(mo)).secret,
      kim: (await create(kim)).secret,
    };
    tasks = {
      admin: await make(keys.admin, 'a boat of the admin', { 'idempotency-key': 'of-the-admin' }),
      mo: await make(keys.mo, 'a boat of Mo'),
      kim: await make(keys.kim, 'a boat of Kim'),
      playground: (await mo.ask<{ task_id: string }>('/images', { body: { model: 'gpt-image-2', prompt: 'a boat' } }))
        .task_id,
    };
  });
  afterAll(() => platform.close());

  it('a member’s key lists exactly what its owner sees in the console, an admin’s key everything', async () => {
    const inConsole = async (who: Browser): Promise<string[]> =>
      (await who.ask<Ids>('/tasks')).data.map(({ id }) => id).sort();
    expect(await listed(keys.mo)).toEqual([tasks.mo, tasks.playground].sort());
    expect(await listed(keys.moSecond)).toEqual(await inConsole(mo));
    expect(await listed(keys.kim)).toEqual([tasks.kim]);
    expect(await listed(keys.kim)).toEqual(await inConsole(kim));
    expect(await listed(keys.admin)).toEqual(Object.values(tasks).sort());
    // Also in parts of the list that have another index, and behind the cursor of a task that is not theirs.
    expect(await listed(keys.kim, '?status=pending')).toEqual([tasks.kim]);
    expect(await listed(keys.kim, `?after=${tasks.admin}`)).toEqual([]);
  });

  it('a colleague’s task is the same 404 as an unknown one, at every door, and is left alone', async () => {
    const unknown = tasks.admin.replace(/.{10}$/, '0000000000');
    for (const path of ['', '?wait=1', '?include=timeline', '/events']) {
      const foreign = await refusalOf(await call(keys.kim, `/v1/tasks/${tasks.admin}${path}`));
      expect(foreign).toEqual(await refusalOf(await call(keys.kim, `/v1/tasks/${unknown}${path}`)));
      expect(foreign).toMatchObject([404, { error: { code: 'task_not_found' } }]);
    }
    for (const id of [tasks.admin, tasks.mo, tasks.playground]) {
      const cancelled = await call(keys.kim, `/v1/tasks/${id}/cancel`, undefined, {}, 'POST');
      expect(await refusalOf(cancelled)).toMatchObject([404, { error: { code: 'task_not_found' } }]);
      expect(await statusOf(id)).toBe('pending');
    }
    const ids = [...Object.values(tasks), unknown];
    const batch = (await (await call(keys.kim, '/v1/tasks/batch', { task_ids: ids })).json()) as Ids & {
      missing: string[];
    };
    expect(batch.data.map(({ id }) => id)).toEqual([tasks.kim]);
    expect(batch.missing).toEqual(ids.filter((id) => id !== tasks.kim));
  });

  it('polls of both members that share one query each get their own task alone', async () => {
    const polls = Object.values(tasks).flatMap((id) => [keys.mo, keys.kim].map((key) => ({ id, key })));
    const statuses = await Promise.all(polls.map(async ({ id, key }) => (await call(key, `/v1/tasks/${id}`)).status));
    const mine = { [keys.mo]: [tasks.mo, tasks.playground], [keys.kim]: [tasks.kim] };
    expect(statuses).toEqual(polls.map(({ id, key }) => (mine[key]?.includes(id) === true ? 200 : 404)));
  });

  it('a repeated Idempotency-Key of a colleague answers no task of theirs, and makes none', async () => {
    const count = async (): Promise<number> => (await listed(keys.admin)).length;
    const before = await count();
    const repeat = (key: string) =>
      call(
        key,
        '/v1/images/generations/async',
        { model: 'gpt-image-2', prompt: 'a boat of the admin' },
        { 'idempotency-key': 'of-the-admin' },
      );
    const refused = await repeat(keys.kim);
    expect(refused.headers.get('x-task-id')).toBeNull();
    const text = await refused.text();
    expect([refused.status, text.includes('task_')]).toEqual([422, false]);
    expect(text).toContain('idempotency_key_reused');
    const own = await repeat(keys.admin);
    expect([own.status, own.headers.get('x-task-id')]).toEqual([202, tasks.admin]);
    expect(await count()).toBe(before);
  });

  it('an owner confines a key to its own tasks, together with its rotations, and lets it see all again', async () => {
    const { key, secret } = await create(admin, { tasks: 'own' });
    expect(key.tasks).toBe('own');
    expect(await listed(secret)).toEqual([]);
    const first = await make(secret, 'a boat of the shop');
    const rotated = await admin.ask<NewKey>(`/keys/${key.id}/rotate`, { body: { overlap_hours: 1 } });
    const second = await make(rotated.secret, 'another boat of the shop');
    expect(rotated.key.tasks).toBe('own');
    expect(await listed(rotated.secret)).toEqual([first, second].sort());
    expect((await call(rotated.secret, `/v1/tasks/${tasks.admin}`)).status).toBe(404);
    expect((await call(rotated.secret, `/v1/tasks/${first}/cancel`, undefined, {}, 'POST')).status).toBe(200);
    const wide = await create(admin, { tasks: 'all' });
    expect(await listed(wide.secret)).toEqual(await listed(keys.admin));
  });

  it('a key follows the role of its user: of an admin who becomes a member it sees only theirs', async () => {
    const grace = await signInInvited(platform, { email: 'grace@example.org', role: 'admin' });
    const { secret } = await create(grace);
    const { person } = await grace.ask<{ person: { id: string } }>('/session');
    await admin.ask(`/people/${person.id}`, { method: 'PATCH', body: { role: 'member' } });
    // Its first use, so that no process knows it from before.
    expect(await listed(secret)).toEqual([]);
    expect((await call(secret, `/v1/tasks/${tasks.kim}`)).status).toBe(404);
    await admin.ask(`/people/${person.id}/delete`, { body: { name: 'Somebody' } });
    const left = await create(kim);
    expect(await listed(left.secret)).toEqual([tasks.kim]);
  });
});
