import { waitUntil } from '#embedded/wait-until.js';
import { Browser, PASSWORD, signInFirstAdmin } from '../support/console.js';
import { FaultProxy } from '../support/fault-proxy.js';
import { freePort } from '../support/free-port.js';
import { patientSetting } from '../support/patience.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { startApi, type TestProcess } from '../support/processes.js';
import { createTestRedis, type TestRedis } from '../support/redis.js';

const CALLER = '203.0.113.7';
/** Nobody gets as far as asking it. */
const PROVIDER = { OIDC_ISSUER: 'https://login.invalid', OIDC_CLIENT_ID: 'darkroom' };

describe('the limits of signing in', () => {
  let line: FaultProxy;
  let platform: Platform;
  let counting: TestRedis;
  let api: TestProcess | undefined;
  let count = 0;

  beforeAll(async () => {
    line = await FaultProxy.start(createTestRedis().url);
    // A count that Redis does not answer in time is refused sooner, so here it has time on a busy machine, too.
    platform = await startPlatform({ REDIS_URL: line.url, REDIS_COMMAND_TIMEOUT_MS: patientSetting(10_000, 60_000) });
    await signInFirstAdmin(platform);
  });
  afterAll(async () => {
    await platform.close();
    await line.close();
  });
  beforeEach(() => {
    counting = createTestRedis();
  });
  afterEach(async () => {
    line.fault = 'pass';
    await api?.stop();
    await counting.clean();
  });

  /** An API that has counted nobody. */
  async function start(settings: Readonly<Record<string, string>>): Promise<string> {
    api = await startApi({ ...platform.settings, ...PROVIDER, REDIS_PREFIX: counting.prefix, ...settings });
    return api.url;
  }

  const attempt = (url: string, email: string, password: string, headers: Record<string, string> = {}) =>
    new Browser(url).call('/sign-in', { body: { email, password }, headers });

  /**
   * How many of so many attempts were looked at, and how many turned away. They are returns from a provider, which
   * count like passwords and cost no time.
   */
  async function storm(url: string, attempts: number, forwardedFor: () => string): Promise<[number, number]> {
    const outcomes: string[] = [];
    for (let attempt = 0; attempt < attempts; attempt++) {
      const answer = await fetch(`${url}/console/api/oidc/callback`, {
        redirect: 'manual',
        headers: { 'x-forwarded-for': forwardedFor() },
      });
      outcomes.push(new URL(answer.headers.get('location')!).search);
    }
    return tally(outcomes, '?refused=not_begun', '?refused=too_often');
  }

  function tally<T>(outcomes: readonly T[], admitted: T, limited: T): [number, number] {
    return [admitted, limited].map((one) => outcomes.filter((outcome) => outcome === one).length) as [number, number];
  }

  it('count callers behind a trusted proxy by the address it names, whatever they wrote before it', async () => {
    const url = await start({ TRUSTED_PROXIES: '127.0.0.1, 10.0.0.0/8' });
    const forged = (): string => `198.51.100.${++count % 250}, ${CALLER}`;
    expect(await storm(url, 104, forged)).toEqual([100, 4]);
    const password = await attempt(url, 'ada@example.org', PASSWORD, { 'x-forwarded-for': CALLER });
    expect(password.status).toBe(429);
    // Through two proxies, both trusted.
    expect(await storm(url, 1, () => `${CALLER}, 10.1.2.3`)).toEqual([0, 1]);
    expect(await storm(url, 1, () => '203.0.113.8')).toEqual([1, 0]);
  });

  it('count callers apart whatever proxies write beside an address: ports, quotes and brackets', async () => {
    const url = await start({ TRUSTED_PROXIES: '127.0.0.1, 10.0.0.0/8' });
    // As Azure does; each connection has another port.
    expect(await storm(url, 102, () => `${CALLER}:${50_000 + ++count}`)).toEqual([100, 2]);
    expect(await storm(url, 1, () => `"${CALLER}:443", 10.1.2.3:8080`)).toEqual([0, 1]);
    expect(await storm(url, 1, () => '203.0.113.8:51324')).toEqual([1, 0]);
    expect(await storm(url, 102, () => `"[2001:db8:1:2::${(++count).toString(16)}]:443"`)).toEqual([100, 2]);
    expect(await storm(url, 1, () => '[2001:db8:1:3::1]:443')).toEqual([1, 0]);
  });

  it('count an IPv6 caller as its network, which has more addresses than one can count', async () => {
    const url = await start({ TRUSTED_PROXIES: '127.0.0.1' });
    expect(await storm(url, 102, () => `2001:db8:1:2::${(++count).toString(16)}`)).toEqual([100, 2]);
    expect(await storm(url, 1, () => '2001:db8:1:3::1')).toEqual([1, 0]);
  });

  it.each([
    ['nobody is trusted', ''],
    ['another one is trusted', '10.0.0.0/8'],
  ])('believe no X-Forwarded-For when %s', async (_case, trusted) => {
    const url = await start({ TRUSTED_PROXIES: trusted });
    expect(await storm(url, 102, () => `203.0.113.${++count % 250}`)).toEqual([100, 2]);
  });

  it('leave it to PUBLIC_URL whether cookies are for TLS only, whatever a proxy says', async () => {
    const claims = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'evil.example' };
    const plain = await start({ TRUSTED_PROXIES: '127.0.0.1' });
    const cookie = (await attempt(plain, 'ada@example.org', PASSWORD, claims)).headers.getSetCookie()[0];
    expect(cookie).toMatch(/^darkroom_session=/);
    expect(cookie).not.toContain('Secure');
    await api?.stop();
    const secure = await start({ PUBLIC_URL: 'https://images.example.org' });
    const headers = { origin: 'https://images.example.org', 'x-forwarded-proto': 'http' };
    const answer = await attempt(secure, 'ada@example.org', PASSWORD, headers);
    const [planted = '', ...others] = answer.headers.getSetCookie();
    // The prefix keeps other hosts of the domain, and whoever answers on a plain connection, from planting one.
    expect(planted).toMatch(
      /^__Host-darkroom_session=[\w-]{43}; Max-Age=604800; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
    );
    expect(others).toEqual([
      expect.stringMatching(
        /^__Host-darkroom_browser=[\w.-]+; Max-Age=15552000; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
      ),
    ]);
    const hsts = async (url: string, path: string) =>
      (await fetch(url + path)).headers.get('strict-transport-security');
    for (const path of ['/console', '/v1/models', '/healthz', '/nothing']) {
      expect(await hsts(secure, path)).toBe('max-age=31536000');
    }
    expect(await hsts(platform.url, '/console')).toBeNull();
    const [named = ''] = planted.split(';');
    const session = (cookie: string) => fetch(`${secure}/console/api/session`, { headers: { cookie } });
    expect((await session(named)).status).toBe(200);
    expect((await session(named.replace('__Host-', ''))).status).toBe(401);
    const begun = await fetch(`${secure}/console/api/oidc/callback`, { redirect: 'manual' });
    expect(begun.headers.getSetCookie()[0]).toMatch(
      /^__Host-darkroom_openid=; Max-Age=0; Path=\/; .*HttpOnly; Secure;/,
    );
    const elsewhere = { origin: 'https://evil.example', 'x-forwarded-host': 'evil.example' };
    expect((await attempt(secure, 'ada@example.org', PASSWORD, elsewhere)).status).toBe(403);
  });

  it('strangers who use up the attempts of a user lock out no browser that the user has signed in with', async () => {
    const url = await start({ TRUSTED_PROXIES: '127.0.0.1' });
    const cookieOf = (answer: Response): string =>
      answer.headers
        .getSetCookie()
        .find((cookie) => cookie.startsWith('darkroom_browser='))!
        .split(';', 1)[0]!;
    const from = (host: number) => ({ 'x-forwarded-for': `198.51.100.${host}` });
    const cookie = cookieOf(await attempt(url, 'ada@example.org', PASSWORD, from(1)));
    const statuses: number[] = [];
    for (let guess = 0; guess < 55; guess++) {
      statuses.push((await attempt(url, 'ada@example.org', 'a guess', from(10 + Math.floor(guess / 9)))).status);
    }
    expect(new Set(statuses)).toEqual(new Set([401, 429]));
    // A stranger's browser, one with a cookie of somebody else's, and one with an invented cookie stay out.
    expect((await attempt(url, 'ada@example.org', PASSWORD, from(2))).status).toBe(429);
    expect((await attempt(url, 'ada@example.org', PASSWORD, { ...from(2), cookie: `${cookie}x` })).status).toBe(429);
    expect((await attempt(url, 'ada@example.org', PASSWORD, { ...from(2), cookie })).status).toBe(200);
    // Its own budget is no larger than a stranger's.
    const guesses: number[] = [];
    for (let guess = 0; guess < 12; guess++) {
      guesses.push((await attempt(url, 'ada@example.org', 'a guess', { ...from(3), cookie })).status);
    }
    expect(tally(guesses, 401, 429)).toEqual([9, 3]);
    // It is no budget for anybody else's password.
    expect((await attempt(url, 'bob@example.org', 'a guess', { ...from(4), cookie })).status).toBe(401);
  });

  it('600 tries in flight: hold up no download, and those beyond the places are told to come again', async () => {
    const url = await start({ TRUSTED_PROXIES: '127.0.0.1', PORT: String(await freePort()) });
    const generated = await platform.call('/v1/images/generations', {
      body: { model: 'gpt-image-2', prompt: 'a boat' },
    });
    const [{ url: link = '' } = {}] = ((await generated.json()) as { data: { url: string }[] }).data;
    const image = url + new URL(link).pathname + new URL(link).search;
    const statuses: number[] = [];
    const tries = Array.from({ length: 600 }, async (_, index) => {
      // Forty networks, and nobody twice.
      const from = { 'x-forwarded-for': `198.51.100.${index % 40}` };
      const answer = await attempt(url, `nobody${index}@example.org`, 'a guess', from);
      expect(answer.headers.get('retry-after') === null).toBe(answer.status === 401);
      statuses.push(answer.status);
    });
    expect(await waitUntil(() => statuses.length > 0, { timeoutMs: 30_000, everyMs: 5 })).toBe(true);
    const [before] = tally(statuses, 401, 503);
    const answer = await fetch(image);
    expect([answer.status, (await answer.arrayBuffer()).byteLength > 1_000]).toEqual([200, true]);
    const [after] = tally(statuses, 401, 503);
    await Promise.all(tries);
    const [hashed, refused] = tally(statuses, 401, 503);
    expect([hashed + refused, hashed > 0, refused > 0]).toEqual([600, true, true]);
    // The file did not wait for all the hashes that stood before it.
    expect(after - before).toBeLessThan(300);
  });

  it.each(['reset', 'black-hole'] as const)(
    'hold without Redis (%s), narrower, and let everybody in again once it is back',
    async (fault) => {
      const url = await start({ REDIS_COMMAND_TIMEOUT_MS: '2000' });
      expect((await attempt(url, 'ada@example.org', PASSWORD)).status).toBe(200);
      line.fault = fault;
      const guesses = Array.from({ length: 5 }, () => attempt(url, 'ada@example.org', 'a guess'));
      const statuses = (await Promise.all(guesses)).map(({ status }) => status);
      // Half of ten, of which one was used before.
      expect(tally(statuses, 401, 429)).toEqual([4, 1]);
      const stopped = await attempt(url, 'ada@example.org', PASSWORD);
      expect(stopped.status).toBe(429);
      expect(Number(stopped.headers.get('retry-after'))).toBeGreaterThan(0);
      // Nobody else is locked out with her.
      expect((await attempt(url, 'bob@example.org', 'a guess')).status).toBe(401);
      line.fault = 'pass';
      // Together these are fewer than ten, so that nothing but Redis' absence kept her out.
      const enters = async (): Promise<boolean> => (await attempt(url, 'ada@example.org', PASSWORD)).status === 200;
      expect(await waitUntil(enters, { timeoutMs: 20_000, everyMs: 500 })).toBe(true);
    },
  );
});
