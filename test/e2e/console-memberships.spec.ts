import { Browser, linkToken, PASSWORD, signInFirstAdmin, signInInvited } from '../support/console.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';

interface Session {
  readonly person: { readonly id: string; readonly email: string; readonly name: string; readonly role: string };
  readonly account: { readonly id: string };
  readonly accounts: readonly { readonly id: string; readonly role: string }[];
}

const FIRST = 'acct_default';
const NEW_PASSWORD = `${PASSWORD} 2`;

/** Bob is a member of the first account, whose admin is Ada, and joins the account of Uma with his sign-in. */
describe('one user in several accounts', () => {
  let platform: ApiPlatform;
  let ada: Browser;
  let uma: Browser;
  let second: string;
  /** Of each test's own Bob: sign-ins of one address are counted. */
  let email = '';
  let bob: Browser;
  let bobs = 0;

  const session = (who: Browser) => who.ask<Session>('/session');
  const open = (who: Browser, account: string) =>
    who.ask<Session>('/session/account', { body: { account_id: account } });
  const statusOf = async (who: Browser): Promise<number> => (await who.call('/session')).status;
  /** The account that a sign-in leads to, or why it leads nowhere. */
  const signIn = async (password: string): Promise<string> => {
    const answer = await new Browser(platform.url).call('/sign-in', { body: { email, password } });
    return answer.ok ? ((await answer.json()) as Session).account.id : String(answer.status);
  };
  const signedIn = async (password = PASSWORD): Promise<Browser> => {
    const browser = new Browser(platform.url);
    await browser.ask('/sign-in', { body: { email, password } });
    return browser;
  };
  const idIn = async (accountId: string): Promise<string> =>
    (
      await platform.pool.query<{ id: string }>('SELECT id FROM people WHERE account_id = $1 AND email = $2', [
        ...[accountId, email],
      ])
    ).rows[0]!.id;
  const invite = async (who: Browser, address: string): Promise<string> =>
    (await who.ask<{ link: string }>('/people', { body: { email: address, role: 'viewer' } })).link.split(
      '#token=',
    )[1]!;
  const resetLink = async (who: Browser, id: string): Promise<string> =>
    (await who.ask<{ link: string }>(`/people/${id}/reset-link`, { method: 'POST' })).link.split('#token=')[1]!;
  const reset = (token: string, password: string) =>
    new Browser(platform.url).call('/reset-password', { body: { token, password } });
  const disable = async (who: Browser, id: string, disabled: boolean) =>
    await who.ask(`/people/${id}`, { method: 'PATCH', body: { disabled } });

  beforeAll(async () => {
    platform = await startApiPlatform();
    ada = await signInFirstAdmin(platform);
    second = await platform.newAccount();
    uma = await signInInvited(platform, { email: 'uma@example.org', role: 'admin', accountId: second });
  });
  afterAll(() => platform.close());
  /** Each test begins with Bob in both accounts, in the second one. */
  beforeEach(async () => {
    email = `bob${++bobs}@example.org`;
    bob = await signInInvited(platform, { email, role: 'member' });
    await bob.ask('/person/join', { body: { token: await invite(uma, email) } });
  });

  it('accepts an invitation with the sign-in in use, under its own address, once', async () => {
    const third = await platform.newAccount();
    const boss = await signInInvited(platform, { email: 'boss@example.org', role: 'admin', accountId: third });
    const token = await invite(boss, 'robert@elsewhere.example');
    const before = new Browser(platform.url);
    before.cookie = bob.cookie;
    const joined = await bob.ask<Session>('/person/join', { body: { token } });
    expect(joined).toMatchObject({ person: { email, role: 'viewer', password: true }, account: { id: third } });
    expect(joined.accounts.map(({ id, role }) => [id, role]).sort()).toEqual(
      [
        [FIRST, 'member'],
        [second, 'viewer'],
        [third, 'viewer'],
      ].sort(),
    );
    expect(await statusOf(before)).toBe(401);
    expect((await bob.call('/person/join', { body: { token } })).status).toBe(410);
    expect((await new Browser(platform.url).call('/person/join', { body: { token } })).status).toBe(401);
    const { data } = await boss.ask<{ data: object[] }>('/people');
    expect(data[1]).toMatchObject({ email, signs_in_with: ['password'] });
    const audit = await boss.ask<{ data: object[] }>('/audit?kind=team');
    expect(audit.data[0]).toMatchObject({
      action: 'person.joined',
      target: joined.person.id,
      details: { invited: 'robert@elsewhere.example' },
    });
    // Somebody there has his address already: the link stays as it is.
    const again = await invite(boss, 'bobby@elsewhere.example');
    const refused = await bob.call('/person/join', { body: { token: again } });
    expect([refused.status, await refused.json()]).toMatchObject([409, { error: { code: 'already_exists' } }]);
    expect(
      (await new Browser(platform.url).call('/sign-in/link', { body: { token: again, purpose: 'invite' } })).status,
    ).toBe(200);
  });

  it('is in one account at a time, and opens another one in the same session', async () => {
    const other = await signInInvited(platform, {
      email: 'other@example.org',
      role: 'admin',
      accountId: await platform.newAccount(),
    });
    const row = async (): Promise<object[]> => {
      const { id } = (await session(bob)).person;
      const text = 'SELECT id, expires_at FROM sessions WHERE person_id = $1';
      return (await platform.pool.query<object>(text, [id])).rows;
    };
    const rows = await row();
    expect(await open(bob, FIRST)).toMatchObject({ account: { id: FIRST }, person: { role: 'member' } });
    expect(await session(bob)).toMatchObject({ account: { id: FIRST } });
    expect(await row()).toEqual(rows);
    for (const account of [(await session(other)).account.id, 'acct_none']) {
      expect((await bob.call('/session/account', { body: { account_id: account } })).status).toBe(404);
    }
    expect((await bob.call('/people')).status).toBe(403);
    const { data } = await ada.ask<{ data: object[] }>('/audit?kind=sign_in');
    expect(data[0]).toMatchObject({ action: 'person.signed_in', details: { by: 'switch' }, person: { email } });
  });

  it('answers requests that another tab sends while it switches', async () => {
    const tab = new Browser(platform.url);
    tab.cookie = bob.cookie;
    for (const account of [second, FIRST, second, FIRST]) {
      const switched = open(bob, account);
      const statuses = await Promise.all(Array.from({ length: 12 }, () => statusOf(tab)));
      expect((await switched).account.id).toBe(account);
      expect(new Set(statuses)).toEqual(new Set([200]));
    }
    expect(await session(tab)).toMatchObject({ account: { id: FIRST } });
  });

  it('comes to the account that was used last', async () => {
    expect(await signIn(PASSWORD)).toBe(second);
    await open(bob, FIRST);
    expect(await signIn(PASSWORD)).toBe(FIRST);
    await open(bob, second);
    expect(await signIn(PASSWORD)).toBe(second);
    expect(await signIn('not this one')).toBe('401');
  });

  it('has one password, whose change ends the other sessions in all accounts', async () => {
    const elsewhere = await signedIn();
    await open(elsewhere, FIRST);
    expect((await bob.ask<{ data: object[] }>('/sessions')).data).toHaveLength(2);
    await bob.ask('/password', { body: { current_password: PASSWORD, password: NEW_PASSWORD } });
    expect([await statusOf(bob), await statusOf(elsewhere)]).toEqual([200, 401]);
    expect([await signIn(PASSWORD), await signIn(NEW_PASSWORD)]).toEqual(['401', FIRST]);
  });

  it('loses one account alone when that disables them, whichever holds the password', async () => {
    for (const [admin, account, rest] of [
      [uma, second, FIRST],
      [ada, FIRST, second],
    ] as const) {
      await open(bob, account);
      await disable(admin, await idIn(account), true);
      expect(await statusOf(bob)).toBe(401);
      expect(await signIn(PASSWORD)).toBe(rest);
      bob = await signedIn();
      expect((await session(bob)).accounts.map(({ id }) => id)).toEqual([rest]);
      expect((await bob.call('/session/account', { body: { account_id: account } })).status).toBe(404);
      await disable(admin, await idIn(account), false);
      expect((await session(bob)).accounts).toHaveLength(2);
    }
    await ada.ask(`/accounts/${second}`, { method: 'PATCH', body: { disabled: true } });
    expect(await signIn(PASSWORD)).toBe(FIRST);
    await ada.ask(`/accounts/${second}`, { method: 'PATCH', body: { disabled: false } });
    uma = new Browser(platform.url);
    await uma.ask('/sign-in', { body: { email: 'uma@example.org', password: PASSWORD } });
  });

  it('is not taken over by an admin’s reset link, which is for the admin’s account alone', async () => {
    for (const [admin, account, rest] of [
      [uma, second, FIRST],
      [ada, FIRST, second],
    ] as const) {
      const token = await resetLink(admin, await idIn(account));
      expect(await statusOf(bob)).toBe(200);
      const answer = await reset(token, NEW_PASSWORD);
      expect((await answer.json()) as Session).toMatchObject({ account: { id: account }, accounts: [{ id: account }] });
      expect([await signIn(NEW_PASSWORD), await signIn(PASSWORD)]).toEqual([account, rest]);
      expect((await session(await signedIn())).accounts.map(({ id }) => id)).toEqual([rest]);
      // Both in one sign-in again, for the other admin.
      await platform.pool.query(`UPDATE people SET password_hash = NULL, signs_in_as = $1 WHERE id = $2`, [
        ...[await idIn(rest), await idIn(account)],
      ]);
      bob = await signedIn();
    }
  });

  it('gets a new password for all accounts by a link to their own mailbox', async () => {
    for (const accountId of [FIRST, second]) {
      const token = await linkToken(platform, { purpose: 'password', accountId, email });
      await platform.pool.query(
        `UPDATE sign_in_links SET all_accounts = true WHERE purpose = 'password' AND account_id = $1 AND used_at IS NULL`,
        [accountId],
      );
      const password = `${NEW_PASSWORD} ${accountId}`;
      const answer = await reset(token, password);
      expect(((await answer.json()) as Session).accounts).toHaveLength(2);
      expect(await statusOf(bob)).toBe(401);
      expect([await signIn(PASSWORD), await signIn(password)]).toEqual(['401', accountId]);
      bob = await signedIn(password);
    }
  });

  it('keeps the sign-in when they leave the account that holds it, or are deleted there', async () => {
    const third = await platform.newAccount();
    const boss = await signInInvited(platform, { email: 'chief@example.org', role: 'admin', accountId: third });
    await bob.ask('/person/join', { body: { token: await invite(boss, email) } });
    await ada.ask(`/people/${await idIn(FIRST)}/delete`, { body: { name: 'Somebody' } });
    expect((await session(bob)).accounts.map(({ id }) => id).sort()).toEqual([second, third].sort());
    expect(await signIn(PASSWORD)).toBe(third);
    const { rows } = await platform.pool.query(
      `SELECT account_id, signs_in_as IS NULL AS holds, password_hash IS NOT NULL AS has FROM people WHERE email = $1 ORDER BY id`,
      [email],
    );
    expect(rows).toEqual([
      { account_id: second, holds: true, has: true },
      { account_id: third, holds: false, has: false },
    ]);
    await open(bob, second);
    const { name } = (await bob.ask<{ account: { name: string } }>('/session')).account;
    expect((await bob.call('/person/leave', { body: { name } })).status).toBe(204);
    expect(await statusOf(bob)).toBe(401);
    expect(await signIn(PASSWORD)).toBe(third);
    await ada.ask(`/accounts/${third}/delete`, {
      body: {
        name: (await session(boss)).account.id === third ? (await boss.ask<{ name: string }>('/account')).name : '',
      },
    });
    expect(await signIn(PASSWORD)).toBe('401');
  });
});
