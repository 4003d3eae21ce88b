import { ABILITIES } from '#accounts/person-rules.js';
import { Browser, linkToken, PASSWORD, signInInvited } from '../support/console.js';
import { waitForLockWait } from '../support/lock-waits.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';

const codeOf = async (response: Response): Promise<string> =>
  ((await response.json()) as { error: { code: string } }).error.code;

describe('signing in to the console', () => {
  let platform: ApiPlatform;
  const browser = (): Browser => new Browser(platform.url);
  const signIn = (email: string, password: string, who = browser()): Promise<Response> =>
    who.call('/sign-in', { body: { email, password } });

  beforeAll(async () => {
    platform = await startApiPlatform();
  });
  afterAll(() => platform.close());

  it('makes exactly one first admin, however many try with however many links', async () => {
    expect(await browser().ask('/sign-in')).toEqual({
      first_run: true,
      password: true,
      oidc: null,
      email: false,
      passkey_origin: platform.url.replace('127.0.0.1', 'localhost'),
    });
    const shared = await linkToken(platform, { purpose: 'first_admin' });
    const tokens = await Promise.all(
      Array.from({ length: 20 }, async (_, index) =>
        index % 2 === 0 ? shared : await linkToken(platform, { purpose: 'first_admin' }),
      ),
    );
    const answers = await Promise.all(
      tokens.map((token, index) =>
        browser().call('/first-admin', {
          body: { token, email: `Ada${index}@Example.org`, name: 'Ada', password: PASSWORD },
        }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array<number>(19).fill(410)]);
    const refused = answers.find(({ status }) => status === 410)!;
    expect(await codeOf(refused)).toBe('link_used');
    const { rows } = await platform.pool.query<{ password_hash: string }>(
      'SELECT email, role, password_hash FROM people',
    );
    expect(rows).toEqual([
      { email: expect.stringMatching(/^ada\d+@example\.org$/), role: 'admin', password_hash: expect.any(String) },
    ]);
    expect(rows[0]!.password_hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    await platform.pool.query(`UPDATE people SET email = 'ada@example.org'`);
    expect(await browser().ask('/sign-in')).toEqual({
      first_run: false,
      password: true,
      oidc: null,
      email: false,
      passkey_origin: platform.url.replace('127.0.0.1', 'localhost'),
    });
  });

  it('says of a link whether it still works, without using it up', async () => {
    const invite = { purpose: 'invite' as const, email: 'link@example.org', role: 'member' as const };
    const token = await linkToken(platform, invite);
    const check = async (body: object): Promise<number> => (await browser().call('/sign-in/link', { body })).status;
    const open = await browser().call('/sign-in/link', { body: { token, purpose: 'invite' } });
    expect([open.status, await open.json()]).toEqual([200, { email: 'link@example.org', account: 'Default' }]);
    expect(await check({ token, purpose: 'password' })).toBe(410);
    expect(await check({ token, purpose: 'first_admin' })).toBe(410);
    // There is a first admin already, whose link nobody needs.
    expect(await check({ token: await linkToken(platform, { purpose: 'first_admin' }), purpose: 'first_admin' })).toBe(
      410,
    );
    expect(await check({ token, purpose: 'other' })).toBe(400);
    expect((await browser().call('/join', { body: { token, name: 'Lin', password: PASSWORD } })).status).toBe(201);
    const used = await browser().call('/sign-in/link', { body: { token, purpose: 'invite' } });
    expect([used.status, await codeOf(used)]).toEqual([410, 'link_used']);
  });

  it('takes email and password, and keeps the session in a cookie no script and no other site gets', async () => {
    const ada = browser();
    const answer = await signIn(' ADA@example.org', PASSWORD, ada);
    expect(answer.status).toBe(200);
    const session = {
      person: {
        id: expect.stringMatching(/^person_/),
        email: 'ada@example.org',
        name: 'Ada',
        role: 'owner',
        password: true,
        oidc: false,
      },
      account: { id: 'acct_default', name: expect.any(String) },
      accounts: [{ id: 'acct_default', name: expect.any(String), role: 'owner' }],
      operator: true,
      abilities: Object.keys(ABILITIES),
      currency: 'USD',
      image_providers: [],
      two_factor_required: false,
    };
    expect(await answer.json()).toEqual(session);
    expect(answer.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^darkroom_session=[A-Za-z0-9_-]{43}; Max-Age=604800; Path=\/console; HttpOnly; SameSite=Strict$/,
      ),
      // By which strangers' wrong passwords do not lock this browser out.
      expect.stringMatching(
        /^darkroom_browser=[\w.-]+; Max-Age=15552000; Path=\/console\/api\/sign-in; HttpOnly; SameSite=Strict$/,
      ),
    ]);
    expect(answer.headers.get('access-control-allow-origin')).toBeNull();
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(await ada.ask('/session')).toEqual(session);
    const { rows } = await platform.pool.query('SELECT * FROM sessions');
    expect(JSON.stringify(rows)).not.toContain(ada.cookie!.split('=')[1]);
  });

  it('answers an unknown address and a wrong password alike', async () => {
    const wrong = await signIn('ada@example.org', 'x'.repeat(12));
    const unknown = await signIn('eve@example.org', 'x');
    expect([wrong.status, unknown.status]).toEqual([401, 401]);
    const bodies = [await wrong.json(), await unknown.json()] as { error: object }[];
    expect(bodies[0]!.error).toEqual(bodies[1]!.error);
    expect(bodies[0]!.error).toMatchObject({ code: 'sign_in_failed' });
    expect(wrong.headers.get('www-authenticate')).toBeNull();
  });

  it('begins a new session whatever cookie came along, and ends the one that did', async () => {
    const ada = browser();
    ada.cookie = `darkroom_session=${'A'.repeat(43)}`;
    await signIn('ada@example.org', PASSWORD, ada);
    const first = ada.cookie;
    expect(first).not.toContain('AAAAAA');
    await signIn('ada@example.org', PASSWORD, ada);
    expect(ada.cookie).not.toBe(first);
    const old = browser();
    old.cookie = first;
    expect((await old.call('/session')).status).toBe(401);
  });

  it('signs out for good', async () => {
    const ada = browser();
    await signIn('ada@example.org', PASSWORD, ada);
    const cookie = ada.cookie;
    const answer = await ada.call('/sign-out', { method: 'POST' });
    expect(answer.status).toBe(204);
    expect(answer.headers.getSetCookie()[0]).toMatch(/^darkroom_session=; Max-Age=0; Path=\/console;/);
    ada.cookie = cookie;
    expect(await codeOf(await ada.call('/session'))).toBe('not_signed_in');
  });

  it.each<[string, Record<string, string>]>([
    ['without its header', { 'x-darkroom-csrf': '' }],
    ['from another site', { origin: 'https://evil.example' }],
    ['from another port of this machine', { origin: 'http://127.0.0.1:1' }],
    ['from a sandboxed page', { origin: 'null' }],
    ['from another site that this host seems to be', { origin: 'http://evil.example', host: 'evil.example' }],
  ])('refuses a change %s', async (_case, headers) => {
    const ada = browser();
    const refused = await ada.call('/sign-in', { body: { email: 'ada@example.org', password: PASSWORD }, headers });
    expect(refused.status).toBe(403);
    expect(await codeOf(refused)).toBe('forbidden_origin');
    expect(refused.headers.getSetCookie()).toEqual([]);
  });

  it('refuses a change that says no origin at all', async () => {
    const answer = await fetch(`${platform.url}/console/api/sign-out`, {
      method: 'POST',
      headers: { 'x-darkroom-csrf': '1' },
    });
    expect(answer.status).toBe(403);
  });

  it('grants no other site a preflight, and shows it no answer', async () => {
    const preflight = await fetch(`${platform.url}/console/api/sign-in`, {
      method: 'OPTIONS',
      headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' },
    });
    const unknown = await fetch(`${platform.url}/console/api/nothing`);
    for (const { headers } of [preflight, unknown])
      expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
    expect(preflight.ok).toBe(false);
  });

  it('keeps sessions and keys apart', async () => {
    const ada = browser();
    await signIn('ada@example.org', PASSWORD, ada);
    expect((await platform.call('/v1/tasks', { key: null, headers: { cookie: ada.cookie! } })).status).toBe(401);
    const withKey = await browser().call('/session', { headers: { authorization: `Bearer ${platform.key}` } });
    expect(await codeOf(withKey)).toBe('not_signed_in');
  });

  it('ends sessions that were idle for 12 hours, or that are older than a week', async () => {
    for (const change of [`last_seen_at = now() - interval '12 hours'`, `expires_at = now() - interval '1 s'`]) {
      const ada = await signInInvited(platform, { email: `idle${change.length}@example.org`, role: 'member' });
      expect((await ada.call('/session')).status).toBe(200);
      await platform.pool.query(`UPDATE sessions SET ${change}`);
      expect((await ada.call('/session')).status).toBe(401);
    }
  });

  it('lists sessions and ends one; those of others are not there', async () => {
    const phone = await signInInvited(platform, { email: 'bob@example.org', role: 'member' });
    const laptop = new Browser(platform.url);
    await signIn('bob@example.org', PASSWORD, laptop);
    const { data } = await laptop.ask<{ data: { id: string; current: boolean }[] }>('/sessions');
    expect(data.map(({ current }) => current)).toEqual([true, false]);
    const carol = await signInInvited(platform, { email: 'carol@example.org', role: 'admin' });
    expect((await carol.call(`/sessions/${data[1]!.id}`, { method: 'DELETE' })).status).toBe(404);
    expect((await laptop.call(`/sessions/${data[1]!.id}`, { method: 'DELETE' })).status).toBe(204);
    expect((await phone.call('/session')).status).toBe(401);
    expect((await laptop.call('/session')).status).toBe(200);
  });

  it('a new password ends the other sessions, and so does a link to choose one', async () => {
    const dora = await signInInvited(platform, { email: 'dora@example.org', role: 'member' });
    const other = browser();
    await signIn('dora@example.org', PASSWORD, other);
    const change = (current: string) =>
      other.call('/password', { body: { current_password: current, password: `${PASSWORD} 2` } });
    expect(await codeOf(await change('not this one'))).toBe('sign_in_failed');
    expect((await change(PASSWORD)).status).toBe(204);
    expect((await dora.call('/session')).status).toBe(401);
    const token = await linkToken(platform, { purpose: 'password', email: 'dora@example.org' });
    await dora.ask('/reset-password', { body: { token, password: `${PASSWORD} 3` } });
    expect((await other.call('/session')).status).toBe(401);
    expect((await dora.call('/session')).status).toBe(200);
    expect((await browser().call('/reset-password', { body: { token, password: PASSWORD } })).status).toBe(410);
    expect((await signIn('dora@example.org', `${PASSWORD} 2`)).status).toBe(401);
    expect((await signIn('dora@example.org', `${PASSWORD} 3`)).status).toBe(200);
  });

  it('lets nobody in who is disabled, and says no more than of a wrong password', async () => {
    const finn = await signInInvited(platform, { email: 'finn@example.org', role: 'member' });
    await platform.pool.query(`UPDATE people SET disabled_at = now() WHERE email = 'finn@example.org'`);
    expect((await finn.call('/session')).status).toBe(401);
    expect(await codeOf(await signIn('finn@example.org', PASSWORD))).toBe('sign_in_failed');
  });

  it('takes a link for its own purpose alone, once, for a day', async () => {
    const join = (token: string) => browser().call('/join', { body: { token, name: 'Gil', password: PASSWORD } });
    const invite = () => linkToken(platform, { purpose: 'invite', email: 'gil@example.org', role: 'member' });
    expect((await join(await linkToken(platform, { purpose: 'password', email: 'ada@example.org' }))).status).toBe(410);
    const late = await invite();
    await platform.pool.query(
      `UPDATE sign_in_links SET expires_at = now() - interval '1 s' WHERE email = 'gil@example.org'`,
    );
    const expired = await join(late);
    expect([expired.status, await expired.text()]).toEqual([410, expect.stringContaining('It has expired.')]);
    const token = await invite();
    const answers = await Promise.all([join(token), join(token), join(token)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 410, 410]);
    for (const late of answers.filter(({ status }) => status === 410))
      expect(await late.text()).toContain('It was already used. Each link works only once.');
    expect(await (await join(token)).text()).toContain('It was already used.');
    expect(await (await join('A'.repeat(43))).text()).toContain('A newer link has replaced it, or it has expired.');
  });

  it.each<[object, string, string]>([
    [{ email: 'a@b.c', password: 'p', admin: true }, 'unsupported_parameter', 'admin'],
    [{ email: 'a@b.c' }, 'missing_required_parameter', 'password'],
    [{ email: ['a'], password: 'p' }, 'invalid_type', 'email'],
    [{ email: 'a@b.c', password: 'p'.repeat(300) }, 'string_above_max_length', 'password'],
  ])('refuses %j', async (body, code, param) => {
    const answer = await browser().call('/sign-in', { body });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ type: 'error', error: { code, param } });
  });

  it('reads no password from an address, which would stand in logs and histories', async () => {
    const query = new URLSearchParams({ email: 'ada@example.org', password: PASSWORD });
    const answer = await browser().call(`/sign-in?${query.toString()}`, { body: {} });
    expect(await answer.json()).toMatchObject({ error: { code: 'missing_required_parameter' } });
    expect(answer.headers.getSetCookie()).toEqual([]);
  });

  it('wants passwords of at least 12 characters', async () => {
    const answer = await browser().call('/join', { body: { token: 'A'.repeat(43), name: 'Hal', password: 'short' } });
    expect(await answer.json()).toMatchObject({ error: { code: 'invalid_value', param: 'password' } });
  });

  it('wants passwords that are hard to guess, and says why one is not', async () => {
    const token = await linkToken(platform, { purpose: 'invite', email: 'lovelace@example.org', role: 'member' });
    const join = (password: string) => browser().call('/join', { body: { token, name: 'Hal', password } });
    for (const [password, why] of [
      ['password1234', 'It is similar to a common password.'],
      ['lovelace@example.org', 'It contains your name, your email address'],
      ['hal hal hal hal hal', 'It repeats a few characters.'],
    ] as const) {
      const answer = await join(password);
      expect(answer.status).toBe(400);
      const { error } = (await answer.json()) as { error: { code: string; param: string; message: string } };
      expect(error).toMatchObject({ code: 'invalid_value', param: 'password' });
      expect(error.message).toContain(why);
    }
    expect((await join('umbrella sandwiches in june')).status).toBe(201);
  });

  it('judges passwords for links that work alone: it takes time that nobody may have for nothing', async () => {
    const body = { token: 'A'.repeat(43), name: 'Hal', email: 'hal@example.org', password: 'password1234' };
    for (const path of ['/first-admin', '/join', '/reset-password']) {
      const { name, email, ...rest } = body;
      const named = { ...rest, ...(path !== '/reset-password' && { name }), ...(path === '/first-admin' && { email }) };
      const answer = await browser().call(path, { body: named });
      expect([path, answer.status, await codeOf(answer)]).toEqual([path, 410, 'link_used']);
    }
  });

  it('stops guessing at one address after ten attempts, even the right password then', async () => {
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 10; attempt++) statuses.push((await signIn('ivy@example.org', 'a guess')).status);
    expect(new Set(statuses)).toEqual(new Set([401]));
    const stopped = await signIn('IVY@example.org', 'a guess');
    expect(stopped.status).toBe(429);
    expect(Number(stopped.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await signIn('dora@example.org', `${PASSWORD} 3`)).status).toBe(200);
  });

  it('4.1: counts an address by its one spelling, so that no variant of it gets another ten attempts', async () => {
    const spellings = ['jo@example.org', ' JO@example.org ', 'ｊｏ@example.org', 'Jo@EXAMPLE.org', 'jo@example。org'];
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 12; attempt++) {
      statuses.push((await signIn(spellings[attempt % 4]!, 'a guess')).status);
    }
    expect(statuses).toEqual([...Array<number>(10).fill(401), 429, 429]);
    // A full stop of another script is another address.
    expect((await signIn(spellings[4]!, 'a guess')).status).toBe(401);
  });

  it.each(['d\u0000ora@example.org', 'dora@example.org\u0000', 'd\u200bora@example.org', 'dora\n@example.org', 'dora'])(
    '4.1: refuses the address %j, and looks nobody up for it',
    async (email) => {
      const answer = await signIn(email, `${PASSWORD} 3`);
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({ error: { code: 'invalid_value', param: 'email' } });
      const token = 'A'.repeat(43);
      const founder = await browser().call('/first-admin', { body: { token, email, name: 'Eve', password: PASSWORD } });
      expect(founder.status).toBe(400);
    },
  );

  it('writes no password, token or address of a person to its log, and keeps the audit log', async () => {
    const output = platform.api.output();
    for (const secret of [PASSWORD, 'ada@example.org', 'darkroom_session']) expect(output).not.toContain(secret);
    const { rows } = await platform.pool.query('SELECT DISTINCT action FROM audit_log ORDER BY action');
    expect(rows.map(({ action }) => action as string)).toEqual([
      ...['person.became_first_admin', 'person.changed_password', 'person.joined', 'person.reset_password'],
      ...['person.sign_in_failed', 'person.signed_in', 'person.signed_out', 'session.ended'],
    ]);
  });

  it('lets nobody in with a password that is changed while they sign in', async () => {
    const email = 'eve@example.org';
    await signInInvited(platform, { email, role: 'member' });
    const thief = browser();
    const change = await platform.pool.connect();
    try {
      await change.query('BEGIN');
      await change.query('UPDATE people SET password_hash = NULL WHERE email = $1', [email]);
      const entering = signIn(email, PASSWORD, thief);
      await waitForLockWait(platform.pool);
      await change.query('DELETE FROM sessions USING people WHERE people.id = person_id AND email = $1', [email]);
      await change.query('COMMIT');
      expect((await entering).status).toBe(401);
    } finally {
      change.release();
    }
    expect((await thief.call('/session')).status).toBe(401);
    const text = 'SELECT 1 FROM sessions JOIN people ON people.id = person_id WHERE email = $1';
    expect((await platform.pool.query(text, [email])).rowCount).toBe(0);
  });

  it('keeps the password that a link sets while somebody changes the one before', async () => {
    const email = 'moe@example.org';
    const owner = browser();
    const thief = await signInInvited(platform, { email, role: 'member' });
    const token = await linkToken(platform, { purpose: 'password', email });
    const hold = await platform.pool.connect();
    try {
      await hold.query('BEGIN');
      await hold.query('SELECT 1 FROM people WHERE email = $1 FOR UPDATE', [email]);
      const reset = owner.call('/reset-password', { body: { token, password: `${PASSWORD} 2` } });
      await waitForLockWait(platform.pool);
      const change = thief.call('/password', { body: { current_password: PASSWORD, password: `${PASSWORD} 3` } });
      await waitForLockWait(platform.pool, 2);
      await hold.query('COMMIT');
      expect((await reset).status).toBe(201);
      const refused = await change;
      expect([refused.status, await codeOf(refused)]).toEqual([401, 'sign_in_failed']);
    } finally {
      hold.release();
    }
    expect([(await owner.call('/session')).status, (await thief.call('/session')).status]).toEqual([200, 401]);
    expect((await signIn(email, `${PASSWORD} 2`)).status).toBe(200);
  });

  it('ends links for a new password once the password has changed', async () => {
    const email = 'kay@example.org';
    const kay = await signInInvited(platform, { email, role: 'member' });
    const link = () => linkToken(platform, { purpose: 'password', email, role: 'member' });
    const before = await link();
    const used = await link();
    await kay.ask('/password', { body: { current_password: PASSWORD, password: 'umbrella sandwiches in june' } });
    const reset = (token: string) =>
      browser().call('/reset-password', { body: { token, password: 'seven marble staircases' } });
    for (const ended of [before, used]) expect((await reset(ended)).status).toBe(410);
    expect(await (await reset(used)).text()).toContain('It was already used, or the password has changed since.');
    expect((await reset(await link())).status).toBe(201);
  });
});
