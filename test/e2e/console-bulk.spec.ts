import { signInFirstAdmin, signInInvited, type Browser } from '../support/console.js';
import { insertFailed } from '../support/failed-task.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';

interface Bulk {
  readonly count: number;
  readonly refused: readonly { task_id: string; code: string; retry_after: number | null }[];
  readonly has_more: boolean;
  readonly next: string | null;
}
interface Outcomes {
  readonly providers: readonly { name: string; count: number }[];
  readonly errors: readonly { name: string; count: number }[];
}
type Ids = { readonly data: readonly { readonly id: string }[] };

const MANY = 230;

/** No worker, so that every retry stays pending. */
describe('bulk actions on any number of tasks', () => {
  let platform: ApiPlatform;
  let ada: Browser;
  const retries = async (): Promise<number> =>
    (await platform.pool.query<{ n: number }>('SELECT count(*)::int AS n FROM tasks WHERE retry_of IS NOT NULL'))
      .rows[0]!.n;
  const bulk = (who: Browser, path: string, tasks?: readonly string[]): Promise<Bulk> =>
    who.ask<Bulk>(path, tasks === undefined ? { method: 'POST' } : { body: { tasks } });
  const outcomes = (who: Browser, query = ''): Promise<Outcomes> => who.ask<Outcomes>(`/tasks/outcomes${query}`);
  /** Retries all that match, batch by batch, as the console does. */
  const retryAll = async (query: string): Promise<number> => {
    let retried = 0;
    for (let after: string | null = ''; after !== null;) {
      const { count, next } = await bulk(ada, `/tasks/retry?limit=50&${query}${after && `&after=${after}`}`);
      retried += count;
      after = next;
    }
    return retried;
  };

  beforeAll(async () => {
    platform = await startApiPlatform({ RATE_SUBMITS_PER_MINUTE: '0', MAX_TASKS_IN_FLIGHT: '0' });
    ada = await signInFirstAdmin(platform);
  });
  afterAll(() => platform.close());

  it('counts tasks by provider and by error, of the account or of one’s own, and finds them by both', async () => {
    const timeouts = [
      await insertFailed(platform, { code: 'generation_timeout', provider: 'slow' }),
      await insertFailed(platform, { code: 'generation_timeout', provider: 'house' }),
    ];
    const blocked = await insertFailed(platform, { code: 'moderation_blocked' });
    await insertFailed(platform, { status: 'completed', error: null, provider: 'slow', images: [] });
    const providers = [
      { name: 'house', count: 2 },
      { name: 'slow', count: 2 },
    ];
    expect(await outcomes(ada)).toEqual({
      providers,
      more_providers: false,
      errors: [
        { name: 'generation_timeout', count: 2 },
        { name: 'moderation_blocked', count: 1 },
      ],
      more_errors: false,
    });
    expect((await outcomes(ada, '?status=completed')).providers).toEqual([{ name: 'slow', count: 1 }]);
    expect((await outcomes(ada, '?to=2020-01-01')).providers).toEqual([]);
    const mia = await signInInvited(platform, { email: 'mia@example.org', role: 'member' });
    expect(await outcomes(mia)).toMatchObject({ providers: [], errors: [] });
    const { rows } = await platform.pool.query<{ id: string }>(`SELECT id FROM people WHERE email = 'mia@example.org'`);
    await platform.pool.query('UPDATE tasks SET ordered_by = $1 WHERE id = $2', [rows[0]!.id, blocked]);
    expect(await outcomes(mia)).toMatchObject({
      providers: [{ name: 'house', count: 1 }],
      errors: [{ name: 'moderation_blocked', count: 1 }],
    });

    const list = async (query: string) => (await ada.ask<Ids>(`/tasks?${query}`)).data.map(({ id }) => id);
    expect(await list('error=generation_timeout')).toEqual([...timeouts].reverse());
    expect(await list('error=generation_timeout&provider=slow')).toEqual([timeouts[0]]);
    expect(await list('error=generation_timeout&status=completed')).toEqual([]);
    expect(await list(`error=generation_timeout&text=${timeouts[1]!}`)).toEqual([timeouts[1]]);
    expect(await list(`error=upstream_error&text=${timeouts[1]!}`)).toEqual([]);
    expect((await ada.call('/tasks/outcomes?provider=slow')).status).toBe(400);
    await platform.pool.query('DELETE FROM tasks');
  });

  it('counts at most 5,000 tasks, and then says that there are more', async () => {
    await insertFailed(platform, { code: 'upstream_error', provider: 'rare', created_at: '2026-01-01' });
    await platform.pool.query(
      `INSERT INTO tasks (id, account_id, api_key_id, request_id, action, model, prompt, options, status, phase, provider, finished_at, deadline_at)
       SELECT 'task_' || n, 'acct_default', id, 'req', 'generation', 'm', 'p', '{}', 'completed', 'done', 'busy', now(), now()
       FROM api_keys, generate_series(1, 5001) AS n WHERE name = 'e2e'`,
    );
    expect(await outcomes(ada)).toEqual({
      providers: [{ name: 'busy', count: 5_000 }],
      more_providers: true,
      // Failures have an index of their own.
      errors: [{ name: 'upstream_error', count: 1 }],
      more_errors: false,
    });
    await platform.pool.query('DELETE FROM tasks');
  });

  it('retries all that match in batches, once each, however many retry them', async () => {
    const failed: string[] = [];
    for (let n = 0; n < MANY; n++) failed.push(await insertFailed(platform, { prompt: `lot ${n}` }));
    await insertFailed(platform, { code: 'moderation_blocked' });
    const preview = await bulk(ada, '/tasks/retry?dry_run=true');
    expect([preview.count, preview.has_more, preview.refused.length]).toEqual([MANY, false, 1]);
    const [one, two] = await Promise.all([retryAll(''), retryAll('text=lot')]);
    expect([one + two, await retries()]).toEqual([MANY, MANY]);
    expect(await retryAll('')).toBe(0);
    expect(await bulk(ada, '/tasks/retry', failed)).toMatchObject({ count: 0, next: null });
    expect(await retries()).toBe(MANY);

    const pending = await bulk(ada, '/tasks/cancel?dry_run=true');
    expect([pending.count, pending.has_more]).toEqual([MANY, false]);
    const first = await bulk(ada, '/tasks/cancel?limit=100');
    expect([first.count, first.has_more]).toEqual([100, true]);
    expect(await bulk(ada, '/tasks/cancel', failed)).toMatchObject({ count: 0, refused: [] });
    let cancelled = 0;
    for (let after = first.next; after !== null;) {
      const next: Bulk = await bulk(ada, `/tasks/cancel?limit=100&after=${after}`);
      cancelled += next.count;
      after = next.next;
    }
    expect(cancelled).toBe(MANY - 100);
  });

  it('keeps up to 20 views of each user', async () => {
    const list = async (who: Browser) => (await who.ask<{ data: { name: string }[] }>('/task-views')).data;
    const filters = { status: 'failed', error: 'upstream_error', text: 'a cat' };
    await Promise.all(
      Array.from({ length: 19 }, (_, n) => ada.ask('/task-views', { body: { name: `view ${n}`, status: 'failed' } })),
    );
    await ada.ask('/task-views', { body: { name: 'Broken', ...filters } });
    expect(await list(ada)).toHaveLength(20);
    expect((await list(ada))[0]).toEqual({ name: 'Broken', filters });
    expect((await ada.call('/task-views', { body: { name: 'one more' } })).status).toBe(409);
    await ada.ask('/task-views', { body: { name: 'Broken', model: 'gpt-image-2' } });
    expect((await list(ada))[0]).toEqual({ name: 'Broken', filters: { model: 'gpt-image-2' } });
    await ada.ask('/task-views/delete', { body: { name: 'Broken' } });
    expect(await list(ada)).toHaveLength(19);
    const vic = await signInInvited(platform, { email: 'vic@example.org', role: 'viewer' });
    expect(await list(vic)).toEqual([]);
    for (const body of [
      { name: '' },
      { name: 'x', status: 'lost' },
      { name: 'x', text: 'y'.repeat(201) },
      { name: 'x', from: '2026' },
    ]) {
      expect((await ada.call('/task-views', { body })).status).toBe(400);
    }
  });

  it('takes named tasks, those of the scope alone, and says which of them wait for a limit', async () => {
    const accountId = await platform.newAccount();
    const eve = await signInInvited(platform, { email: 'eve@example.org', role: 'admin', accountId });
    const mo = await signInInvited(platform, { email: 'mo@example.org', role: 'member' });
    const named = [await insertFailed(platform), await insertFailed(platform), await insertFailed(platform)];
    const before = await retries();
    const unknown = named.map((id) => ({ task_id: id, code: 'task_not_found', retry_after: null }));
    expect(await bulk(eve, '/tasks/retry', named)).toMatchObject({ count: 0, refused: unknown });
    expect(await bulk(eve, '/tasks/retry?dry_run=true', named)).toMatchObject({
      count: 0,
      first: [],
      refused: unknown,
    });
    expect(await bulk(mo, '/tasks/cancel', named)).toMatchObject({ count: 0, refused: unknown });
    expect(await retries()).toBe(before);

    await platform.pool.query(`UPDATE api_keys SET submits_per_minute = 2 WHERE name = 'e2e'`);
    const outcome = await bulk(ada, '/tasks/retry', named);
    expect(outcome).toMatchObject({ count: 2, refused: [{ code: 'rate_limit_exceeded' }] });
    expect(outcome.refused[0]?.retry_after).toBeGreaterThan(0);
    await platform.pool.query(`UPDATE api_keys SET submits_per_minute = NULL WHERE name = 'e2e'`);
    // The whole selection again: what was retried is left out.
    expect(await bulk(ada, '/tasks/retry', [...named, named[0]!])).toMatchObject({ count: 1 });
    expect(await retries()).toBe(before + 3);
    for (const tasks of [[], ['nothing'], 'task', Array.from({ length: 1_001 }, () => named[0])]) {
      expect((await ada.call('/tasks/retry', { body: { tasks } })).status).toBe(400);
    }
  });
});
