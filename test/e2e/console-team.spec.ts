import { DEFAULT_ACCOUNT } from '#accounts/api-keys.js';
import { Browser, PASSWORD, signInFirstAdmin, signInInvited } from '../support/console.js';
import { waitForLockWait } from '../support/lock-waits.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';

interface Person {
  readonly id: string;
  readonly email: string;
  readonly role: string;
  readonly disabled_at: string | null;
}
interface Link {
  readonly link: string;
  readonly hours: number;
}
type List<Item = Record<string, unknown>> = { readonly data: Item[] };

describe('the people of an account', () => {
  let platform: ApiPlatform;
  let ada: Browser;
  let bob: Browser;
  let eve: Browser;
  let member: Browser;
  const tokenOf = ({ link }: Link): string => link.split('#token=')[1] ?? '';
  const join = (token: string, name = 'Somebody', browser = new Browser(platform.url)) =>
    browser.call('/join', { body: { token, name, password: PASSWORD } });
  const answerOf = async (response: Response): Promise<[number, string]> => [
    response.status,
    ((await response.json()) as { error: { code: string } }).error.code,
  ];
  const post = (who: Browser, path: string) => who.call(path, { method: 'POST' });
  const patch = (who: Browser, id: string, body: object) => who.call(`/people/${id}`, { method: 'PATCH', body });
  const people = async (who: Browser) => (await who.ask<List<Person>>('/people')).data;
  const idOf = async (email: string): Promise<string> =>
    (await platform.pool.query<{ id: string }>('SELECT id FROM people WHERE email = $1', [email])).rows[0]!.id;
  const signIn = (email: string, password = PASSWORD) =>
    new Browser(platform.url).call('/sign-in', { body: { email, password } });
  const actions = async (who: Browser, what: string) =>
    (await who.ask<List>('/audit?kind=team')).data
      .filter(({ action }) => String(action).startsWith(what))
      .map(({ action, target, details }) => [action, target, details]);

  const began = Date.now();
  beforeAll(async () => {
    platform = await startApiPlatform();
    ada = await signInFirstAdmin(platform);
    bob = await signInInvited(platform, { email: 'bob@example.org', role: 'admin' });
    member = await signInInvited(platform, { email: 'nia@example.org', role: 'member' });
    eve = await signInInvited(platform, {
      email: 'eve@example.org',
      role: 'admin',
      accountId: await platform.newAccount(),
    });
  });
  afterAll(() => platform.close());

  it('are listed with their way in and when they were last here, and nobody of another account', async () => {
    await platform.pool.query(
      `UPDATE sessions SET last_seen_at = now() - interval '1 hour' FROM people
       WHERE people.id = person_id AND email = 'bob@example.org'`,
    );
    await platform.pool.query(`UPDATE people SET seen_at = NULL WHERE email = 'bob@example.org'`);
    await bob.ask('/session');
    const list = await ada.ask<List>('/people');
    expect(list.data).toEqual([
      expect.objectContaining({ email: 'ada@example.org', role: 'owner', signs_in_with: ['password'] }),
      expect.objectContaining({ email: 'bob@example.org', disabled_at: null }),
      expect.objectContaining({ email: 'nia@example.org', role: 'member' }),
    ]);
    for (const { last_seen_at: seen } of list.data) expect(Date.parse(String(seen))).toBeGreaterThan(began - 1_000);
    await post(bob, '/sign-out');
    bob = new Browser(platform.url);
    await bob.ask('/sign-in', { body: { email: 'bob@example.org', password: PASSWORD } });
    expect((await people(eve)).map(({ email }) => email)).toEqual(['eve@example.org']);
  });

  it('are invited by a link that can be made anew and withdrawn', async () => {
    const first = await ada.ask<Link>('/people', { body: { email: 'Kim@example.org', role: 'member' } });
    expect(first).toEqual({ link: expect.stringContaining('/console/invite#token='), hours: 24, emailed: null });
    const again = await ada.ask<Link>('/people', { body: { email: 'kim@example.org', role: 'admin' } });
    expect((await join(tokenOf(first))).status).toBe(410);
    const open = async () => (await ada.ask<List>('/invitations')).data;
    const [invitation, ...others] = await open();
    expect(invitation).toMatchObject({ email: 'kim@example.org', role: 'admin' });
    expect(others).toEqual([]);
    await platform.pool.query(`UPDATE sign_in_links SET expires_at = now() - interval '1 s' WHERE id = $1`, [
      invitation!['id'],
    ]);
    expect((await join(tokenOf(again))).status).toBe(410);
    expect(await open()).toHaveLength(1);
    expect((await post(eve, `/invitations/${String(invitation!['id'])}/renew`)).status).toBe(404);
    const renewed = await ada.ask<Link>(`/invitations/${String(invitation!['id'])}/renew`, { method: 'POST' });
    const [{ id } = {}] = await open();
    expect((await eve.call(`/invitations/${String(id)}`, { method: 'DELETE' })).status).toBe(404);
    expect((await ada.call(`/invitations/${String(id)}`, { method: 'DELETE' })).status).toBe(204);
    expect((await ada.call(`/invitations/${String(id)}`, { method: 'DELETE' })).status).toBe(404);
    expect((await join(tokenOf(renewed))).status).toBe(410);
    const last = await ada.ask<Link>('/people', { body: { email: 'kim@example.org', role: 'member' } });
    expect((await join(tokenOf(last), 'Kim')).status).toBe(201);
    expect(await open()).toEqual([]);
    const invited = ['person.invited', 'kim@example.org', { email: 'kim@example.org', role: 'admin' }];
    expect((await actions(ada, 'person.invited'))[1]).toEqual(invited);
    expect(await actions(ada, 'invitation.')).toEqual([
      ['invitation.withdrawn', 'kim@example.org', { email: 'kim@example.org' }],
    ]);
  });

  it('are invited up to a hundred at a time; who was asked before gets a new link all the same', async () => {
    const invite = (n: number) => ada.call('/people', { body: { email: `guest${n}@example.org`, role: 'member' } });
    expect((await invite(0)).status).toBe(201);
    await platform.pool.query(
      `INSERT INTO sign_in_links (id, token_hash, secret_id, purpose, account_id, email, role, expires_at)
       SELECT id || n, token_hash || int4send(n), secret_id, purpose, account_id, 'guest' || n || '@example.org', role, expires_at
       FROM sign_in_links, generate_series(1, 99) AS n WHERE email = 'guest0@example.org'`,
    );
    const refused = await invite(100);
    expect([refused.status, await refused.json()]).toMatchObject([409, { error: { code: 'account_limit_reached' } }]);
    expect((await invite(0)).status).toBe(201);
    await platform.pool.query(`DELETE FROM sign_in_links WHERE email LIKE 'guest%'`);
    expect((await invite(100)).status).toBe(201);
    await platform.pool.query(`DELETE FROM sign_in_links WHERE email LIKE 'guest%'`);
  });

  it('are signed out everywhere, and can come in again', async () => {
    const other = await signInInvited(platform, { email: 'lee@example.org', role: 'member' });
    const id = await idOf('lee@example.org');
    expect((await post(eve, `/people/${id}/sign-out`)).status).toBe(404);
    expect((await other.call('/session')).status).toBe(200);
    expect((await post(ada, `/people/${id}/sign-out`)).status).toBe(204);
    expect((await other.call('/session')).status).toBe(401);
    expect((await signIn('lee@example.org')).status).toBe(200);
  });

  it('get a link for a new password, which ends their sessions when it is used and not before', async () => {
    const mo = await signInInvited(platform, { email: 'mo@example.org', role: 'member' });
    const id = await idOf('mo@example.org');
    expect((await post(eve, `/people/${id}/reset-link`)).status).toBe(404);
    const older = await ada.ask<Link>(`/people/${id}/reset-link`, { method: 'POST' });
    const link = await ada.ask<Link>(`/people/${id}/reset-link`, { method: 'POST' });
    expect(link.link).toContain('/console/reset-password#token=');
    expect((await mo.call('/session')).status).toBe(200);
    const choose = (token: string) =>
      new Browser(platform.url).call('/reset-password', { body: { token, password: `${PASSWORD} 2` } });
    expect((await choose(tokenOf(older))).status).toBe(410);
    expect((await choose(tokenOf(link))).status).toBe(201);
    expect((await mo.call('/session')).status).toBe(401);
    expect((await signIn('mo@example.org')).status).toBe(401);
    expect((await signIn('mo@example.org', `${PASSWORD} 2`)).status).toBe(200);
    const named = { name: 'Somebody', email: 'mo@example.org' };
    expect((await actions(ada, 'person.reset_link_made'))[0]).toEqual(['person.reset_link_made', id, named]);
  });

  it('take their links with them when they may no longer make them', async () => {
    const away: [string, (id: string) => Promise<Response>][] = [
      ['deleted', async (id) => ada.call(`/people/${id}/delete`, { body: { name: 'Somebody', revoke_keys: true } })],
      ['disabled', async (id) => patch(ada, id, { disabled: true })],
      ['demoted', async (id) => patch(ada, id, { role: 'billing' })],
    ];
    for (const [how, remove] of away) {
      const mallory = await signInInvited(platform, { email: `mallory-${how}@example.org`, role: 'admin' });
      const reset = await mallory.ask<Link>(`/people/${await idOf('bob@example.org')}/reset-link`, { method: 'POST' });
      const email = `ghost-${how}@example.org`;
      const invited = await mallory.ask<Link>('/people', { body: { email, role: 'admin' } });
      const kept = await ada.ask<Link>('/people', { body: { email: `kept-${how}@example.org`, role: 'member' } });
      expect((await remove(await idOf(`mallory-${how}@example.org`))).ok).toBe(true);
      const { data } = await ada.ask<List<{ email: string }>>('/invitations');
      expect(data.map((one) => one.email)).not.toContain(email);
      const browser = new Browser(platform.url);
      const body = { token: tokenOf(reset), password: `${PASSWORD} of mallory` };
      expect([how, (await browser.call('/reset-password', { body })).status]).toEqual([how, 410]);
      expect([how, (await join(tokenOf(invited))).status]).toEqual([how, 410]);
      expect((await join(tokenOf(kept))).status).toBe(201);
      expect((await signIn('bob@example.org')).ok).toBe(true);
    }
  });

  it('become owners whose password a link of an admin no longer changes', async () => {
    const owner = await signInInvited(platform, { email: 'olga@example.org', role: 'admin' });
    const id = await idOf('olga@example.org');
    const link = await bob.ask<Link>(`/people/${id}/reset-link`, { method: 'POST' });
    expect((await patch(ada, id, { role: 'owner' })).ok).toBe(true);
    const body = { token: tokenOf(link), password: `${PASSWORD} of bob` };
    const refused = await new Browser(platform.url).call('/reset-password', { body });
    expect([refused.status, await refused.json()]).toMatchObject([
      410,
      { error: { message: expect.stringContaining('The user who made it may no longer do so.') as string } },
    ]);
    expect((await owner.call('/session')).ok).toBe(true);
    const own = await ada.ask<Link>(`/people/${id}/reset-link`, { method: 'POST' });
    const usable = { token: tokenOf(own), password: `${PASSWORD} of olga` };
    expect((await new Browser(platform.url).call('/reset-password', { body: usable })).status).toBe(201);
    expect((await patch(ada, id, { role: 'member' })).ok).toBe(true);
  });

  it('are never changed by themselves, but for their name', async () => {
    const me = await idOf('ada@example.org');
    const others = [patch(ada, me, { role: 'member' }), patch(ada, me, { disabled: true })];
    for (const answer of [...others, post(ada, `/people/${me}/sign-out`), post(ada, `/people/${me}/reset-link`)]) {
      expect(await answerOf(await answer)).toEqual([400, 'invalid_value']);
    }
    const renamed = await ada.ask('/person', { method: 'PATCH', body: { name: 'Ada L.' } });
    expect(renamed).toMatchObject({ person: { name: 'Ada L.' } });
    expect(await ada.ask('/session')).toEqual(renamed);
    expect((await ada.call('/person', { method: 'PATCH', body: { name: ' ' } })).status).toBe(400);
    expect((await actions(ada, 'person.changed'))[0]).toEqual([
      ...['person.changed', me, { name: 'Ada L.', email: 'ada@example.org', from: 'Ada' }],
    ]);
  });

  it('keep an admin, however two of them go about it at the same moment', async () => {
    const accountId = await platform.newAccount();
    const pair = await Promise.all(
      ['uma@example.org', 'vic@example.org'].map((email) =>
        signInInvited(platform, { email, role: 'admin', accountId }),
      ),
    );
    const ids = [await idOf('uma@example.org'), await idOf('vic@example.org')];
    // Both are owners, so that each may change the other.
    await platform.pool.query(`UPDATE people SET owner = true WHERE account_id = $1`, [accountId]);
    for (let round = 0; round < 10; round++) {
      const body = round % 2 === 0 ? { role: 'member' } : { disabled: true };
      const answers = await Promise.all(pair.map((who, index) => patch(who, ids[1 - index]!, body)));
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
      const { rows } = await platform.pool.query(
        `SELECT id FROM people WHERE account_id = $1 AND role = 'admin' AND owner AND disabled_at IS NULL`,
        [accountId],
      );
      expect(rows).toHaveLength(1);
      await platform.pool.query(
        `UPDATE people SET role = 'admin', owner = true, disabled_at = NULL WHERE account_id = $1`,
        [accountId],
      );
      for (const [index, email] of ['uma@example.org', 'vic@example.org'].entries()) {
        await pair[index]!.ask('/sign-in', { body: { email, password: PASSWORD } });
        await platform.pool.query(`DELETE FROM audit_log WHERE account_id = $1`, [accountId]);
      }
    }
  });

  it('keep the admin who is left while a change waited', async () => {
    const id = await idOf('bob@example.org');
    const client = await platform.pool.connect();
    try {
      await client.query('BEGIN');
      // As every change of the product does: otherwise, it depends on the order of the rows whether one sees the other.
      await client.query(`SELECT 1 FROM accounts WHERE id = $1 FOR NO KEY UPDATE`, [DEFAULT_ACCOUNT]);
      await client.query(`UPDATE people SET role = 'member' WHERE email = 'ada@example.org'`);
      const answer = patch(ada, id, { role: 'member' });
      await waitForLockWait(platform.pool);
      await client.query('COMMIT');
      expect(await answerOf(await answer)).toEqual([409, 'last_admin']);
    } finally {
      client.release();
    }
    expect((await people(bob)).filter(({ role }) => role === 'owner').map((person) => person.id)).toEqual([id]);
    expect((await patch(bob, await idOf('ada@example.org'), { role: 'admin' })).status).toBe(200);
  });

  it('are deleted once their name is typed, and leave on their own; the last owner stays', async () => {
    const zoe = await signInInvited(platform, { email: 'zoe@example.org', role: 'member' });
    const id = await idOf('zoe@example.org');
    const { key } = await zoe.ask<{ key: { id: string } }>('/keys', { body: { name: 'zoe' } });
    const remove = (who: Browser, name: string) =>
      who.call(`/people/${id}/delete`, { body: { name, revoke_keys: true } });
    expect((await remove(eve, 'Somebody')).status).toBe(404);
    expect(await answerOf(await remove(bob, 'Nobody'))).toEqual([400, 'invalid_value']);
    expect((await remove(bob, 'Somebody')).status).toBe(204);
    expect((await zoe.call('/session')).status).toBe(401);
    expect((await signIn('zoe@example.org')).status).toBe(401);
    expect((await people(bob)).map((person) => person.id)).not.toContain(id);
    expect((await remove(bob, 'Somebody')).status).toBe(404);
    const keys = await bob.ask<List>('/keys');
    expect(keys.data.find((one) => one['id'] === key.id)).toMatchObject({
      revoked_at: expect.any(String),
      created_by: { id, name: 'Somebody' },
    });
    const [entry] = await actions(bob, 'person.deleted');
    expect(entry).toEqual(['person.deleted', id, { name: 'Somebody', email: 'zoe@example.org', revoked_keys: 1 }]);
    const again = await signInInvited(platform, { email: 'zoe@example.org', role: 'member' });
    const leave = (who: Browser, name: string) => who.call('/person/leave', { body: { name } });
    const { account } = await again.ask<{ account: { name: string } }>('/session');
    expect(await answerOf(await leave(again, 'x'))).toEqual([400, 'invalid_value']);
    expect((await leave(again, account.name)).status).toBe(204);
    expect((await again.call('/session')).status).toBe(401);
    const own = await eve.ask<{ account: { name: string } }>('/session');
    expect(await answerOf(await leave(eve, own.account.name))).toEqual([409, 'last_admin']);
  });

  it('have an account whose name admins change, and whose budget they see', async () => {
    const own = await eve.ask<Record<string, unknown>>('/account');
    expect(own).toMatchObject({ budget: null, spend: { amount: '0.000000', currency: 'USD' } });
    expect(await eve.ask('/account', { method: 'PATCH', body: { name: 'E & Co' } })).toEqual({
      ...own,
      name: 'E & Co',
    });
    expect((await eve.call('/account', { method: 'PATCH', body: { name: 'x', budget: '1' } })).status).toBe(400);
    const renamed = ['account.renamed', own['id'], { name: 'E & Co', from: own['name'] }];
    expect(await actions(eve, 'account.')).toEqual([renamed]);
  });

  it.each<[string, string, object | undefined]>([
    ['GET', '/people', undefined],
    ['POST', '/people', { email: 'x@example.org', role: 'admin' }],
    ['PATCH', '/people/x', { role: 'admin' }],
    ['POST', '/people/x/sign-out', undefined],
    ['POST', '/people/x/reset-link', undefined],
    ['GET', '/invitations', undefined],
    ['POST', '/invitations/x/renew', undefined],
    ['DELETE', '/invitations/x', undefined],
    ['GET', '/account', undefined],
    ['PATCH', '/account', { name: 'x' }],
  ])('%s %s is for admins', async (method, path, body) => {
    const call = { method, ...(body && { body }) };
    expect(await answerOf(await member.call(path, call))).toEqual([403, 'not_permitted']);
    expect((await new Browser(platform.url).call(path, call)).status).toBe(401);
  });
});
