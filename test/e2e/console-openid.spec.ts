import { TextSealer } from '#secrets/sealed-text.js';
import { doctor } from '../../apps/standalone/src/commands/doctor.js';
import { Browser, linkToken, PASSWORD } from '../support/console.js';
import { FaultProxy, httpAnswer } from '../support/fault-proxy.js';
import { freePort } from '../support/free-port.js';
import { CLIENT, TestOpenIdProvider, Visitor, type ProviderPerson } from '../support/openid-provider.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';
import { createTestRedis, type TestRedis } from '../support/redis.js';
import { startApi, type TestProcess } from '../support/processes.js';

const person = (name: string, changes: Partial<ProviderPerson> = {}): ProviderPerson => ({
  sub: `sub-${name}`,
  email: `${name}@example.org`,
  email_verified: true,
  name,
  ...changes,
});

describe('signing in to the console with OpenID Connect', () => {
  let op: TestOpenIdProvider;
  let line: FaultProxy;
  let platform: ApiPlatform;
  /** What the APIs that only some tests need count in. */
  let fresh: TestRedis;
  const begin = (): string => `${platform.url}/console/api/oidc`;
  const isCallback = ({ pathname }: URL): boolean => pathname === '/console/api/oidc/callback';

  beforeAll(async () => {
    const port = await freePort();
    const own = await freePort();
    line = await FaultProxy.start(`http://127.0.0.1:${port}`);
    op = await TestOpenIdProvider.start({ issuer: line.url, port, services: [`http://127.0.0.1:${own}`] });
    platform = await startApiPlatform({
      PORT: String(own),
      OIDC_ISSUER: line.url,
      OIDC_CLIENT_ID: CLIENT.id,
      OIDC_CLIENT_SECRET: CLIENT.secret,
      OIDC_NAME: 'Example SSO',
      OIDC_DOMAINS: 'Joiners.example',
    });
  });
  afterAll(async () => {
    await platform.close();
    await op.close();
    await line.close();
  });
  beforeEach(() => {
    fresh = createTestRedis();
    op.talkative = true;
  });
  afterEach(async () => {
    await fresh.clean();
    op.denial = op.tamper = op.only = undefined;
    op.foreignKey = false;
    line.fault = 'pass';
  });

  /** Where somebody lands, and their browser. */
  async function come(as: ProviderPerson, visitor = new Visitor()): Promise<{ landed: string; browser: Browser }> {
    op.person = as;
    const url = await visitor.follow(begin());
    const browser = new Browser(platform.url);
    browser.cookie = visitor.cookiesFor(new URL(platform.url));
    return { landed: url.pathname + url.search, browser };
  }

  /** The address that the provider sends a browser back to, not yet opened. */
  async function comeBack(as: ProviderPerson, visitor: Visitor): Promise<URL> {
    op.person = as;
    return await visitor.follow(begin(), isCallback);
  }

  async function refused(as: ProviderPerson): Promise<string> {
    const { landed, browser } = await come(as);
    expect((await browser.call('/session')).status).toBe(401);
    return landed.replace('/console/sign-in?refused=', '');
  }

  /** Takes a one-time link by signing in with the provider. */
  async function takeLink(token: string, as: ProviderPerson): Promise<string> {
    op.person = as;
    const visitor = new Visitor();
    const browser = new Browser(platform.url);
    const answer = await browser.call('/oidc', { body: { token } });
    visitor.keep(new URL(platform.url), answer.headers.getSetCookie()[0]!);
    const { url } = (await answer.json()) as { url: string };
    const landed = await visitor.follow(url);
    return landed.pathname + landed.search;
  }

  async function invite(email: string, role: 'admin' | 'member' = 'member', accountId?: string): Promise<string> {
    return await linkToken(platform, { purpose: 'invite', email, role, ...(accountId ? { accountId } : {}) });
  }

  /** An API that knows nothing of the provider yet, and has counted nobody. */
  async function startAnother(): Promise<TestProcess> {
    const { PORT: _port, ...settings } = platform.settings;
    return await startApi({ ...settings, REDIS_PREFIX: fresh.prefix });
  }

  async function row(email: string): Promise<Record<string, unknown> | undefined> {
    const { rows } = await platform.pool.query<Record<string, unknown>>(
      'SELECT account_id, role, founder, password_hash, openid_issuer, openid_subject FROM people WHERE email = $1',
      [email],
    );
    return rows[0];
  }

  it('lets nobody join by themselves before there is an admin, and makes one by the link, however many come', async () => {
    expect(await new Browser(platform.url).ask('/sign-in')).toEqual({
      first_run: true,
      password: true,
      oidc: { name: 'Example SSO', url: begin() },
      email: false,
      passkey_origin: platform.url.replace('127.0.0.1', 'localhost'),
    });
    expect(await refused(person('early', { email: 'early@joiners.example' }))).toBe('not_invited');
    const token = await linkToken(platform, { purpose: 'first_admin' });
    const landed: string[] = [];
    // One after the other to the provider, whose person is one at a time; their returns come at once.
    const returns = [];
    for (let index = 0; index < 6; index++) {
      const visitor = new Visitor();
      const browser = new Browser(platform.url);
      op.person = person(`ada${index}`);
      const answer = await browser.call('/oidc', { body: { token } });
      visitor.keep(new URL(platform.url), answer.headers.getSetCookie()[0]!);
      const { url } = (await answer.json()) as { url: string };
      expect(url).not.toContain(token);
      returns.push({ visitor, back: await visitor.follow(url, isCallback) });
    }
    await Promise.all(
      returns.map(async ({ visitor, back }) => {
        const url = await visitor.follow(back.href);
        landed.push(url.pathname + url.search);
      }),
    );
    expect(landed.sort()).toEqual(['/console/', ...Array<string>(5).fill('/console/sign-in?refused=link_used')]);
    const { rows } = await platform.pool.query('SELECT role, founder, password_hash FROM people');
    expect(rows).toEqual([{ role: 'admin', founder: true, password_hash: null }]);
    expect(
      await platform.pool.query(`SELECT details FROM audit_log WHERE action = 'person.became_first_admin'`),
    ).toMatchObject({ rows: [{ details: { by: 'openid' } }] });
  });

  it('keeps what it checks the return with in a sealed cookie that nothing but the return gets', async () => {
    const answer = await new Visitor().open(new URL(begin()));
    expect(answer.status).toBe(303);
    const [cookie = '', ...others] = answer.headers.getSetCookie();
    expect(others).toEqual([]);
    expect(cookie).toMatch(/^darkroom_openid=[\w.-]+; Max-Age=600; Path=\/console\/api\/oidc; HttpOnly; SameSite=Lax$/);
    const { origin, searchParams } = new URL(answer.headers.get('location')!);
    expect(origin).toBe(line.url);
    expect(Object.fromEntries(searchParams)).toMatchObject({
      client_id: CLIENT.id,
      redirect_uri: `${platform.url}/console/api/oidc/callback`,
      response_type: 'code',
      code_challenge_method: 'S256',
      scope: 'openid email profile',
    });
    const sealed = Buffer.from(cookie.split(/[=;]/)[1]!.split('.')[1]!, 'base64url').toString('latin1');
    expect(sealed).not.toContain(searchParams.get('state'));
  });

  it('signs in whoever took the link of an account, in its role, and knows them ever after', async () => {
    const accountId = await platform.newAccount();
    const token = await invite('bea@example.org', 'admin', accountId);
    expect(await takeLink(token, person('bea', { email: 'Bea@Example.org' }))).toBe('/console/');
    const { landed, browser } = await come(person('bea', { email: 'Bea@Example.org' }));
    expect(landed).toBe('/console/');
    expect(await browser.ask('/session')).toEqual({
      abilities: expect.arrayContaining(['team.manage']),
      person: {
        id: expect.any(String),
        email: 'bea@example.org',
        name: 'bea',
        role: 'owner',
        password: false,
        oidc: true,
      },
      account: { id: accountId, name: accountId },
      accounts: [{ id: accountId, name: accountId, role: 'owner' }],
      operator: false,
      currency: 'USD',
      image_providers: [],
      two_factor_required: false,
    });
    // The address changed hands at the provider, and is not even verified: it is the subject that counts.
    const again = await come(person('bea', { email: 'married@example.org', email_verified: false }));
    expect(again.landed).toBe('/console/');
    expect(await again.browser.ask('/session')).toMatchObject({ person: { email: 'bea@example.org' } });
    const other = person('bea', { sub: 'sub-of-somebody-new' });
    expect(await refused(other)).toBe('not_invited');
    const { rows } = await platform.pool.query(
      `SELECT action, details FROM audit_log WHERE account_id = $1 ORDER BY id`,
      [accountId],
    );
    expect(rows).toEqual([
      { action: 'person.joined', details: { by: 'openid' } },
      { action: 'person.signed_in', details: { by: 'openid' } },
      { action: 'person.signed_in', details: { by: 'openid' } },
    ]);
  });

  it('lets nobody into a disabled account, and leaves their invitation for when it is enabled', async () => {
    const accountId = await platform.newAccount();
    const token = await invite('fay@example.org', 'member', accountId);
    await platform.pool.query('UPDATE accounts SET disabled_at = now() WHERE id = $1', [accountId]);
    expect(await takeLink(token, person('fay'))).toBe('/console/sign-in?refused=link_used');
    await platform.pool.query('UPDATE accounts SET disabled_at = NULL WHERE id = $1', [accountId]);
    expect(await takeLink(token, person('fay'))).toBe('/console/');
    expect(await row('fay@example.org')).toMatchObject({ account_id: accountId });
  });

  it('asks a provider that says little in its token', async () => {
    op.talkative = false;
    await invite('carl@example.org');
    expect((await come(person('carl'))).landed).toBe('/console/');
    expect(await row('carl@example.org')).toMatchObject({ role: 'member', openid_subject: 'sub-carl' });
  });

  it('links somebody of the first account who has a password, and who may choose a new one', async () => {
    const token = await invite('dan@example.org');
    await new Browser(platform.url).ask('/join', { body: { token, name: 'Dan', password: `${PASSWORD} 0` } });
    expect((await come(person('dan'))).landed).toBe('/console/');
    const renew = await linkToken(platform, { purpose: 'password', email: 'dan@example.org' });
    const session = await new Browser(platform.url).ask('/reset-password', {
      body: { token: renew, password: PASSWORD },
    });
    expect(session).toMatchObject({ person: { password: true, oidc: true } });
    expect(await row('dan@example.org')).toMatchObject({ openid_issuer: line.url, openid_subject: 'sub-dan' });
  });

  it('lets people of the domains join as members of the first account, and nobody else', async () => {
    expect((await come(person('eli', { email: 'eli@joiners.example', name: '\u202e<b>Eli</b>\u0000' }))).landed).toBe(
      '/console/',
    );
    expect(await row('eli@joiners.example')).toMatchObject({
      account_id: 'acct_default',
      role: 'member',
      founder: false,
    });
    for (const email of ['eve@example.org', 'eve@evil.joiners.example', 'eve@joiners.example.evil.example'])
      expect(await refused(person('eve', { email }))).toBe('not_invited');
    expect(await row('eve@example.org')).toBeUndefined();
  });

  it.each<[string, unknown]>([
    ['not verified', false],
    ['said not to be verified in a text', 'false'],
    ['said to be something else than verified', 1],
    ['not said to be verified', undefined],
  ])('refuses an address that is %s, whoever has it', async (_case, email_verified) => {
    await invite('flo@example.org');
    for (const email of ['flo@example.org', 'dan@example.org', 'flo@joiners.example'])
      expect(await refused(person('mallory', { email, email_verified }))).toBe('unverified');
    expect(await refused({ sub: 'sub-nameless' })).toBe('unverified');
  });

  it.each<[string, readonly string[] | undefined, unknown]>([
    ['only userinfo, with the address', [], true],
    ['only userinfo, while the ID token has the address', ['email', 'name'], true],
    ['only userinfo, as text', ['email', 'name'], 'true'],
    ['the ID token, as text', undefined, 'true'],
  ])('takes the word of %s that an address is verified', async (_case, only, email_verified) => {
    const name = `where${String(email_verified)[0]}${only?.length ?? 'all'}${typeof email_verified}`;
    op.only = only;
    const { landed } = await come(person(name, { email: `${name}@joiners.example`, email_verified }));
    expect(landed).toBe('/console/');
    expect(await row(`${name.toLowerCase()}@joiners.example`)).toMatchObject({ openid_subject: `sub-${name}` });
  });

  it('does not take the word of userinfo for another address, or against that of the ID token', async () => {
    op.only = ['name'];
    op.tamper = (claims) => ({ ...claims, email: 'dan@example.org' });
    expect(await refused(person('mallory', { email: 'mallory@joiners.example' }))).toBe('unverified');
    op.tamper = (claims) => ({ ...claims, email: 'mallory@joiners.example', email_verified: false });
    expect(await refused(person('mallory', { email: 'mallory@joiners.example' }))).toBe('unverified');
  });

  it('refuses whoever is disabled, known or not', async () => {
    await platform.pool.query(`UPDATE people SET disabled_at = now() WHERE email IN ('carl@example.org')`);
    expect(await refused(person('carl'))).toBe('disabled');
    expect(await refused(person('carl', { sub: 'another' }))).toBe('disabled');
  });

  it('refuses a return that this browser did not begin', async () => {
    const victim = new Visitor();
    const back = await comeBack(person('dan'), new Visitor());
    expect((await victim.follow(back.href)).search).toBe('?refused=not_begun');
    expect(victim.cookiesFor(new URL(platform.url))).toBe('');
    // With a cookie of its own it is another's state.
    await victim.follow(begin(), isCallback);
    expect((await victim.follow(back.href)).search).toBe('?refused=failed');
    const forged = new Visitor();
    forged.keep(new URL(platform.url), 'darkroom_openid=abcdef012345.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA');
    expect((await forged.follow(back.href)).search).toBe('?refused=not_begun');
  });

  it('refuses a return that is repeated', async () => {
    const visitor = new Visitor();
    const back = await comeBack(person('dan'), visitor);
    const kept = visitor.cookiesFor(back);
    expect((await visitor.follow(back.href)).pathname).toBe('/console/');
    expect((await visitor.follow(back.href)).search).toBe('?refused=not_begun');
    const thief = new Visitor();
    for (const cookie of kept.split('; ')) thief.keep(back, cookie);
    expect((await thief.follow(back.href)).search).toBe('?refused=failed');
  });

  it.each<[string, (url: URL) => void]>([
    ['another state', (url) => url.searchParams.set('state', 'another')],
    ['no state', (url) => url.searchParams.delete('state')],
    ['another issuer', (url) => url.searchParams.set('iss', 'https://evil.example')],
    ['another code', (url) => url.searchParams.set('code', 'another')],
    ['no code', (url) => url.searchParams.delete('code')],
    ['two codes', (url) => url.searchParams.append('code', 'another')],
  ])('refuses a return with %s', async (_case, change) => {
    const visitor = new Visitor();
    const back = await comeBack(person('dan'), visitor);
    change(back);
    expect((await visitor.follow(back.href)).search).toBe('?refused=failed');
  });

  it.each<[string, Record<string, unknown>]>([
    ['another nonce', { nonce: 'another' }],
    ['no nonce', { nonce: undefined }],
    ['another audience', { aud: 'another-client' }],
    ['another issuer', { iss: 'https://evil.example' }],
    ['an end in the past', { exp: 1 }],
    ['a subject that no database takes', { sub: 'a\u0000b' }],
  ])('refuses a token with %s', async (_case, changes) => {
    op.tamper = (claims) => ({ ...claims, ...changes });
    expect(await refused(person('dan'))).toBe('failed');
  });

  it('refuses a token that the provider did not sign', async () => {
    op.foreignKey = true;
    expect(await refused(person('dan'))).toBe('failed');
  });

  it('refuses a return that comes too late', async () => {
    const visitor = new Visitor();
    const back = await comeBack(person('dan'), visitor);
    const sealer = new TextSealer({ secretKey: platform.secretKey }, 'openid sign-in');
    const [keyId = '', sealed = ''] = visitor.cookiesFor(back).replace('darkroom_openid=', '').split('.');
    const begun = JSON.parse(sealer.open('cookie', { keyId, sealed: Buffer.from(sealed, 'base64url') })) as object;
    const old = sealer.seal('cookie', JSON.stringify({ ...begun, until: Date.now() - 1 }));
    visitor.keep(back, `darkroom_openid=${old.keyId}.${old.sealed.toString('base64url')}`);
    expect((await visitor.follow(back.href)).search).toBe('?refused=not_begun');
  });

  it('says that the person said no, and never passes on what the provider writes', async () => {
    op.denial = '<script>alert(1)</script>';
    expect(await refused(person('dan'))).toBe('denied');
  });

  it('sends nobody where a request wants', async () => {
    op.person = person('dan');
    const landed = await new Visitor().follow(`${begin()}?redirect_uri=https://evil.example&next=https://evil.example`);
    expect(landed.href).toBe(`${platform.url}/console/`);
    const answer = await fetch(`${begin()}/callback?next=https://evil.example`, {
      redirect: 'manual',
      headers: { 'x-forwarded-host': 'evil.example', host: 'evil.example' },
    });
    expect(answer.headers.get('location')).toBe(`${platform.url}/console/sign-in?refused=not_begun`);
  });

  it('begins a new session, and ends none of those before', async () => {
    const first = await come(person('dan'));
    const second = await come(person('dan'));
    expect(second.browser.cookie).not.toBe(first.browser.cookie);
    expect((await first.browser.call('/session')).status).toBe(200);
  });

  it('takes an invitation or a link for a new password by the link alone, for whomever it was made', async () => {
    const join = await invite('gus@example.org', 'admin');
    expect(await takeLink(join, person('gus', { email: 'gus@elsewhere.example', email_verified: false }))).toBe(
      '/console/',
    );
    expect(await row('gus@example.org')).toMatchObject({
      role: 'admin',
      openid_subject: 'sub-gus',
      password_hash: null,
    });
    expect(await takeLink(join, person('gina'))).toBe('/console/sign-in?refused=link_used');
    // Gus has a new account at the provider.
    expect(await refused(person('gus', { sub: 'sub-gus-2' }))).toBe('taken');
    const renew = await linkToken(platform, { purpose: 'password', email: 'gus@example.org' });
    const before = await come(person('gus'));
    expect(await takeLink(renew, person('gus', { sub: 'sub-gus-2' }))).toBe('/console/');
    expect((await before.browser.call('/session')).status).toBe(401);
    expect(await row('gus@example.org')).toMatchObject({ openid_subject: 'sub-gus-2' });
    // Nobody takes over who somebody else is.
    const another = await linkToken(platform, { purpose: 'password', email: 'dan@example.org' });
    expect(await takeLink(another, person('gus', { sub: 'sub-gus-2' }))).toBe('/console/sign-in?refused=link_used');
  });

  it('takes a link from its own pages alone', async () => {
    const token = await invite('hal@example.org');
    const answer = await new Browser(platform.url).call('/oidc', {
      body: { token },
      headers: { origin: 'https://evil.example' },
    });
    expect(answer.status).toBe(403);
    expect(answer.headers.getSetCookie()).toEqual([]);
  });

  it('counts attempts like those with a password', async () => {
    const api = await startAnother();
    const statuses = new Set<string>();
    for (let attempt = 0; attempt < 101; attempt++) {
      const answer = await fetch(`${api.url}/console/api/oidc/callback?code=x`, { redirect: 'manual' });
      statuses.add(new URL(answer.headers.get('location')!).search);
    }
    expect([...statuses]).toEqual(['?refused=not_begun', '?refused=too_often']);
    await api.stop();
  });

  it.each<[string, () => void]>([
    ['is silent', () => (line.fault = 'black-hole')],
    ['is gone', () => (line.fault = 'reset')],
    ['is broken', () => (line.fault = httpAnswer(500, 'oh'))],
    [
      'is something else',
      () => (line.fault = httpAnswer(200, '{"issuer":"https://evil.example"}', 'application/json')),
    ],
  ])('says so when the provider %s, keeps passwords going, and finds it again', async (_case, fail) => {
    const api = await startAnother();
    fail();
    const answer = await fetch(`${api.url}/console/api/oidc`, { redirect: 'manual' });
    expect(new URL(answer.headers.get('location')!).search).toBe('?refused=unavailable');
    const body = { email: 'dan@example.org', password: PASSWORD };
    expect((await new Browser(api.url).call('/sign-in', { body })).status).toBe(200);
    line.fault = 'pass';
    line.cut();
    const found = await fetch(`${api.url}/console/api/oidc`, { redirect: 'manual' });
    expect(new URL(found.headers.get('location')!).origin).toBe(line.url);
    await api.stop();
  });

  it('says so when the provider falls silent in the middle', async () => {
    const visitor = new Visitor();
    const back = await comeBack(person('dan'), visitor);
    line.fault = 'black-hole';
    expect((await visitor.follow(back.href)).search).toBe('?refused=unavailable');
  });

  it('is looked at by npm run doctor', async () => {
    const look = async (issuer = line.url): Promise<string> => {
      const lines: string[] = [];
      const env = { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: CLIENT.id, DATA_DIR: '/nonexistent' };
      await doctor(env, (text) => lines.push(text));
      return lines.find((text) => text.includes('sign-in provider')) ?? '';
    };
    expect(await look()).toBe(`ok    sign-in provider    ${line.url}`);
    // Its issuer ends with a slash, which the settings left out.
    const issuer = `${line.url}/realm/`;
    const body = JSON.stringify({ issuer, authorization_endpoint: line.url, token_endpoint: line.url });
    const head = [
      'HTTP/1.1 200 OK',
      'content-type: application/json',
      `content-length: ${body.length}`,
      'connection: close',
    ];
    line.fault = { answer: [...head, '', body].join('\r\n') };
    expect(await look(`${line.url}/realm`)).toBe(
      `fail  sign-in provider    the provider calls itself ${issuer}, not ${line.url}/realm: set OIDC_ISSUER=${issuer}`,
    );
    line.fault = 'reset';
    expect(await look()).toMatch(
      /^fail {2}sign-in provider .* does not answer as an OpenID Connect provider \(\w+\); .*names$/,
    );
  });

  it('writes no code, token, address or name of a person to its log', async () => {
    await platform.api.logged('sign_in.refused');
    const output = platform.api.output();
    for (const secret of ['@example.org', 'code=', CLIENT.secret, 'darkroom_openid', 'sub-dan', '<script>'])
      expect(output).not.toContain(secret);
  });
});
