import { TextSealer } from '#secrets/sealed-text.js';
import { waitUntil } from '#embedded/wait-until.js';
import { Authenticator } from '../support/authenticator.js';
import { Browser, PASSWORD, signInFirstAdmin, signInInvited } from '../support/console.js';
import { freePort } from '../support/free-port.js';
import { waitForLockWait } from '../support/lock-waits.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';
import { startApi } from '../support/processes.js';

interface Passkey {
  readonly id: string;
  readonly name: string;
  readonly last_used_at: string | null;
}
interface Options {
  readonly options: { challenge: string; user: { id: string }; excludeCredentials: { id: string }[] };
}

describe('passkeys', () => {
  let platform: ApiPlatform;
  let ada: Browser;
  /** Where passkeys work; the API answers at 127.0.0.1 too. */
  let origin: string;
  const codeOf = async (response: Response): Promise<[number, string]> => [
    response.status,
    ((await response.json()) as { error: { code: string } }).error.code,
  ];
  const REFUSED = [401, 'sign_in_failed'];
  const ask = (browser: Browser, password = PASSWORD) => browser.call('/passkeys/options', { body: { password } });
  /** The challenge replaces the session's cookie, so both are sent from here on. */
  const begin = async (browser: Browser): Promise<{ browser: Browser; options: Options['options'] }> => {
    const next = new Browser(platform.url);
    next.cookie = browser.cookie;
    const { options } = await next.ask<Options>('/passkeys/options', { body: { password: PASSWORD } });
    next.cookie = `${browser.cookie}; ${next.cookie}`;
    return { browser: next, options };
  };
  const add = (browser: Browser, response: object, name = 'Laptop') =>
    browser.call('/passkeys', { body: { name, response } });
  const enroll = async (session: Browser, counter = 0): Promise<{ authenticator: Authenticator; passkey: Passkey }> => {
    const authenticator = new Authenticator();
    const { browser, options } = await begin(session);
    const response = authenticator.create(options.challenge, { origin, counter });
    return { authenticator, passkey: await browser.ask<Passkey>('/passkeys', { body: { name: 'Laptop', response } }) };
  };
  /** A browser that has a challenge to sign. */
  const atSignIn = async (): Promise<{ browser: Browser; challenge: string }> => {
    const browser = new Browser(platform.url);
    const { options } = await browser.ask<Options>('/sign-in/passkey/options', { method: 'POST' });
    return { browser, challenge: options.challenge };
  };
  const signIn = (browser: Browser, response: object) => browser.call('/sign-in/passkey', { body: { response } });
  const tryWith = async (authenticator: Authenticator, answering: object = {}): Promise<Response> => {
    const { browser, challenge } = await atSignIn();
    return await signIn(browser, authenticator.get(challenge, { origin, ...answering }));
  };
  const join = (name: string, role: 'member' | 'admin' = 'member') =>
    signInInvited(platform, { email: `${name}@example.org`, role });
  const idOf = async (browser: Browser): Promise<string> =>
    (await browser.ask<{ person: { id: string } }>('/session')).person.id;

  beforeAll(async () => {
    const port = await freePort();
    origin = `http://localhost:${port}`;
    platform = await startApiPlatform({ PORT: String(port), PUBLIC_URL: origin, TRUSTED_PROXIES: '127.0.0.1' });
    ada = await signInFirstAdmin(platform);
  });
  afterAll(() => platform.close());

  it('sign in at a browser that has signed in before, whatever strangers do at its address', async () => {
    const { authenticator } = await enroll(await join('ned'));
    const headers = { 'x-forwarded-for': '198.51.100.7' };
    const options = (cookie = '') =>
      new Browser(platform.url).call('/sign-in/passkey/options', { method: 'POST', headers: { ...headers, cookie } });
    const kept = (answer: Response, name: string): string =>
      answer.headers
        .getSetCookie()
        .find((cookie) => cookie.startsWith(`${name}=`))!
        .split(';', 1)[0]!;
    const finish = async (begun: Response, known = ''): Promise<Response> => {
      const { options } = (await begun.json()) as Options;
      return await new Browser(platform.url).call('/sign-in/passkey', {
        body: { response: authenticator.get(options.challenge, { origin }) },
        headers: { ...headers, cookie: `${known}; ${kept(begun, 'darkroom_passkey')}` },
      });
    };
    const known = kept(await finish(await options()), 'darkroom_browser');
    const waiting = await options();
    for (let n = 0; n < 100; n++) {
      await options();
      await new Browser(platform.url).call('/join', {
        headers,
        body: { token: 'a'.repeat(43), name: 'Eve', password: PASSWORD },
      });
    }
    expect([(await options()).status, (await finish(waiting)).status]).toEqual([429, 429]);
    const begun = await options(known);
    expect(begun.status).toBe(200);
    expect((await finish(begun, known)).status).toBe(200);
  });

  it('are added with the password, and sign in without an address, a password, or a code', async () => {
    const bob = await join('bob');
    expect(await codeOf(await ask(bob, 'not the password'))).toEqual(REFUSED);
    const { authenticator, passkey } = await enroll(bob);
    expect(passkey).toMatchObject({ name: 'Laptop', synced: false, last_used_at: null });
    expect((await begin(bob)).options.excludeCredentials.map(({ id }) => id)).toEqual([authenticator.id]);
    const { browser, challenge } = await atSignIn();
    const answer = await signIn(browser, authenticator.get(challenge, { origin, userHandle: await idOf(bob) }));
    expect(answer.status).toBe(200);
    expect(await browser.ask('/session')).toMatchObject({ person: { email: 'bob@example.org' } });
    const { data } = await bob.ask<{ data: Passkey[] }>('/passkeys');
    expect(data).toEqual([{ ...passkey, last_used_at: expect.any(String) }]);
    const { data: log } = await ada.ask<{ data: { sentence: string }[] }>('/audit?kind=sign_in');
    expect(log.map(({ sentence }) => sentence)).toEqual(
      expect.arrayContaining(['signed in with a passkey', 'added the passkey “Laptop”']),
    );
  });

  it('are refused with a wrong origin, domain, key, person or challenge, or without a verified user', async () => {
    const kim = await join('kim');
    const { authenticator } = await enroll(kim);
    const { authenticator: another } = await enroll(await join('lee'));
    for (const wrong of [
      { origin: 'https://evil.example' },
      { origin: platform.url },
      { rpId: 'evil.example' },
      { verified: false },
      { userHandle: await idOf(ada) },
    ]) {
      expect([wrong, await codeOf(await tryWith(authenticator, wrong))]).toEqual([wrong, REFUSED]);
    }
    const { browser, challenge } = await atSignIn();
    // Signed by another key than that of the credential that it names.
    const forged = { ...another.get(challenge, { origin }), id: authenticator.id, rawId: authenticator.id };
    expect(await codeOf(await signIn(browser, forged))).toEqual(REFUSED);
    expect(await codeOf(await tryWith(new Authenticator()))).toEqual(REFUSED);
    const { challenge: foreign } = await atSignIn();
    const { browser: own } = await atSignIn();
    expect(await codeOf(await signIn(own, authenticator.get(foreign, { origin })))).toEqual(REFUSED);
    expect(await codeOf(await signIn(new Browser(platform.url), authenticator.get(foreign, { origin })))).toEqual(
      REFUSED,
    );
    const garbage = { id: authenticator.id, response: { clientDataJSON: 'e30', authenticatorData: 7 } };
    expect(await codeOf(await signIn((await atSignIn()).browser, garbage))).toEqual(REFUSED);
    expect((await signIn((await atSignIn()).browser, { id: { $gt: '' } })).status).toBe(400);
    expect((await tryWith(authenticator)).status).toBe(200);
    // Written in the background, so that an answer takes no longer for it.
    const isTold = async (): Promise<boolean> => {
      const { data } = await ada.ask<{ data: { sentence: string }[] }>('/audit?kind=sign_in');
      return data.some(({ sentence }) => sentence === 'failed to sign in with a passkey of “Somebody”');
    };
    expect(await waitUntil(isTold, { timeoutMs: 30_000 })).toBe(true);
  });

  it('do not answer a challenge that is older than five minutes', async () => {
    const { authenticator } = await enroll(await join('max'));
    const sealer = new TextSealer({ secretKey: platform.secretKey }, 'openid sign-in');
    const withEnd = async (until: number): Promise<Response> => {
      const { browser, challenge } = await atSignIn();
      const [name = '', keyId = '', sealed = ''] = (browser.cookie ?? '').split(/[=.]/);
      const kept = JSON.parse(sealer.open('passkey sign-in', { keyId, sealed: Buffer.from(sealed, 'base64url') })) as {
        until: number;
      };
      expect(Math.abs(kept.until - Date.now() - 5 * 60_000)).toBeLessThan(60_000);
      const other = sealer.seal('passkey sign-in', JSON.stringify({ ...kept, until }));
      browser.cookie = `${name}=${other.keyId}.${other.sealed.toString('base64url')}`;
      return await signIn(browser, authenticator.get(challenge, { origin }));
    };
    expect(await codeOf(await withEnd(Date.now() - 1))).toEqual(REFUSED);
    expect((await withEnd(Date.now() + 60_000)).status).toBe(200);
  });

  it('answer a challenge once, also when the same answer comes twice at once', async () => {
    const { authenticator } = await enroll(await join('mia'));
    const { browser, challenge } = await atSignIn();
    const cookie = browser.cookie!;
    const again = (): Browser => Object.assign(new Browser(platform.url), { cookie });
    const response = authenticator.get(challenge, { origin });
    const answers = await Promise.all([again(), again(), again()].map((one) => signIn(one, response)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401]);
    expect(await codeOf(await signIn(again(), response))).toEqual(REFUSED);
    const { rows } = await platform.pool.query<{ minutes: number }>(
      `SELECT extract(epoch FROM max(expires_at) - now()) / 60 AS minutes FROM used_passkey_challenges`,
    );
    expect(Number(rows[0]!.minutes)).toBeLessThanOrEqual(5);
    expect(Number(rows[0]!.minutes)).toBeGreaterThan(3);
    // A challenge for a new passkey signs nobody in, and the other way round.
    const bea = await join('bea');
    const { browser: adding, options } = await begin(bea);
    expect(await codeOf(await signIn(adding, authenticator.get(options.challenge, { origin })))).toEqual(REFUSED);
    const { browser: entering, challenge: other } = await atSignIn();
    entering.cookie = `${bea.cookie}; ${entering.cookie}`;
    const credential = new Authenticator().create(other, { origin });
    expect(await codeOf(await add(entering, credential))).toEqual([400, 'invalid_value']);
  });

  it('are refused when the authenticator counts backward, as a copy of it would', async () => {
    const { authenticator } = await enroll(await join('nia'), 5);
    expect((await tryWith(authenticator, { counter: 6 })).status).toBe(200);
    for (const counter of [6, 5, 0]) {
      expect([counter, await codeOf(await tryWith(authenticator, { counter }))]).toEqual([counter, REFUSED]);
    }
    expect((await tryWith(authenticator, { counter: 9 })).status).toBe(200);
  });

  it('are not added by an answer that is wrong, of another session, with certificates, or twice', async () => {
    const ola = await join('ola');
    const refusal = [400, 'invalid_value'];
    for (const wrong of [{ origin: 'https://evil.example' }, { rpId: 'evil.example' }, { verified: false }]) {
      const { browser, options } = await begin(ola);
      const response = new Authenticator().create(options.challenge, { origin, ...wrong });
      expect([wrong, await codeOf(await add(browser, response))]).toEqual([wrong, refusal]);
    }
    const { browser, options } = await begin(ola);
    const attested = new Authenticator().create(options.challenge, { origin }, [Buffer.alloc(64)]);
    expect(await codeOf(await add(browser, attested))).toEqual(refusal);
    // The challenge was made for Ola's session.
    const { browser: of, options: hers } = await begin(ola);
    of.cookie = `${(await join('pia')).cookie}; ${of.cookie!.split('; ')[1]}`;
    expect(await codeOf(await add(of, new Authenticator().create(hers.challenge, { origin })))).toEqual(refusal);
    const { authenticator } = await enroll(ola);
    const { browser: second, options: next } = await begin(await join('quinn'));
    const taken = authenticator.create(next.challenge, { origin });
    expect(await codeOf(await add(second, taken))).toEqual([409, 'already_exists']);
    expect((await ola.ask<{ data: Passkey[] }>('/passkeys')).data).toHaveLength(1);
  });

  it('are not added by a session that a new password has just ended', async () => {
    const thief = await join('uri');
    const owner = new Browser(platform.url);
    await owner.ask('/sign-in', { body: { email: 'uri@example.org', password: PASSWORD } });
    const { browser, options } = await begin(thief);
    const hold = await platform.pool.connect();
    try {
      await hold.query('BEGIN');
      // Where the request takes its challenge, after its session was found.
      await hold.query('LOCK TABLE used_passkey_challenges IN SHARE MODE');
      const adding = add(browser, new Authenticator().create(options.challenge, { origin }));
      await waitForLockWait(platform.pool);
      await owner.ask('/password', { body: { current_password: PASSWORD, password: `${PASSWORD} 2` } });
      await hold.query('COMMIT');
      expect(await codeOf(await adding)).toEqual([401, 'not_signed_in']);
    } finally {
      hold.release();
    }
    expect((await owner.ask<{ data: Passkey[] }>('/passkeys')).data).toEqual([]);
  });

  it('are renamed and removed by their owner alone, and by a reset of two-factor authentication', async () => {
    const rob = await join('rob');
    const { authenticator, passkey } = await enroll(rob);
    const other = await join('sue');
    const rename = (who: Browser) => who.call(`/passkeys/${passkey.id}`, { method: 'PATCH', body: { name: 'Phone' } });
    const remove = (who: Browser) => who.call(`/passkeys/${passkey.id}`, { method: 'DELETE' });
    expect([(await rename(other)).status, (await remove(other)).status]).toEqual([404, 404]);
    expect(await (await rename(rob)).json()).toMatchObject({ name: 'Phone' });
    expect([(await remove(rob)).status, (await remove(rob)).status]).toEqual([204, 404]);
    expect(await codeOf(await tryWith(authenticator))).toEqual(REFUSED);
    const { authenticator: lost } = await enroll(rob);
    const id = await idOf(rob);
    await ada.ask(`/people/${id}/two-factor`, { method: 'DELETE' });
    expect(await codeOf(await tryWith(lost))).toEqual(REFUSED);
    expect((await ada.call(`/people/${id}/two-factor`, { method: 'DELETE' })).status).toBe(404);
  });

  it('sign nobody in who is disabled or deleted', async () => {
    const tom = await join('tom');
    const { authenticator } = await enroll(tom);
    const id = await idOf(tom);
    const disable = (disabled: boolean) => ada.ask(`/people/${id}`, { method: 'PATCH', body: { disabled } });
    await disable(true);
    expect(await codeOf(await tryWith(authenticator))).toEqual(REFUSED);
    await disable(false);
    expect((await tryWith(authenticator)).status).toBe(200);
    await ada.ask(`/people/${id}/delete`, { body: { name: 'Somebody' } });
    expect((await platform.pool.query('SELECT 1 FROM passkeys WHERE person_id = $1', [id])).rowCount).toBe(0);
  });

  it('are not offered over plain http, and refused there', async () => {
    const { PORT: _port, ...settings } = platform.settings;
    const plain = await startApi({ ...settings, PUBLIC_URL: 'http://images.example.org' });
    const browser = new Browser(plain.url);
    expect(await browser.ask('/sign-in')).toMatchObject({ passkey_origin: null });
    expect(await ada.ask('/sign-in')).toMatchObject({ passkey_origin: origin });
    expect(await codeOf(await browser.call('/sign-in/passkey/options', { method: 'POST' }))).toEqual([
      403,
      'not_permitted',
    ]);
    await plain.stop();
  });
});
