import { waitUntil } from '#embedded/wait-until.js';
import { signInFirstAdmin, signInInvited, type Browser } from '../support/console.js';
import { startPlatform, type Platform } from '../support/platform.js';

interface Erasure {
  readonly id: string;
  readonly status: string;
  readonly deleted: number;
  readonly filter: Readonly<Record<string, string>>;
}

/** Ada owns the account, Bo is an admin, Mo a member with a key of his own. */
describe('deleting tasks by a filter in the console', () => {
  let platform: Platform;
  let ada: Browser;
  let bo: Browser;
  let mo: Browser;
  let moKey: string;
  let prompts = 0;

  beforeAll(async () => {
    platform = await startPlatform();
    ada = await signInFirstAdmin(platform);
    bo = await signInInvited(platform, { email: 'bo@example.org', role: 'admin' });
    mo = await signInInvited(platform, { email: 'mo@example.org', role: 'member' });
    moKey = (await mo.ask<{ secret: string }>('/keys', { body: { name: 'mo' } })).secret;
  });
  afterAll(async () => {
    await platform.close();
  });

  async function generate(key: string, more: object = {}): Promise<string> {
    const body = { model: 'gpt-image-2', prompt: `a pond, ${++prompts}`, resolution: '1k', ...more };
    const response = await platform.call('/v1/images/generations', { key, body });
    await response.text();
    expect(response.status).toBe(200);
    return response.headers.get('x-task-id') ?? '';
  }

  async function deleted(): Promise<string[]> {
    const { rows } = await platform.pool.query<{ id: string }>('SELECT id FROM tasks WHERE deleted_at IS NOT NULL');
    return rows.map(({ id }) => id).sort();
  }

  const request = (who: Browser, body: object) => who.call('/erasures', { body });
  async function refusal(who: Browser, body: object): Promise<unknown[]> {
    const response = await request(who, body);
    const { error } = (await response.json()) as { error: { code: string; param: string | null } };
    return [response.status, error.code, error.param];
  }

  /** Requests a deletion, and waits until it is over. */
  async function done(who: Browser, body: object): Promise<Erasure | undefined> {
    const response = await request(who, body);
    expect(response.status).toBe(202);
    const { id } = (await response.json()) as Erasure;
    let found: Erasure | undefined;
    const isOver = async (): Promise<boolean> => {
      found = (await who.ask<{ data: Erasure[] }>('/erasures')).data.find((one) => one.id === id);
      return found?.status === 'completed';
    };
    expect(await waitUntil(isOver, { timeoutMs: 60_000 })).toBe(true);
    return found;
  }

  it('deletes what matches and what the user sees, says how far it is, and proves it', async () => {
    const kept = await generate(platform.key);
    const tagged = await generate(platform.key, { tags: ['draft'] });
    const own = await generate(moKey, { tags: ['draft'] });

    expect(await done(mo, { tag: 'draft' })).toMatchObject({ deleted: 1, filter: { tag: 'draft' } });
    expect(await deleted()).toEqual([own]);
    expect(await done(bo, { tag: 'draft', status: 'completed' })).toMatchObject({ deleted: 1 });
    expect(await deleted()).toEqual([own, tagged].sort());
    // A member sees no deletion of what is not theirs.
    expect((await mo.ask<{ data: Erasure[] }>('/erasures')).data).toHaveLength(1);
    expect((await ada.ask<{ data: Erasure[] }>('/erasures')).data).toHaveLength(2);

    expect(await mo.ask(`/tasks/${own}/receipt`)).toMatchObject({ receipt: { id: own, images: 1 } });
    expect(await ada.ask(`/tasks/${tagged}/receipt`)).toMatchObject({ receipt: { id: tagged } });
    for (const [who, id] of [
      [mo, tagged],
      [ada, kept],
    ] as const)
      expect((await who.call(`/tasks/${id}/receipt`)).status).toBe(404);
    const { data } = await ada.ask<{ data: { action: string; details: object }[] }>('/audit?limit=10');
    expect(data.find(({ action }) => action === 'tasks.deletion_requested')).toMatchObject({
      details: { tag: 'draft', status: 'completed' },
    });
  });

  it('deletes all tasks for an owner alone, who has typed the name of the account', async () => {
    const { name } = await ada.ask<{ name: string }>('/account');
    expect(await refusal(ada, {})).toEqual([400, 'missing_required_parameter', 'all']);
    for (const body of [
      { all: true, name },
      { before: '2100-01-01T00:00:00Z', name },
    ])
      for (const who of [bo, mo]) expect(await refusal(who, body)).toEqual([403, 'not_permitted', null]);
    // An admin who sees everything would otherwise delete everything, one status after the other.
    for (const status of ['pending', 'completed', 'failed', 'cancelled'])
      expect(await refusal(bo, { status, before: '2100-01-01T00:00:00Z' })).toEqual([403, 'not_permitted', null]);
    expect(await done(mo, { status: 'failed' })).toMatchObject({ deleted: 0 });
    const { secret: boKey } = await bo.ask<{ secret: string }>('/keys', { body: { name: 'bo' } });
    const { secret: adaKey } = await ada.ask<{ secret: string }>('/keys', { body: { name: 'ada' } });
    const withKey = async (key: string, query: string): Promise<number> =>
      (await platform.call(`/v1/tasks?${query}`, { key, method: 'DELETE' })).status;
    for (const query of ['all=true', 'status=failed', 'before=4000000000'])
      expect(await withKey(boKey, query)).toBe(403);
    expect([await withKey(boKey, 'tag=none'), await withKey(adaKey, 'status=failed')]).toEqual([202, 202]);
    expect(await refusal(ada, { all: true })).toEqual([400, 'invalid_value', 'name']);
    expect(await refusal(ada, { all: true, name: 'Another' })).toEqual([400, 'invalid_value', 'name']);
    expect(await refusal(ada, { tag: 'x', before: 'yesterday' })).toEqual([400, 'invalid_value', 'before']);
    expect(await refusal(ada, { status: 'waiting' })).toEqual([400, 'invalid_value', 'status']);
    const before = await deleted();
    await generate(moKey);
    expect(await deleted()).toEqual(before);
    await done(ada, { all: true, name });
    const { rows } = await platform.pool.query('SELECT 1 FROM tasks WHERE deleted_at IS NULL');
    expect(rows).toEqual([]);
  });
});
