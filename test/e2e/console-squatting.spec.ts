import { totpCode } from '#accounts/totp.js';
import { Browser, linkToken, PASSWORD, signInFirstAdmin, signInInvited } from '../support/console.js';
import { freePort } from '../support/free-port.js';
import { CLIENT, TestOpenIdProvider, Visitor } from '../support/openid-provider.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';

const OTHER_PASSWORD = 'squatters know this one';
const sharedAnswer = async (response: Response): Promise<unknown> => {
  const body = (await response.json()) as { error?: object };
  // The id of the request is of each answer alone.
  return [response.status, [...response.headers.keys()].sort(), body.error ?? Object.keys(body)];
};

/** Eve administers an account of her own, and claims addresses that are not hers. */
describe('M1: an email address that a stranger claims', () => {
  let op: TestOpenIdProvider;
  let platform: ApiPlatform;
  let ada: Browser;
  let eve: Browser;
  let evesAccount: string;

  beforeAll(async () => {
    const port = await freePort();
    const own = await freePort();
    op = await TestOpenIdProvider.start({
      issuer: `http://127.0.0.1:${port}`,
      port,
      services: [`http://127.0.0.1:${own}`],
    });
    platform = await startApiPlatform({
      PORT: String(own),
      OIDC_ISSUER: `http://127.0.0.1:${port}`,
      OIDC_CLIENT_ID: CLIENT.id,
      OIDC_CLIENT_SECRET: CLIENT.secret,
      OIDC_DOMAINS: 'corp.example',
    });
    ada = await signInFirstAdmin(platform);
    evesAccount = await platform.newAccount();
    eve = await signInInvited(platform, { email: 'eve@example.org', role: 'admin', accountId: evesAccount });
  });
  afterAll(async () => {
    await platform.close();
    await op.close();
  });

  const invite = async (who: Browser, email: string): Promise<string> => {
    const { link } = await who.ask<{ link: string }>('/people', { body: { email, role: 'member' } });
    return link.split('#token=')[1]!;
  };
  const join = async (token: string, password: string): Promise<Browser> => {
    const browser = new Browser(platform.url);
    await browser.ask('/join', { body: { token, name: 'Somebody', password } });
    return browser;
  };
  /** The squatter's invitation of an address, which she redeems herself. */
  const squat = async (email: string): Promise<Browser> => await join(await invite(eve, email), OTHER_PASSWORD);
  const signIn = (email: string, password: string) =>
    new Browser(platform.url).call('/sign-in', { body: { email, password } });
  const accountOf = async (email: string, password: string): Promise<string> => {
    const response = await signIn(email, password);
    return response.ok ? ((await response.json()) as { account: { id: string } }).account.id : String(response.status);
  };

  /** Whether a sign-in of whoever has the address asks for a code. */
  const askedForCode = async (email: string): Promise<boolean> => {
    const { rowCount } = await platform.pool.query(
      'SELECT 1 FROM second_factors JOIN people ON people.id = person_id WHERE email = $1',
      [email],
    );
    return rowCount === 1;
  };
  const turnOnTwoFactor = async (browser: Browser): Promise<void> => {
    const { secret } = await browser.ask<{ secret: string }>('/two-factor', { method: 'POST' });
    await browser.ask('/two-factor/confirm', { body: { code: totpCode(secret, Math.floor(Date.now() / 30_000)) } });
  };

  /** Comes by the provider, which has verified the address, with a link if there is one: the account, or the refusal. */
  async function come(email: string, { subject = `sub-${email}`, token }: { subject?: string; token?: string } = {}) {
    op.person = { sub: subject, email, email_verified: true, name: 'Somebody' };
    const visitor = new Visitor();
    const browser = new Browser(platform.url);
    let start = `${platform.url}/console/api/oidc`;
    if (token !== undefined) {
      const answer = await browser.call('/oidc', { body: { token } });
      visitor.keep(new URL(platform.url), answer.headers.getSetCookie()[0]!);
      start = ((await answer.json()) as { url: string }).url;
    }
    const landed = await visitor.follow(start);
    if (landed.search !== '') return landed.search.replace('?refused=', '');
    browser.cookie = visitor.cookiesFor(new URL(platform.url));
    return (await browser.ask<{ account: { id: string } }>('/session')).account.id;
  }

  it('M1: keeps nobody out of the account that really invites them, and is not who they are there', async () => {
    const squatter = await squat('ceo@elsewhere.example');
    await invite(ada, 'ceo@elsewhere.example');
    expect(await come('ceo@elsewhere.example')).toBe('acct_default');
    // The squatter has what was hers, and nothing else.
    expect(await squatter.ask('/session')).toMatchObject({ account: { id: evesAccount }, person: { oidc: false } });
    expect(await accountOf('ceo@elsewhere.example', OTHER_PASSWORD)).toBe(evesAccount);
    expect(await come('ceo@elsewhere.example')).toBe('acct_default');
  });

  it('M1: does not catch whoever signs in with the provider first, invited by nobody else or of a domain', async () => {
    await squat('cfo@elsewhere.example');
    await squat('cfo@corp.example');
    await invite(eve, 'coo@elsewhere.example');
    await invite(eve, 'coo@corp.example');
    expect(await come('cfo@elsewhere.example')).toBe('not_invited');
    expect(await come('coo@elsewhere.example')).toBe('not_invited');
    expect(await come('cfo@corp.example')).toBe('acct_default');
    expect(await come('coo@corp.example')).toBe('acct_default');
    const { rows } = await platform.pool.query(
      'SELECT email FROM people WHERE account_id = $1 AND openid_subject IS NOT NULL',
      [evesAccount],
    );
    expect(rows).toEqual([]);
  });

  it('M1: leaves another account to its link, which its person takes knowingly', async () => {
    const token = await invite(eve, 'guest@elsewhere.example');
    expect(await come('guest@elsewhere.example')).toBe('not_invited');
    expect(await come('guest@elsewhere.example', { token })).toBe(evesAccount);
    expect(await come('guest@elsewhere.example')).toBe(evesAccount);
  });

  it('M1: is two people with two passwords, each changed without the other', async () => {
    const squatter = await squat('cto@example.org');
    const cto = await join(await invite(ada, 'cto@example.org'), PASSWORD);
    expect(await accountOf('cto@example.org', PASSWORD)).toBe('acct_default');
    expect(await accountOf('CTO@example.org', OTHER_PASSWORD)).toBe(evesAccount);
    const token = await linkToken(platform, { purpose: 'password', accountId: evesAccount, email: 'cto@example.org' });
    await squatter.ask('/reset-password', { body: { token, password: `${OTHER_PASSWORD} 2` } });
    expect((await cto.call('/session')).status).toBe(200);
    const change = { current_password: `${OTHER_PASSWORD} 2`, password: `${PASSWORD} 2` };
    expect((await cto.call('/password', { body: change })).status).toBe(401);
    await cto.ask('/password', { body: { ...change, current_password: PASSWORD } });
    expect(await accountOf('cto@example.org', `${PASSWORD} 2`)).toBe('acct_default');
    expect(await accountOf('cto@example.org', `${OTHER_PASSWORD} 2`)).toBe(evesAccount);
    // One salt for both: a sign-in is one hash, in however many accounts the address is known.
    const { rows } = await platform.pool.query(
      `SELECT DISTINCT split_part(password_hash, '$', 5) FROM people WHERE email = 'cto@example.org'`,
    );
    expect(rows).toHaveLength(1);
  });

  it('M1: ends the password, the two-factor authentication, the sessions and the keys of whoever took its invitation to the first account', async () => {
    const thief = await join(await invite(ada, 'dan@example.org'), OTHER_PASSWORD);
    await turnOnTwoFactor(thief);
    const { secret: key } = await thief.ask<{ secret: string }>('/keys', { body: { name: 'kept for later' } });
    expect(await askedForCode('dan@example.org')).toBe(true);
    expect(await come('dan@example.org')).toBe('acct_default');
    expect((await thief.call('/session')).status).toBe(401);
    expect((await platform.call('/v1/models', { key })).status).toBe(401);
    expect(await ada.ask('/audit?kind=sign_in')).toMatchObject({
      data: expect.arrayContaining([
        expect.objectContaining({
          action: 'person.signed_in',
          sentence: expect.stringContaining('which revoked their keys (1)') as unknown,
        }),
      ]) as unknown,
    });
    expect(await accountOf('dan@example.org', OTHER_PASSWORD)).toBe('401');
    expect(await askedForCode('dan@example.org')).toBe(false);
    const { rows } = await platform.pool.query(
      `SELECT password_hash, email_verified_at FROM people WHERE email = 'dan@example.org'`,
    );
    expect(rows).toEqual([{ password_hash: null, email_verified_at: expect.any(Date) }]);
  });

  it('M1: ends the password before a link that is taken with the provider', async () => {
    await turnOnTwoFactor(await join(await invite(ada, 'fred@example.org'), OTHER_PASSWORD));
    const token = await linkToken(platform, { purpose: 'password', email: 'fred@example.org' });
    expect(await come('fred@example.org', { token })).toBe('acct_default');
    expect(await accountOf('fred@example.org', OTHER_PASSWORD)).toBe('401');
    expect(await askedForCode('fred@example.org')).toBe(false);
  });

  it('M1: follows its person to a new provider where it was proven, and nobody else', async () => {
    const proven = await invite(eve, 'gil@example.org');
    expect(await come('gil@example.org', { token: proven })).toBe(evesAccount);
    const unproven = await invite(eve, 'ivy@example.org');
    expect(await come('stranger@example.org', { token: unproven })).toBe(evesAccount);
    await platform.pool.query(
      `UPDATE people SET openid_issuer = 'https://before.example' WHERE email IN ('gil@example.org', 'ivy@example.org')`,
    );
    expect(await come('gil@example.org', { subject: 'gil-there' })).toBe(evesAccount);
    expect(await come('ivy@example.org', { subject: 'ivy-there' })).toBe('not_invited');
  });

  it('M1: keeps other accounts from whoever turns out to own the mailbox', async () => {
    const thief = await join(await invite(ada, 'jo@example.org'), OTHER_PASSWORD);
    await thief.ask('/person/join', { body: { token: await invite(eve, 'jo@elsewhere.example') } });
    const accounts = async (who: Browser) =>
      (await who.ask<{ accounts: { id: string }[] }>('/session')).accounts.map(({ id }) => id).sort();
    expect(await accounts(thief)).toEqual(['acct_default', evesAccount].sort());
    // The mailbox's owner gets the first account alone; the other goes on with the password that it was joined with.
    expect(await come('jo@example.org')).toBe('acct_default');
    expect(await accounts(thief)).toEqual([evesAccount]);
    expect(await accountOf('jo@example.org', OTHER_PASSWORD)).toBe(evesAccount);
    // And the other way round: who is linked in the first account leaves the sign-in of another one.
    const guest = await join(await invite(eve, 'kit@example.org'), OTHER_PASSWORD);
    await guest.ask('/person/join', { body: { token: await invite(ada, 'kit@elsewhere.example') } });
    expect(await come('kit@example.org')).toBe('acct_default');
    expect((await guest.call('/session')).status).toBe(401);
    expect(await accountOf('kit@example.org', OTHER_PASSWORD)).toBe(evesAccount);
  });

  it('M1: joins another account by its link as whom the provider knows, and comes back to either', async () => {
    expect(await come('liz@corp.example')).toBe('acct_default');
    const token = await invite(eve, 'liz@corp.example');
    expect(await come('liz@corp.example', { token })).toBe(evesAccount);
    expect(await come('liz@corp.example')).toBe(evesAccount);
    expect(await come('liz@corp.example', { token })).toBe('link_used');
    const { rows } = await platform.pool.query(
      `SELECT account_id, openid_subject IS NOT NULL AS holds FROM people WHERE email = 'liz@corp.example' ORDER BY id`,
    );
    expect(rows).toEqual([
      { account_id: 'acct_default', holds: true },
      { account_id: evesAccount, holds: false },
    ]);
  });

  it('M1: is not taken out of a sign-in that the provider knows, by another subject with the address', async () => {
    const email = 'max@corp.example';
    expect(await come(email, { token: await invite(eve, email) })).toBe(evesAccount);
    expect(await come(email, { token: await invite(ada, email) })).toBe('acct_default');
    expect(await come(email, { subject: 'another-max' })).toBe('taken');
    expect(await come(email)).toBe('acct_default');
  });

  it('M1: is invited alike whether or not another account knows it, and so is the first admin of a new account', async () => {
    await squat('known@example.org');
    await invite(eve, 'invited@example.org');
    const answers = async (path: string, body: object) =>
      await Promise.all(
        ['known@example.org', 'invited@example.org', 'nobody@example.org'].map(async (email) => {
          const response = await ada.call(path, { body: { ...body, email } });
          return await sharedAnswer(response);
        }),
      );
    for (const [path, body] of [
      ['/people', { role: 'member' }],
      ['/accounts', { name: 'Another' }],
    ] as const) {
      const [first, ...others] = await answers(path, body);
      expect(first).toMatchObject([201, expect.anything(), expect.arrayContaining(['hours', 'link'])]);
      for (const other of others) expect(other).toEqual(first);
    }
    const own = await eve.call('/people', { body: { email: 'known@example.org', role: 'member' } });
    expect(await own.json()).toMatchObject({ error: { code: 'already_exists' } });
  });

  it('M1: is joined, reset and signed in with alike whether or not another account knows it', async () => {
    await squat('taken@example.org');
    const joined = await Promise.all(
      ['taken@example.org', 'free@example.org'].map(async (email) => {
        const body = { token: await invite(ada, email), name: 'Somebody', password: PASSWORD };
        return await sharedAnswer(await new Browser(platform.url).call('/join', { body }));
      }),
    );
    expect(joined[0]).toMatchObject([201, expect.arrayContaining(['set-cookie']), expect.anything()]);
    expect(joined[1]).toEqual(joined[0]);
    const reset = await Promise.all(
      ['taken@example.org', 'free@example.org'].map(async (email) => {
        const body = { token: await linkToken(platform, { purpose: 'password', email }), password: PASSWORD };
        return await sharedAnswer(await new Browser(platform.url).call('/reset-password', { body }));
      }),
    );
    expect(reset[1]).toEqual(reset[0]);
    const refused = await Promise.all(
      ['taken@example.org', 'free@example.org', 'nobody@example.org'].map(async (email) =>
        sharedAnswer(await signIn(email, 'not this one')),
      ),
    );
    expect(refused[0]).toMatchObject([401, expect.anything(), { code: 'sign_in_failed' }]);
    for (const answer of refused) expect(answer).toEqual(refused[0]);
    // There is a first admin: a link that is refused tells nothing of the address either.
    const late = await Promise.all(
      ['taken@example.org', 'nobody@example.org'].map(async (email) => {
        const body = { token: await linkToken(platform, { purpose: 'first_admin' }), name: 'x', password: PASSWORD };
        return await sharedAnswer(await new Browser(platform.url).call('/first-admin', { body: { ...body, email } }));
      }),
    );
    expect(late[0]).toMatchObject([410, expect.anything(), { code: 'link_used' }]);
    expect(late[1]).toEqual(late[0]);
  });
});
