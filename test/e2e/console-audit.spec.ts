import { decodeTime } from 'ulid';
import { waitUntil } from '#embedded/wait-until.js';
import { PASSWORD, signInFirstAdmin, signInInvited, Browser } from '../support/console.js';
import { startPlatform, type Platform } from '../support/platform.js';

interface Entry {
  readonly id: string;
  readonly person: { readonly id: string; readonly name: string } | null;
  readonly who: string;
  readonly sentence: string;
  readonly action: string;
  readonly target: string | null;
  readonly target_exists: boolean;
}
interface Page {
  readonly data: readonly Entry[];
  readonly has_more: boolean;
  readonly next: string | null;
  readonly searched_until: string | null;
}

describe('the audit log in the console', () => {
  let platform: Platform;
  let ada: Browser;
  let mo: Browser;
  let eve: Browser;

  beforeAll(async () => {
    platform = await startPlatform();
    ada = await signInFirstAdmin(platform);
    mo = await signInInvited(platform, { email: 'mo@example.org', role: 'member' });
    eve = await signInInvited(platform, {
      email: 'eve@example.org',
      role: 'admin',
      accountId: await platform.newAccount(),
    });
  });
  afterAll(() => platform.close());

  const log = (query = '', who = ada) => who.ask<Page>(`/audit${query}`);
  const told = ({ data }: Page) => data.map(({ who, sentence }) => `${who} ${sentence}`);

  it('tells everything that was done in sentences, with the names of then', async () => {
    const { key } = await mo.ask<{ key: { id: string } }>('/keys', { body: { name: 'mobile app' } });
    await mo.ask(`/keys/${key.id}`, { method: 'PATCH', body: { name: 'phone', scopes: ['images'] } });
    await mo.ask(`/keys/${key.id}/rotate`, { body: { overlap_hours: 2 } });
    // The second one changes nothing, and leaves no entry.
    for (let time = 0; time < 2; time++) await mo.ask(`/keys/${key.id}/revoke`, { method: 'POST' });
    const { id } = await ada.ask<{ id: string }>('/webhooks/endpoints', {
      body: { url: 'https://example.org/hook?token=secret-of-the-receiver', events: ['image.task.failed'] },
    });
    await ada.ask(`/webhooks/endpoints/${id}`, { method: 'PATCH', body: { events: ['image.task.completed'] } });
    await ada.ask(`/webhooks/endpoints/${id}`, { method: 'PATCH', body: { active: false } });
    await ada.ask(`/webhooks/endpoints/${id}`, { method: 'PATCH', body: { active: true } });
    await ada.ask('/webhooks/secrets/rotate', { body: { overlap_hours: 0 } });
    await ada.ask(`/webhooks/endpoints/${id}`, { method: 'DELETE' });
    await ada.ask('/providers/sandbox/drain', { method: 'POST' });
    await ada.ask('/providers/sandbox/resume', { method: 'POST' });
    const order = {
      headers: { 'idempotency-key': 'one-click' },
      body: { model: 'gpt-image-2', prompt: 'a secret prompt', size: '1:1', resolution: '1k' },
    };
    const { task_id: task } = await mo.ask<{ task_id: string }>('/images', order);
    // The same order twice is one image, and one entry.
    expect(await mo.ask('/images', order)).toEqual({ task_id: task });
    const again = await mo.ask<{ task_id: string }>(`/tasks/${task}/again`, { method: 'POST' });
    expect(told(await log('?limit=16'))).toEqual([
      'Somebody ran a task again',
      'Somebody generated an image in the playground with gpt-image-2',
      'Ada resumed the provider “sandbox”',
      'Ada drained the provider “sandbox”',
      'Ada removed the webhook endpoint “https://example.org/hook”',
      'Ada rotated the signing secret; the old one stopped working immediately',
      'Ada enabled the webhook endpoint “https://example.org/hook”',
      'Ada disabled the webhook endpoint “https://example.org/hook”',
      'Ada changed the events of the webhook endpoint “https://example.org/hook”',
      'Ada added the webhook endpoint “https://example.org/hook”',
      'Somebody revoked the key “phone”',
      'Somebody rotated the key “phone”; the old one works for 2 more hours',
      'Somebody changed the key “phone”: name, scopes',
      'Somebody created the key “mobile app”',
      expect.stringMatching(/ joined$/),
      'Ada became the first owner',
    ]);
    const { data } = await log('?limit=100');
    const existing = new Map(data.map(({ target, target_exists }) => [target, target_exists]));
    expect([task, again.task_id, key.id, id, 'sandbox'].map((target) => existing.get(target))).toEqual([
      ...[true, true, true, false, true],
    ]);
    expect(JSON.stringify(data)).not.toMatch(/whsec_|sk-dr-|token=|secret prompt|of-the-receiver/);
  });

  it('is leafed through, and narrowed to a person and to a kind of action', async () => {
    const whole = (await log('?limit=100')).data;
    const leafed: Entry[] = [];
    for (let after: string | null = ''; after !== null;) {
      const page: Page = await log(`?limit=5&after=${after}`);
      leafed.push(...page.data);
      after = page.next;
    }
    expect(leafed.map(({ id }) => id)).toEqual(whole.map(({ id }) => id));
    const { person } = await mo.ask<{ person: { id: string } }>('/session');
    const mos = (await log(`?who=${person.id}&kind=keys`)).data;
    expect(mos.map(({ action }) => action)).toEqual(['key.revoked', 'key.rotated', 'key.changed', 'key.created']);
    expect((await log('?kind=providers')).data.map(({ action }) => action)).toEqual([
      ...['provider.resumed', 'provider.drained'],
    ]);
    for (const query of ['?kind=everything', '?what=key.', '?limit=x', '?who=%00']) {
      expect((await ada.call(`/audit${query}`)).status).toBe(400);
    }
    const foreign = await log('', eve);
    expect(foreign.data.map(({ action }) => action)).toEqual(['person.joined']);
    expect((await log(`?who=${person.id}`, eve)).data).toEqual([]);
  });

  it('is searched for what its entries say, and narrowed to a time', async () => {
    const search = async (query: string) => (await log(`?limit=100&${query}`)).data.map(({ action }) => action);
    expect(await search('text=DRAINED%20the%20provider')).toEqual(['provider.drained']);
    expect(await search('text=phone&kind=keys')).toEqual(['key.revoked', 'key.rotated', 'key.changed']);
    expect(await search('text=of-the-receiver')).toEqual([]);
    expect(await search('text=%25')).toEqual([]);
    const first = await log('?text=phone&limit=1');
    expect(first).toMatchObject({ has_more: true, searched_until: null, data: [{ action: 'key.revoked' }] });
    expect((await log(`?text=phone&limit=1&after=${first.next!}`)).data.map(({ action }) => action)).toEqual([
      'key.rotated',
    ]);

    const [, second, third] = (await log('?limit=3')).data;
    // At the millisecond of its id, which may be another one than that of its row.
    const timeOf = ({ id }: Entry): string => new Date(decodeTime(id.slice('audit_'.length))).toISOString();
    const until = (await log(`?limit=100&to=${timeOf(second!)}`)).data;
    expect(until.every(({ id }) => id < second!.id)).toBe(true);
    const since = (await log(`?limit=100&from=${timeOf(second!)}`)).data.map(({ id }) => id);
    expect(since).toContain(second!.id);
    expect((await log(`?limit=100&from=${timeOf(third!)}&to=2999-01-01`)).data.length).toBeGreaterThanOrEqual(3);
    expect(await search('to=2020-01-01')).toEqual([]);
    expect((await log('?text=Ada', eve)).data).toEqual([]);
    for (const query of ['?from=yesterday', `?text=${'x'.repeat(201)}`]) {
      expect((await ada.call(`/audit${query}`)).status).toBe(400);
    }
    const table = await (await ada.call('/audit.csv?text=drained')).text();
    expect(table.trimEnd().split('\r\n')).toHaveLength(2);
  });

  it('tells of guesses at a password, once in a while, and of nobody who is unknown', async () => {
    const guess = (email: string) =>
      new Browser(platform.url).call('/sign-in', { body: { email, password: 'not the password' } });
    for (let times = 0; times < 3; times++) expect((await guess('mo@example.org')).status).toBe(401);
    expect((await guess('nobody@example.org')).status).toBe(401);
    expect(await waitUntil(async () => (await log('?who=nobody')).data.length > 0, { timeoutMs: 30_000 })).toBe(true);
    expect(told(await log('?who=nobody'))).toEqual(['Someone entered an incorrect password for “Somebody”']);
    expect((await log('?kind=sign_in&limit=1')).data[0]).toMatchObject({ person: null, target_exists: true });
    const inside = await new Browser(platform.url).call('/sign-in', {
      body: { email: 'mo@example.org', password: PASSWORD },
    });
    expect(inside.status).toBe(200);
  });

  it('says when nobody of the account did it, and speaks for actions that it does not know', async () => {
    const write = (id: string, action: string, details: object) =>
      platform.pool.query(
        `INSERT INTO audit_log (id, account_id, action, target, details) VALUES ($1, 'acct_default', $2, 'x', $3)`,
        [id, action, details],
      );
    await write('audit_Z1', 'webhook_endpoint.removed', { url: '=cmd()', via: 'command' });
    await write('audit_Z2', 'thing.of_tomorrow', {});
    expect(told(await log('?limit=2'))).toEqual([
      'An operator of this service thing.of_tomorrow: “x”',
      'A command on the server removed the webhook endpoint “=cmd()”',
    ]);
  });

  it('has one entry of what a user repeats at will, and no more renamings than anybody needs', async () => {
    const entries = async (who: Browser, action: string): Promise<number> => {
      const { person } = await who.ask<{ person: { id: string } }>('/session');
      const { rowCount } = await platform.pool.query('SELECT 1 FROM audit_log WHERE person_id = $1 AND action = $2', [
        ...[person.id, action],
      ]);
      return rowCount ?? 0;
    };
    const repeated = [
      ['/tasks.csv', 'tasks.exported'],
      ['/usage.csv', 'usage.exported'],
      ['/audit.csv', 'audit.exported'],
      ['/webhooks/secrets', 'webhook_secret.read'],
    ] as const;
    for (const [path, action] of repeated) {
      // One is in nobody's way, and the others would each find nothing.
      const answers = await Promise.all(Array.from({ length: 6 }, () => eve.call(path)));
      expect(answers.map(({ status }) => status)).toEqual(Array<number>(6).fill(200));
      expect([action, await entries(eve, action)]).toEqual([action, 1]);
    }
    // Another user's is another entry.
    for (let times = 0; times < 2; times++) expect((await mo.call('/tasks.csv')).status).toBe(200);
    expect(await entries(mo, 'tasks.exported')).toBe(1);
    const rename = (name: string) => eve.call('/person', { method: 'PATCH', body: { name } });
    const statuses: number[] = [];
    for (let n = 0; n < 20; n++) statuses.push((await rename(`Eve ${n}`)).status);
    expect(statuses).toEqual(Array<number>(20).fill(200));
    const refused = await rename('Eve the last');
    expect([refused.status, await refused.json()]).toMatchObject([429, { error: { code: 'rate_limit_exceeded' } }]);
    // A profile that is saved unchanged is no change.
    expect((await rename('Eve 19')).status).toBe(200);
    expect(await entries(eve, 'person.changed')).toBe(20);
  });

  it('is not filled by a user who changes something again and again, and who can still sign out', async () => {
    const accountId = await platform.newAccount();
    const liz = await signInInvited(platform, { email: 'liz@example.org', role: 'admin', accountId });
    const { key } = await liz.ask<{ key: { id: string } }>('/keys', { body: { name: 'key' } });
    const change = async (n: number): Promise<number> =>
      (await liz.call(`/keys/${key.id}`, { method: 'PATCH', body: { name: `key ${n}` } })).status;
    const statuses: number[] = [];
    for (let n = 0; n < 520; n += 20) {
      statuses.push(...(await Promise.all(Array.from({ length: 20 }, (_, index) => change(n + index)))));
    }
    const written = await platform.pool.query('SELECT 1 FROM audit_log WHERE account_id = $1 AND action = $2', [
      ...[accountId, 'key.changed'],
    ]);
    // Creating it was one of the 500.
    expect([statuses.filter((status) => status === 200).length, written.rowCount]).toEqual([499, 499]);
    expect(statuses.at(-1)).toBe(429);
    expect((await liz.call('/keys')).status).toBe(200);
    expect((await liz.call('/sign-out', { method: 'POST' })).status).toBe(204);
  });

  it('is given out as CSV, as it is narrowed', async () => {
    const answer = await ada.call('/audit.csv?kind=providers');
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(answer.headers.get('content-disposition')).toBe('attachment; filename="darkroom-audit-log.csv"');
    const [head, ...lines] = (await answer.text()).trimEnd().split('\r\n');
    expect(head).toBe('time,who,email,what,action,target,details');
    expect(lines).toEqual([
      expect.stringMatching(
        /^[\dT:.-]+Z,Ada,ada@example\.org,resumed the provider “sandbox”,provider\.resumed,sandbox,/,
      ),
      expect.stringMatching(
        /^[\dT:.-]+Z,Ada,ada@example\.org,drained the provider “sandbox”,provider\.drained,sandbox,/,
      ),
    ]);
    expect((await ada.call('/audit.csv?after=x')).status).toBe(400);
  });
});
