import { totpCode } from '#accounts/totp.js';
import { Authenticator } from '../support/authenticator.js';
import { Browser, linkToken, PASSWORD, signInFirstAdmin, signInInvited } from '../support/console.js';
import { freePort } from '../support/free-port.js';
import { waitForLockWait } from '../support/lock-waits.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';

interface Session {
  readonly account: { readonly id: string };
  readonly accounts: readonly { readonly id: string }[];
}
interface Options {
  readonly options: { challenge: string; user: { id: string }; excludeCredentials: { id: string }[] };
}

const FIRST = 'acct_default';
const NEW_PASSWORD = `${PASSWORD} 2`;

/** Bob's sign-in is held by his person of the first account, whose admin is Ada; in that of Uma he shares it. */
describe('what one sign-in for several accounts asks for', () => {
  let platform: ApiPlatform;
  let origin: string;
  let ada: Browser;
  let uma: Browser;
  let second: string;
  let email: string;
  /** In the second account. */
  let bob: Browser;
  let bobs = 0;

  const code = (secret: string) => totpCode(secret, Math.floor(Date.now() / 30_000));
  const idIn = async (accountId: string): Promise<string> => {
    const text = 'SELECT id FROM people WHERE account_id = $1 AND email = $2';
    return (await platform.pool.query<{ id: string }>(text, [accountId, email])).rows[0]!.id;
  };
  const accounts = async (who: Browser): Promise<string[]> =>
    (await who.ask<Session>('/session')).accounts.map(({ id }) => id).sort();
  const tokenOf = ({ link }: { link: string }): string => link.split('#token=')[1]!;
  const resetBy = async (who: Browser, accountId: string): Promise<string> =>
    tokenOf(await who.ask<{ link: string }>(`/people/${await idIn(accountId)}/reset-link`, { method: 'POST' }));
  /** As what Forgot password? mails for an account. */
  const mailedLink = async (accountId: string): Promise<string> => {
    const token = await linkToken(platform, { purpose: 'password', accountId, email });
    const text = `UPDATE sign_in_links SET all_accounts = true
      WHERE purpose = 'password' AND account_id = $1 AND used_at IS NULL`;
    await platform.pool.query(text, [accountId]);
    return token;
  };
  const enter = async (path: string, body: object): Promise<{ browser: Browser; answer: object }> => {
    const browser = new Browser(platform.url);
    return { browser, answer: await browser.ask<object>(path, { body }) };
  };
  const signIn = (password = PASSWORD) => enter('/sign-in', { email, password });
  const give = (browser: Browser, given: string) => browser.call('/sign-in/code', { body: { code: given } });
  const turnOn = async (who: Browser): Promise<{ secret: string; recovery_codes: string[] }> => {
    const { secret } = await who.ask<{ secret: string }>('/two-factor', { method: 'POST' });
    const codes = await who.ask<{ recovery_codes: string[] }>('/two-factor/confirm', { body: { code: code(secret) } });
    await platform.pool.query('UPDATE second_factors SET last_step = 0');
    return { secret, ...codes };
  };
  const askForPasskey = async (
    who: Browser,
    password = PASSWORD,
  ): Promise<{ browser: Browser; options: Options['options'] }> => {
    const browser = Object.assign(new Browser(platform.url), { cookie: who.cookie });
    const { options } = await browser.ask<Options>('/passkeys/options', { body: { password } });
    // The challenge replaces the session's cookie, so both are sent from here on.
    browser.cookie = `${who.cookie}; ${browser.cookie}`;
    return { browser, options };
  };
  const addPasskey = async (
    who: Browser,
    password = PASSWORD,
  ): Promise<{ authenticator: Authenticator; handle: string }> => {
    const authenticator = new Authenticator();
    const { browser, options } = await askForPasskey(who, password);
    const response = authenticator.create(options.challenge, { origin });
    await browser.ask('/passkeys', { body: { name: 'Laptop', response } });
    return { authenticator, handle: Buffer.from(options.user.id, 'base64url').toString() };
  };
  /** The account that a passkey leads to, or why it leads nowhere. */
  const enterByPasskey = async (authenticator: Authenticator, userHandle: string): Promise<string> => {
    const browser = new Browser(platform.url);
    const { options } = await browser.ask<Options>('/sign-in/passkey/options', { method: 'POST' });
    const response = authenticator.get(options.challenge, { origin, userHandle });
    const answer = await browser.call('/sign-in/passkey', { body: { response } });
    return answer.ok ? ((await answer.json()) as Session).account.id : String(answer.status);
  };

  beforeAll(async () => {
    const port = await freePort();
    origin = `http://localhost:${port}`;
    platform = await startApiPlatform({ PORT: String(port), PUBLIC_URL: origin });
    ada = await signInFirstAdmin(platform);
    second = await platform.newAccount();
    uma = await signInInvited(platform, { email: 'uma@example.org', role: 'admin', accountId: second });
  });
  afterAll(() => platform.close());
  beforeEach(async () => {
    email = `bob${++bobs}@example.org`;
    bob = await signInInvited(platform, { email, role: 'member' });
    const token = tokenOf(await uma.ask<{ link: string }>('/people', { body: { email, role: 'member' } }));
    await bob.ask('/person/join', { body: { token } });
  });

  it('goes to the other account with its app, recovery codes and passkeys when the person who holds it goes', async () => {
    const { secret, recovery_codes: recovery } = await turnOn(bob);
    const { authenticator, handle } = await addPasskey(bob);
    await ada.ask(`/people/${await idIn(FIRST)}/delete`, { body: { name: 'Somebody' } });
    for (const given of [code(secret), recovery[0]!]) {
      const { browser, answer } = await signIn();
      expect(answer).toEqual({ second_step: true });
      expect((await give(browser, given)).status).toBe(200);
      expect(await accounts(browser)).toEqual([second]);
    }
    expect(await bob.ask('/two-factor')).toMatchObject({ recovery_codes: 9 });
    expect(await enterByPasskey(authenticator, handle)).toBe(second);
    const { options } = await askForPasskey(bob);
    expect(Buffer.from(options.user.id, 'base64url').toString()).toBe(handle);
    expect(options.excludeCredentials.map(({ id }) => id)).toEqual([authenticator.id]);
  });

  it('keeps all of it when an admin’s reset link makes a separate sign-in, which has none of it', async () => {
    const { secret } = await turnOn(bob);
    const { authenticator, handle } = await addPasskey(bob);
    const { browser, answer } = await enter('/reset-password', {
      token: await resetBy(ada, FIRST),
      password: NEW_PASSWORD,
    });
    expect(answer).toMatchObject({ account: { id: FIRST }, accounts: [{ id: FIRST }] });
    expect(await browser.ask('/two-factor')).toEqual({ enabled_at: null, recovery_codes: 0 });
    expect((await browser.ask<{ data: object[] }>('/passkeys')).data).toEqual([]);
    // Authenticators replace a passkey by another one of the same handle.
    expect((await addPasskey(browser, NEW_PASSWORD)).handle).not.toBe(handle);
    expect(await accounts(bob)).toEqual([second]);
    expect(await enterByPasskey(authenticator, handle)).toBe(second);
    expect(await bob.ask('/two-factor')).toMatchObject({ enabled_at: expect.any(String), recovery_codes: 10 });
    expect((await bob.call('/two-factor/remove', { body: { password: PASSWORD, code: code(secret) } })).status).toBe(
      204,
    );
  });

  it('asks for the code of the sign-in after a mailed reset, and opens the account of the link', async () => {
    const { secret } = await turnOn(bob);
    for (const [n, accountId] of [second, FIRST].entries()) {
      const { browser, answer } = await enter('/reset-password', {
        token: await mailedLink(accountId),
        password: `${NEW_PASSWORD} ${n}`,
      });
      expect(answer).toEqual({ second_step: true });
      expect((await browser.call('/session')).status).toBe(401);
      const opened = await give(browser, code(secret));
      // Not the one that was used last, which a sign-in opens.
      expect([opened.status, await opened.json()]).toMatchObject([200, { account: { id: accountId } }]);
      await platform.pool.query('UPDATE second_factors SET last_step = 0');
      expect(await accounts(browser)).toEqual([FIRST, second].sort());
    }
    const { browser } = await signIn(`${NEW_PASSWORD} 1`);
    const opened = await give(browser, code(secret));
    expect([opened.status, await opened.json()]).toMatchObject([200, { account: { id: FIRST } }]);
  });

  it('has one setting in all accounts, which its one password changes in each of them', async () => {
    const { secret } = await turnOn(bob);
    const { authenticator, handle } = await addPasskey(bob);
    await bob.ask('/session/account', { body: { account_id: FIRST } });
    expect((await bob.call('/two-factor', { method: 'POST' })).status).toBe(409);
    const { data } = await bob.ask<{ data: { id: string }[] }>('/passkeys');
    expect(data).toHaveLength(1);
    for (const who of [ada, uma]) {
      const { data: team } = await who.ask<{ data: object[] }>('/people');
      expect(team).toContainEqual(expect.objectContaining({ email, two_factor: true }));
    }
    await bob.ask('/session/account', { body: { account_id: second } });
    await platform.pool.query('UPDATE people SET disabled_at = now() WHERE id = $1', [await idIn(FIRST)]);
    expect(await enterByPasskey(authenticator, handle)).toBe(second);
    expect((await bob.call(`/passkeys/${data[0]!.id}`, { method: 'DELETE' })).status).toBe(204);
    expect((await bob.call('/two-factor/remove', { body: { password: PASSWORD, code: code(secret) } })).status).toBe(
      204,
    );
    expect((await signIn()).answer).toMatchObject({ account: { id: second } });
  });

  it('is not weakened by an admin of one of its accounts', async () => {
    const { secret } = await turnOn(bob);
    const { browser: elsewhere } = await enter('/sign-in', { email, password: PASSWORD });
    await give(elsewhere, code(secret));
    await elsewhere.ask('/session/account', { body: { account_id: FIRST } });
    for (const [admin, account] of [
      [uma, second],
      [ada, FIRST],
    ] as const) {
      const refused = await admin.call(`/people/${await idIn(account)}/two-factor`, { method: 'DELETE' });
      expect([refused.status, await refused.json()]).toMatchObject([403, { error: { code: 'not_permitted' } }]);
    }
    expect((await signIn()).answer).toEqual({ second_step: true });
    await uma.ask(`/people/${await idIn(second)}/sign-out`, { method: 'POST' });
    expect([(await bob.call('/session')).status, (await elsewhere.call('/session')).status]).toEqual([401, 200]);
    // The link that the refusal names, and then the admin of the account alone has a say.
    const { answer } = await enter('/reset-password', { token: await resetBy(uma, second), password: NEW_PASSWORD });
    expect(answer).toMatchObject({ accounts: [{ id: second }] });
    expect((await uma.call(`/people/${await idIn(second)}/two-factor`, { method: 'DELETE' })).status).toBe(404);
    expect((await ada.call(`/people/${await idIn(FIRST)}/two-factor`, { method: 'DELETE' })).status).toBe(204);
    expect((await signIn()).answer).toMatchObject({ accounts: [{ id: FIRST }] });
  });

  it('opens no account whose person leaves it at that moment', async () => {
    const token = await resetBy(uma, second);
    const browser = new Browser(platform.url);
    const hold = await platform.pool.connect();
    try {
      await hold.query('BEGIN');
      await hold.query('SELECT 1 FROM people WHERE id = $1 FOR UPDATE', [await idIn(second)]);
      const reset = enter('/reset-password', { token, password: NEW_PASSWORD });
      await waitForLockWait(platform.pool);
      const signedIn = browser.call('/sign-in', { body: { email, password: PASSWORD } });
      await waitForLockWait(platform.pool, 2);
      await hold.query('COMMIT');
      expect((await reset).answer).toMatchObject({ account: { id: second } });
      expect((await signedIn).status).toBe(401);
    } finally {
      hold.release();
    }
    expect((await browser.call('/session')).status).toBe(401);
    const text = 'SELECT 1 FROM sessions WHERE person_id = $1';
    expect((await platform.pool.query(text, [await idIn(second)])).rowCount).toBe(1);
    expect((await signIn()).answer).toMatchObject({ accounts: [{ id: FIRST }] });
  });

  it('does not open to a password of their own that one of its people gets', async () => {
    const text = `UPDATE people SET password_hash = (SELECT password_hash FROM people WHERE email = 'uma@example.org')
      WHERE id = $1`;
    await platform.pool.query(text, [await idIn(second)]);
    expect(await accounts(bob)).toEqual([second]);
    expect((await bob.call('/session/account', { body: { account_id: FIRST } })).status).toBe(404);
  });
});
