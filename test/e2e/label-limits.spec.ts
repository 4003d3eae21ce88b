import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from '#embedded/wait-until.js';
import { lineOf, startBatch } from '../support/batches.js';
import { signInFirstAdmin, signInInvited, type Browser } from '../support/console.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';

const MODELS = `providers:
  drawn: { type: sandbox }
models:
  priced: { kind: image, routes: [{ provider: drawn }], prices: [{ from: 2026-01-01, per_image: { 1k: 0.04, 2k: 0.04, 4k: 1 } }] }
  talk: { kind: chat, routes: [{ provider: drawn }] }
`;
const USER = 'ann@example.com';

interface Labels {
  readonly user?: string;
  readonly tags?: readonly string[];
}

/** An image costs 0.04. No worker runs, so tasks stay in flight. */
describe('limits of end users and tags', () => {
  let folder: string;
  let platform: ApiPlatform;
  let ada: Browser;
  let account: string;
  let eve: Browser;
  /** Derives identifiers. */
  let key: string;
  let requests = 0;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-label-limits-'));
    await writeFile(join(folder, 'models.yaml'), MODELS);
    platform = await startApiPlatform({ MODELS_FILE: join(folder, 'models.yaml') });
    ada = await signInFirstAdmin(platform);
    account = await platform.newAccount();
    eve = await signInInvited(platform, { email: 'eve@example.org', role: 'admin', accountId: account });
    key = await platform.newKey({ end_users: 'derive' }, account);
  });
  afterAll(async () => {
    await platform.close();
    await rm(folder, { recursive: true, force: true });
  });

  const put = (limits: unknown, who = eve) => who.call('/end-users/limits', { method: 'PUT', body: { limits } });
  const set = async (...limits: object[]): Promise<void> => {
    expect((await put(limits)).status).toBe(200);
  };
  const ask = async (labels: Labels, by = key) => {
    const body = { model: 'priced', prompt: `a mill, ${++requests}`, resolution: '1k', ...labels };
    const response = await platform.call('/v1/images/generations/async', { key: by, body });
    const answer = (await response.json()) as { task_id?: string; error?: { code: string; message: string } };
    return { ...answer, status: response.status, retryAfter: response.headers.get('retry-after') };
  };
  const cancel = async (id: string | undefined): Promise<void> => {
    expect((await platform.call(`/v1/tasks/${id}/cancel`, { key, method: 'POST' })).status).toBe(200);
  };

  it('of requests per minute count images and chats of an end user or tag, and name neither', async () => {
    await set({ kind: 'end_user', requests_per_minute: 2 }, { kind: 'tag', name: 'beta', requests_per_minute: 1 });
    expect((await ask({ user: USER })).status).toBe(202);
    const chat = { model: 'talk', messages: [{ role: 'user', content: 'hi' }], user: USER };
    expect((await platform.call('/v1/chat/completions', { key, body: chat })).status).toBe(200);
    const refused = await ask({ user: USER });
    expect(refused).toMatchObject({ status: 429, error: { code: 'rate_limit_exceeded' } });
    expect(refused.error?.message).toMatch(
      /^This end user is limited to 2 requests per minute\. Try again in \d+ s\.$/,
    );
    expect(Number(refused.retryAfter)).toBeGreaterThan(0);
    expect((await platform.call('/v1/chat/completions', { key, body: chat })).status).toBe(429);
    expect((await ask({ user: 'ben', tags: ['beta'] })).status).toBe(202);
    const tagged = await ask({ user: 'cem', tags: ['beta', 'alpha'] });
    expect(tagged.error?.message).toMatch(/^A tag of this request is limited to 1 requests per minute\./);
    expect((await ask({ user: 'cem', tags: ['alpha'] })).status).toBe(202);
    // Another account's key: neither its limits nor its end user.
    const foreign = await platform.newKey({ end_users: 'derive' });
    for (let n = 0; n < 3; n++) expect((await ask({ user: USER, tags: ['beta'] }, foreign)).status).toBe(202);
  });

  it('of tasks in flight refuse with 429 until one has ended, for batches as well', async () => {
    await set({ kind: 'end_user', tasks_in_flight: 2 }, { kind: 'tag', name: 'slow', tasks_in_flight: 1 });
    const first = await ask({ user: 'dan', tags: ['slow'] });
    expect(first.status).toBe(202);
    const refused = await ask({ user: 'dan', tags: ['slow'] });
    expect(refused).toMatchObject({ status: 429, error: { code: 'concurrency_limit_exceeded' } });
    expect(refused.error?.message).toBe('A tag of this request is limited to 1 tasks in flight.');
    const second = await ask({ user: 'dan' });
    expect(second.status).toBe(202);
    expect((await ask({ user: 'dan' })).error?.message).toBe('This end user is limited to 2 tasks in flight.');
    await cancel(second.task_id);
    const line = { model: 'priced', prompt: 'a batch of mills', resolution: '1k', user: 'eli', tags: ['slow'] };
    const { id: batch } = await startBatch(platform, [lineOf('one', line)], { key });
    const started = async () =>
      ((await platform.pool.query('SELECT 1 FROM tasks WHERE batch_id = $1', [batch])).rowCount ?? 0) > 0;
    const refusedOnce = 'SELECT 1 FROM batch_lines WHERE batch_id = $1 AND put_off > 0';
    const putOff = async () => ((await platform.pool.query(refusedOnce, [batch])).rowCount ?? 0) > 0;
    expect(await waitUntil(putOff, { timeoutMs: 60_000 })).toBe(true);
    expect(await started()).toBe(false);
    await cancel(first.task_id);
    expect(await waitUntil(started, { timeoutMs: 60_000 })).toBe(true);
  });

  it('of a budget refuse with 402, and count what was spent before', async () => {
    await set();
    expect((await ask({ user: 'fay' })).status).toBe(202);
    await set({ kind: 'end_user', monthly_budget: '0.08' });
    expect((await ask({ user: 'fay' })).status).toBe(202);
    const refused = await ask({ user: 'fay' });
    expect(refused).toMatchObject({ status: 402, error: { code: 'insufficient_quota' } });
    expect(refused.error?.message).toBe(
      'The budget of this end user does not cover the request: nothing is left this month.',
    );
    expect((await ask({ user: 'gil' })).status).toBe(202);
  });

  it('are shown as they were set, by owners and admins alone, and each change is in the audit log', async () => {
    const limits = [
      { kind: 'tag', name: ' beta ', monthly_budget: '5' },
      { kind: 'end_user', name: null, requests_per_minute: 3, tasks_in_flight: 1, weight: 2 },
    ];
    const none = { requests_per_minute: null, tasks_in_flight: null, monthly_budget: null, weight: null };
    const data = [
      { kind: 'end_user', name: null, requests_per_minute: 3, tasks_in_flight: 1, monthly_budget: null, weight: 2 },
      { ...none, kind: 'tag', name: 'beta', monthly_budget: '5.000000' },
    ];
    expect(await (await put(limits)).json()).toEqual({ data });
    expect(await eve.ask('/end-users/limits')).toEqual({ data });
    expect(await ada.ask('/end-users/limits')).toEqual({ data: [] });
    const mo = await signInInvited(platform, { email: 'mo@example.org', role: 'member', accountId: account });
    expect((await put([], mo)).status).toBe(403);
    const { data: entries } = await eve.ask<{ data: { action: string; details: object }[] }>('/audit?limit=20');
    expect(entries.find(({ action }) => action === 'end_users.limits_set')).toMatchObject({ details: { count: 2 } });
  });

  it('are refused with what is wrong, and change nothing then', async () => {
    await set({ kind: 'tag', name: 'kept' });
    const wrong: readonly [unknown, string][] = [
      [undefined, 'limits'],
      ['x', 'limits'],
      [[{ kind: 'tag', name: 'a' }, { kind: 'key' }], 'limits[1]'],
      [[{ kind: 'tag', name: 'a,b' }], 'limits[0]'],
      [[{ kind: 'end_user', name: 'not recorded so' }], 'limits[0]'],
      [[{ kind: 'tag', requests_per_minute: 0 }], 'limits[0]'],
      [[{ kind: 'tag', tasks_in_flight: 1_001 }], 'limits[0]'],
      [[{ kind: 'tag', tasks_in_flight: 1.5 }], 'limits[0]'],
      [[{ kind: 'tag', monthly_budget: 5 }], 'limits[0]'],
      [[{ kind: 'tag', monthly_budget: '-5' }], 'limits[0]'],
      [[{ kind: 'tag', weight: 101 }], 'limits[0]'],
      [[{ kind: 'tag', polls_per_minute: 1 }], 'limits[0]'],
      [[{ kind: 'tag' }, { kind: 'tag', name: null }], 'limits[1]'],
      [Array.from({ length: 101 }, (_, n) => ({ kind: 'tag', name: `t${n}` })), 'limits'],
    ];
    for (const [limits, param] of wrong) {
      const response = await put(limits);
      expect([response.status, await response.json()]).toMatchObject([400, { error: { param } }]);
    }
    expect(await eve.ask('/end-users/limits')).toMatchObject({ data: [{ name: 'kept' }] });
  });
});
