import { Redis } from 'ioredis';
import { totpCode } from '#accounts/totp.js';
import { waitUntil } from '#embedded/wait-until.js';
import { Browser, PASSWORD, linkToken, signInFirstAdmin, signInInvited } from '../support/console.js';
import { waitForLockWait } from '../support/lock-waits.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';
import { startApi } from '../support/processes.js';

interface App {
  readonly secret: string;
  readonly uri: string;
}
type Codes = { readonly recovery_codes: string[] };

describe('two-factor authentication', () => {
  let platform: ApiPlatform;
  let ada: Browser;
  let redis: Redis;
  const step = (): number => Math.floor(Date.now() / 30_000);
  const enter = (email: string, browser = new Browser(platform.url), password = PASSWORD) =>
    browser.call('/sign-in', { body: { email, password } });
  const give = (browser: Browser, code: string, path = '/sign-in/code') => browser.call(path, { body: { code } });
  const codeOf = async (response: Response): Promise<[number, string]> => [
    response.status,
    ((await response.json()) as { error: { code: string } }).error.code,
  ];
  /** As if no code had been taken: those of this half minute work again. */
  const forget = (email: string) =>
    platform.pool.query(
      'UPDATE second_factors SET last_step = 0 WHERE person_id IN (SELECT id FROM people WHERE email = $1)',
      [email],
    );
  const enroll = async (browser: Browser, email: string): Promise<App & Codes> => {
    const app = await browser.ask<App>('/two-factor', { method: 'POST' });
    const codes = await browser.ask<Codes>('/two-factor/confirm', { body: { code: totpCode(app.secret, step()) } });
    await forget(email);
    return { ...app, ...codes };
  };
  const join = async (name: string): Promise<{ browser: Browser; email: string; app: App & Codes }> => {
    const email = `${name}@example.org`;
    const browser = await signInInvited(platform, { email, role: 'member' });
    return { browser, email, app: await enroll(browser, email) };
  };
  /** As if a quarter of an hour had passed. */
  const wait = async (): Promise<void> => {
    for (const key of await redis.keys(`${platform.settings['REDIS_PREFIX']}:rate:sign-in:*`)) {
      if ((await redis.pttl(key)) <= 900_000) await redis.del(key);
    }
  };
  /** Until the audit log has this: it is written in the background, so that no answer waits for it. */
  const toldOf = async (what: string, by?: string): Promise<void> => {
    const isTold = async (): Promise<boolean> => {
      const { data } = await ada.ask<{ data: { who: string; sentence: string }[] }>('/audit?kind=sign_in');
      return data.some(({ who, sentence }) => sentence === what && (by === undefined || who === by));
    };
    expect(await waitUntil(isTold, { timeoutMs: 30_000 })).toBe(true);
  };
  const idOf = async (browser: Browser): Promise<string> =>
    (await browser.ask<{ person: { id: string } }>('/session')).person.id;

  beforeAll(async () => {
    platform = await startApiPlatform({ TRUSTED_PROXIES: '127.0.0.1' });
    redis = new Redis(platform.settings['REDIS_URL']!);
    ada = await signInFirstAdmin(platform);
  });
  afterAll(async () => {
    redis.disconnect();
    await platform.close();
  });

  it('counts once a code of the new app came, and is asked for behind the password alone', async () => {
    const email = 'bob@example.org';
    const bob = await signInInvited(platform, { email, role: 'member' });
    const first = await bob.ask<App>('/two-factor', { method: 'POST' });
    expect(first.uri).toBe(`otpauth://totp/Darkroom:bob%40example.org?secret=${first.secret}&issuer=Darkroom`);
    expect(await codeOf(await give(bob, '000000', '/two-factor/confirm'))).toEqual([401, 'sign_in_failed']);
    expect((await enter(email)).status).toBe(200);
    const app = await enroll(bob, email);
    expect(app.secret).not.toBe(first.secret);
    expect(await bob.ask('/two-factor')).toMatchObject({ enabled_at: expect.any(String), recovery_codes: 10 });
    expect((await bob.call('/two-factor', { method: 'POST' })).status).toBe(409);
    const next = new Browser(platform.url);
    const half = await enter(email, next);
    expect([half.status, await half.json()]).toEqual([200, { second_step: true }]);
    expect((await next.call('/session')).status).toBe(401);
    expect(await codeOf(await give(next, totpCode(first.secret, step())))).toEqual([401, 'sign_in_failed']);
    expect((await give(next, totpCode(app.secret, step()))).status).toBe(200);
    expect(await enter(email, new Browser(platform.url), 'not the password').then(codeOf)).toEqual([
      401,
      'sign_in_failed',
    ]);
    expect(await codeOf(await give(new Browser(platform.url), '123456'))).toEqual([401, 'not_signed_in']);
  });

  it('takes each code once, of the app and of the recovery codes, also when two come at the same time', async () => {
    const { email, app } = await join('kim');
    const code = totpCode(app.secret, step());
    const browsers = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const browser = new Browser(platform.url);
        await enter(email, browser);
        return browser;
      }),
    );
    const statuses = await Promise.all(browsers.map(async (browser) => (await give(browser, code)).status));
    expect(statuses.sort()).toEqual([200, 401, 401, 401]);
    const again = new Browser(platform.url);
    await enter(email, again);
    expect((await give(again, code)).status).toBe(401);
    const spelled = app.recovery_codes[0]!.toUpperCase().replaceAll('-', ' ');
    expect((await give(again, spelled)).status).toBe(200);
    const last = new Browser(platform.url);
    await enter(email, last);
    expect((await give(last, app.recovery_codes[0]!)).status).toBe(401);
    const stored = await platform.pool.query('SELECT code_hash FROM recovery_codes');
    expect(JSON.stringify(stored.rows)).not.toContain(app.recovery_codes[1]);
  });

  it('stops guessing at codes after ten, even the right one then, and the audit log has it', async () => {
    const { email, app } = await join('nia');
    const guesser = new Browser(platform.url);
    await enter(email, guesser);
    const statuses: number[] = [];
    for (let n = 0; n < 10; n++) statuses.push((await give(guesser, '000000')).status);
    expect(new Set(statuses)).toEqual(new Set([401]));
    expect((await give(guesser, totpCode(app.secret, step()))).status).toBe(429);
    await toldOf('entered an incorrect two-factor code for “Somebody”', 'Someone');
  });

  it('slows down guesses with the same password over days, and begins anew with a new password', async () => {
    const { email, app } = await join('pia');
    const guesser = new Browser(platform.url);
    await enter(email, guesser);
    const statuses: number[] = [];
    for (let n = 0; n < 22; n++) {
      if (n % 9 === 0) await wait();
      statuses.push((await give(guesser, '000000')).status);
    }
    expect(statuses).toEqual([...Array<number>(20).fill(401), 429, 429]);
    await wait();
    // The owner, who gets a new password by mail, is not locked out.
    const token = await linkToken(platform, { purpose: 'password', email, role: 'member' });
    const browser = new Browser(platform.url);
    await browser.ask('/reset-password', { body: { token, password: 'umbrella sandwiches in june' } });
    expect((await give(browser, totpCode(app.secret, step()))).status).toBe(200);
    await toldOf('entered the correct password for “Somebody”, and was asked for a two-factor code');
  });

  it('lets a user in with right codes as often as they like, which use up none of the guesses of days', async () => {
    const { email, app } = await join('sid');
    const statuses: number[] = [];
    for (let n = 0; n < 45; n++) {
      if (n % 8 === 0) await wait();
      await forget(email);
      const browser = new Browser(platform.url);
      await enter(email, browser);
      statuses.push((await give(browser, totpCode(app.secret, step()))).status);
    }
    expect(new Set(statuses)).toEqual(new Set([200]));
    await wait();
    // Guesses count as before, also all at once.
    const guesser = new Browser(platform.url);
    await enter(email, guesser);
    const guesses = async (): Promise<number[]> => {
      const { cookie } = guesser;
      const answers = Array.from({ length: 15 }, () =>
        new Browser(platform.url).call('/sign-in/code', { body: { code: '000000' }, headers: { cookie: cookie! } }),
      );
      return (await Promise.all(answers)).map(({ status }) => status).sort();
    };
    for (let round = 0; round < 2; round++) {
      expect(await guesses()).toEqual([...Array<number>(10).fill(401), ...Array<number>(5).fill(429)]);
      await wait();
    }
    expect(new Set(await guesses())).toEqual(new Set([429]));
  });

  it('is taken from a browser that the user has signed in with, whatever strangers do at its address', async () => {
    const { email, app } = await join('ned');
    const send = (path: string, body: object, host = 7, cookie = '') =>
      new Browser(platform.url).call(path, { body, headers: { 'x-forwarded-for': `198.51.100.${host}`, cookie } });
    const kept = (answer: Response, name: string): string =>
      answer.headers
        .getSetCookie()
        .find((cookie) => cookie.startsWith(`${name}=`))!
        .split(';', 1)[0]!;
    const half = async (known = '', host = 7): Promise<string> =>
      `${known}; ${kept(await send('/sign-in', { email, password: PASSWORD }, host, known), 'darkroom_second_step')}`;
    const finish = (code: string, cookie: string, host = 7) => send('/sign-in/code', { code }, host, cookie);
    const known = kept(await finish(app.recovery_codes[0]!, await half()), 'darkroom_browser');
    const waiting = await half();
    for (let n = 0; n < 100; n++) await send('/join', { token: 'a'.repeat(43), name: 'Eve', password: PASSWORD });
    expect((await finish(app.recovery_codes[1]!, waiting)).status).toBe(429);
    expect((await finish(totpCode(app.secret, step()), await half(known))).status).toBe(200);
    expect((await finish(app.recovery_codes[1]!, await half(known))).status).toBe(200);
    // Nor whoever knows the password elsewhere, and guesses at codes.
    const guesser = await half('', 8);
    const guesses: number[] = [];
    for (let n = 0; n < 11; n++) guesses.push((await finish('000000', guesser, 8)).status);
    expect(guesses.at(-1)).toBe(429);
    const own = await half(known);
    expect((await finish(app.recovery_codes[2]!, own)).status).toBe(200);
    // Its own budget is no larger than a stranger's.
    const more: number[] = [];
    for (let n = 0; n < 9; n++) more.push((await finish('000000', own)).status);
    expect([more.filter((status) => status === 401).length, more.at(-1)]).toEqual([7, 429]);
  });

  it('is taken from a user who is signed in, whatever strangers do at their address', async () => {
    const { browser, app } = await join('jan');
    const headers = { 'x-forwarded-for': '198.51.100.9' };
    const guess = { headers, body: { token: 'a'.repeat(43), name: 'Eve', password: PASSWORD } };
    for (let n = 0; n < 101; n++) await new Browser(platform.url).call('/join', guess);
    expect((await new Browser(platform.url).call('/join', guess)).status).toBe(429);
    const renewed = await browser.call('/two-factor/recovery-codes', {
      headers,
      body: { code: totpCode(app.secret, step()) },
    });
    expect(renewed.status).toBe(201);
  });

  it('is asked for by a password-reset link too', async () => {
    const { email, app } = await join('lee');
    const token = await linkToken(platform, { purpose: 'password', email, role: 'member' });
    const browser = new Browser(platform.url);
    const password = 'umbrella sandwiches in june';
    expect(await browser.ask('/reset-password', { body: { token, password } })).toEqual({ second_step: true });
    expect((await browser.call('/session')).status).toBe(401);
    expect((await give(browser, totpCode(app.secret, step()))).status).toBe(200);
  });

  it('is turned off by password and code together, or by an admin, who is in the audit log', async () => {
    const { browser, email, app } = await join('mo');
    const turnOff = (code: string, password = PASSWORD) =>
      browser.call('/two-factor/remove', { body: { code, password } });
    expect(await codeOf(await turnOff('000000'))).toEqual([401, 'sign_in_failed']);
    expect(await codeOf(await turnOff(app.recovery_codes[1]!, 'not the password'))).toEqual([401, 'sign_in_failed']);
    expect((await give(browser, app.recovery_codes[1]!, '/two-factor/remove')).status).toBe(400);
    const renewed = await browser.ask<Codes>('/two-factor/recovery-codes', {
      body: { code: totpCode(app.secret, step()) },
    });
    expect((await turnOff(app.recovery_codes[0]!)).status).toBe(401);
    expect((await turnOff(renewed.recovery_codes[0]!)).status).toBe(204);
    expect((await enter(email)).status).toBe(200);
    await enroll(browser, email);
    const id = await idOf(browser);
    const has = async () =>
      (await ada.ask<{ data: { id: string; two_factor: boolean }[] }>('/people')).data.find((one) => one.id === id)
        ?.two_factor;
    expect(await has()).toBe(true);
    const reset = () => ada.call(`/people/${id}/two-factor`, { method: 'DELETE' });
    expect([(await reset()).status, (await reset()).status, await has()]).toEqual([204, 404, false]);
    expect((await browser.call(`/people/${id}/two-factor`, { method: 'DELETE' })).status).toBe(403);
    const { data } = await ada.ask<{ data: { sentence: string }[] }>('/audit?kind=team');
    expect(data[0]).toMatchObject({ who: 'Ada', sentence: 'reset two-factor authentication for “Somebody”' });
  });

  it('is not asked for any more once the password of the first step has changed', async () => {
    const { browser, email, app } = await join('ian');
    const thief = new Browser(platform.url);
    expect(await (await enter(email, thief)).json()).toEqual({ second_step: true });
    const change = { current_password: PASSWORD, password: 'umbrella sandwiches in june' };
    await browser.ask('/password', { body: change });
    expect(await codeOf(await give(thief, app.recovery_codes[0]!))).toEqual([401, 'not_signed_in']);
    await enter(email, thief, change.password);
    expect((await give(thief, app.recovery_codes[0]!)).status).toBe(200);
  });

  it('keeps ten recovery codes, those of one call, when several renew them at the same time', async () => {
    const { browser, app } = await join('uwe');
    const id = await idOf(browser);
    const { rows } = await platform.pool.query<{ code_hash: Buffer }>(
      'DELETE FROM recovery_codes WHERE person_id = $1 RETURNING code_hash',
      [id],
    );
    // Before all others one that nobody uses, held so that all calls have used theirs before one replaces the others.
    await platform.pool.query('INSERT INTO recovery_codes (person_id, code_hash) SELECT $1, unnest($2::bytea[])', [
      id,
      [Buffer.from([0]), ...rows.map((row) => row.code_hash)],
    ]);
    const hold = await platform.pool.connect();
    try {
      await hold.query('BEGIN');
      await hold.query(`SELECT 1 FROM recovery_codes WHERE person_id = $1 AND code_hash = '\\x00' FOR UPDATE`, [id]);
      const renewals = app.recovery_codes.slice(0, 4).map((code) => give(browser, code, '/two-factor/recovery-codes'));
      await waitForLockWait(platform.pool, 4);
      await hold.query('ROLLBACK');
      expect((await Promise.all(renewals)).map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    } finally {
      hold.release();
    }
    expect(await browser.ask('/two-factor')).toMatchObject({ recovery_codes: 10 });
  });

  it('is erased with its user', async () => {
    const { browser } = await join('ola');
    const id = await idOf(browser);
    await ada.ask(`/people/${id}/delete`, { body: { name: 'Somebody' } });
    for (const table of ['second_factors', 'recovery_codes']) {
      expect((await platform.pool.query(`SELECT 1 FROM ${table} WHERE person_id = $1`, [id])).rowCount).toBe(0);
    }
  });

  it('outlives a change of SECRET_KEY: what the previous one sealed is sealed anew at the next start', async () => {
    const { email, app } = await join('zoe');
    const next = 'next-b58d2e93f7a14c60d17e5a92c4'.padEnd(40, 'y');
    const { PORT: _port, ...settings } = platform.settings;
    const { rows } = await platform.pool.query<{ key_id: string }>('SELECT key_id FROM second_factors LIMIT 1');
    const before = rows[0]!.key_id;
    const api = await startApi({ ...settings, SECRET_KEY: next, SECRET_KEY_PREVIOUS: platform.secretKey });
    const sealed = async (): Promise<boolean> => {
      const { rows } = await platform.pool.query<{ keys: string }>(
        'SELECT count(DISTINCT key_id) AS keys FROM second_factors WHERE key_id <> $1',
        [before],
      );
      const old = await platform.pool.query('SELECT 1 FROM second_factors WHERE key_id = $1', [before]);
      return rows[0]!.keys === '1' && old.rowCount === 0;
    };
    expect(await waitUntil(sealed, { timeoutMs: 30_000 })).toBe(true);
    await api.stop();
    const alone = await startApi({ ...settings, SECRET_KEY: next });
    const browser = new Browser(alone.url);
    await enter(email, browser);
    expect((await give(browser, totpCode(app.secret, step()))).status).toBe(200);
    await alone.stop();
  });

  it('is required of everyone with a password where an owner or admin says so, before anything else', async () => {
    const accountId = await platform.newAccount();
    const invited = (email: string, role: 'admin' | 'member') => signInInvited(platform, { email, role, accountId });
    const gus = await invited('gus@example.org', 'admin');
    const uma = await invited('uma@example.org', 'member');
    const require = (who: Browser, required: boolean) =>
      who.call('/account', { method: 'PATCH', body: { require_two_factor: required } });
    const isTold = async (who: Browser) =>
      (await who.ask<{ two_factor_required: boolean }>('/session')).two_factor_required;
    expect(await codeOf(await require(uma, true))).toEqual([403, 'not_permitted']);
    await enroll(gus, 'gus@example.org');
    for (let twice = 0; twice < 2; twice++) expect((await require(gus, true)).status).toBe(200);
    expect(await gus.ask('/account')).toMatchObject({ require_two_factor: true });
    expect([await isTold(gus), await isTold(uma), await isTold(ada)]).toEqual([false, true, false]);
    for (const path of ['/keys', '/tasks', '/usage', '/webhooks/endpoints', '/models']) {
      expect([path, await codeOf(await uma.call(path))]).toEqual([path, [403, 'two_factor_required']]);
    }
    expect(await codeOf(await uma.call('/keys', { body: { name: 'way around' } }))).toEqual([
      403,
      'two_factor_required',
    ]);
    // A new session knows as much, and a passkey would not change that the password is enough.
    const next = new Browser(platform.url);
    expect((await enter('uma@example.org', next)).status).toBe(200);
    expect(await codeOf(await next.call('/keys'))).toEqual([403, 'two_factor_required']);
    await enroll(next, 'uma@example.org');
    for (const browser of [next, uma]) {
      expect(await isTold(browser)).toBe(false);
      expect((await browser.call('/keys')).status).toBe(200);
    }
    // Who has no password has nothing to protect by a code.
    const sam = await invited('sam@example.org', 'member');
    expect(await isTold(sam)).toBe(true);
    await platform.pool.query(
      `UPDATE people SET password_hash = NULL, openid_issuer = 'https://op.example', openid_subject = 'sam' WHERE email = 'sam@example.org'`,
    );
    expect([await isTold(sam), (await sam.call('/keys')).status]).toEqual([false, 200]);
    const renamed = await gus.call('/account', { method: 'PATCH', body: { name: 'Atelier' } });
    expect(await renamed.json()).toMatchObject({ name: 'Atelier', require_two_factor: true });
    expect((await require(gus, false)).status).toBe(200);
    const { data } = await gus.ask<{ data: { action: string; sentence: string }[] }>('/audit?kind=team');
    expect(
      data.filter(({ action }) => action.startsWith('account.two_factor')).map(({ sentence }) => sentence),
    ).toEqual([
      'made two-factor authentication optional',
      'made two-factor authentication required for everyone in the account',
    ]);
  });
});
