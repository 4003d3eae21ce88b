import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { hashApiKey } from '#accounts/key-hashes.js';
import { waitUntil } from '#embedded/wait-until.js';
import { Browser, linkToken, PASSWORD, signInFirstAdmin, signInInvited } from '../support/console.js';
import { patient } from '../support/patience.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';
import { startApi } from '../support/processes.js';

const LAST = 'the last one 91ab7e'.padEnd(40, 'z');
const NEXT = 'the next one 5c8d1f'.padEnd(40, 'y');

describe('O14: another SECRET_KEY', () => {
  let platform: ApiPlatform;
  let ada: Browser;
  beforeAll(async () => {
    platform = await startApiPlatform();
    ada = await signInFirstAdmin(platform);
  });
  afterAll(() => platform.close());

  /** What an API with these secrets lets in: a key, and the first admin's session. */
  async function admits(
    secrets: Readonly<Record<string, string>>,
    key: string,
    more: (url: string) => Promise<void> = () => Promise.resolve(),
  ): Promise<[number, number]> {
    const api = await startApi({ ...platform.settings, ...secrets });
    try {
      const called = await fetch(`${api.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
      const browser = new Browser(api.url);
      browser.cookie = ada.cookie;
      const seen = await browser.call('/session');
      await more(api.url);
      return [called.status, seen.status];
    } finally {
      await api.stop();
    }
  }

  it('works beside the one before: keys, sessions and one-time links, and what is used goes over to it', async () => {
    const before = await platform.newKey();
    const revoked = await platform.newKey({ revoked_at: new Date() });
    const both = { SECRET_KEY: NEXT, SECRET_KEY_PREVIOUS: platform.secretKey };
    const token = await linkToken(platform, { purpose: 'invite', email: 'bob@example.org', role: 'member' });
    expect(await admits({ SECRET_KEY: NEXT }, before)).toEqual([401, 401]);
    const answers = await admits(both, before, async (url) => {
      const joined = await new Browser(url).call('/join', { body: { token, name: 'Bob', password: PASSWORD } });
      expect(joined.status).toBe(201);
    });
    expect(answers).toEqual([200, 200]);
    expect(await admits(both, revoked)).toEqual([401, 200]);
    expect(await admits({ SECRET_KEY: NEXT }, before)).toEqual([200, 200]);
    // A process that knows both, the other way round, as they all do before they change places.
    expect(await admits({ SECRET_KEY_PREVIOUS: NEXT }, before)).toEqual([200, 200]);
    const { rows } = await platform.pool.query('SELECT 1 FROM api_keys WHERE hash = $1', [
      hashApiKey(platform.secretKey, before),
    ]);
    expect(rows).toHaveLength(1);
  });

  /** What doctor says of the rotation, with these secrets. */
  function rotation(secrets: Readonly<Record<string, string>>): Promise<string> {
    const env = { PATH: process.env['PATH'], ...platform.settings, ...secrets };
    const main = resolve('dist', 'apps', 'standalone', 'src', 'main.js');
    return new Promise((done) => {
      execFile(process.execPath, [main, 'doctor'], { env, timeout: patient(100_000) }, (_error, stdout) =>
        done(/^\w+ +secret rotation +.*$/m.exec(stdout)?.[0] ?? stdout),
      );
    });
  }

  it('is swapped in a rolling restart without a refusal, and doctor tells when the one before can go', async () => {
    const ahead = { SECRET_KEY: LAST, SECRET_KEY_PREVIOUS: platform.secretKey };
    const behind = { SECRET_KEY_PREVIOUS: LAST };
    await platform.pool.query('DELETE FROM api_keys');
    const back = await platform.newKey();
    const onward = await platform.newKey();
    const idle = await platform.newKey();
    const grace = await signInInvited(platform, { email: 'grace@example.org', role: 'admin' });
    const [first, second] = await Promise.all(
      [behind, ahead].map((secrets) => startApi({ ...platform.settings, ...secrets })),
    );
    const statuses: number[] = [];
    const use = async (url: string, cookie: string | undefined, as: string): Promise<void> => {
      statuses.push((await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${as}` } })).status);
      const browser = new Browser(url);
      browser.cookie = cookie;
      // Whoever asks seals what is sealed anew.
      for (const path of ['/session', '/webhooks/secrets']) statuses.push((await browser.call(path)).status);
    };
    await use(first!.url, ada.cookie, idle);
    // One balancer, two processes with different settings: each may store what the other has to find.
    // Each key is new to both, so that neither answers from memory.
    for (const [key, ...apis] of [
      [back, second!, first!],
      [onward, first!, second!],
    ] as const) {
      for (const { url } of apis) for (const cookie of [ada.cookie, grace.cookie]) await use(url, cookie, key);
    }
    expect(new Set(statuses)).toEqual(new Set([200]));
    await first!.stop();
    expect(await rotation({ SECRET_KEY: LAST })).toMatch(
      /^fail .* API keys were created with a SECRET_KEY that is not set/,
    );
    expect(await rotation(ahead)).toMatch(/^ok .*keep SECRET_KEY_PREVIOUS, not yet used under SECRET_KEY: API keys: 2/);
    let told = '';
    // The second process remembers a key for up to 5 s; only a lookup after that rehashes it.
    await waitUntil(
      async () => {
        for (const cookie of [ada.cookie, grace.cookie])
          for (const key of [idle, back]) await use(second!.url, cookie, key);
        told = await rotation(ahead);
        return !told.includes('not yet used');
      },
      { timeoutMs: 60_000 },
    );
    expect(told).toMatch(/^ok .*nothing needs SECRET_KEY_PREVIOUS: swap the two, or remove it LINK_TTL_SECONDS/);
    await second!.stop();
    const alone = await startApi({ ...platform.settings, SECRET_KEY: LAST });
    for (const cookie of [ada.cookie, grace.cookie]) await use(alone.url, cookie, idle);
    expect(new Set(statuses)).toEqual(new Set([200]));
    await alone.stop();
  });
});
