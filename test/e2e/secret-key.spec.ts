import { hashApiKey } from '#accounts/api-keys.js';
import { Browser, linkToken, PASSWORD, signInFirstAdmin } from '../support/console.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';
import { startApi } from '../support/processes.js';

const NEXT = 'the next one 5c8d1f'.padEnd(40, 'y');

describe('O14: another SECRET_KEY', () => {
  let platform: ApiPlatform;
  let ada: Browser;
  beforeAll(async () => {
    platform = await startApiPlatform();
    ada = await signInFirstAdmin(platform);
  }, 120_000);
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

  it('works beside the one before: keys, sessions and one-time links, and keys go over to it', async () => {
    const [before, revoked] = [await platform.newKey(), await platform.newKey({ revoked_at: new Date() })];
    const both = { SECRET_KEY: NEXT, SECRET_KEY_PREVIOUS: platform.secretKey };
    const token = await linkToken(platform, { purpose: 'invite', email: 'bob@example.org', role: 'member' });
    expect(await admits({ SECRET_KEY: NEXT }, before)).toEqual([401, 401]);
    const answers = await admits(both, before, async (url) => {
      const joined = await new Browser(url).call('/join', { body: { token, name: 'Bob', password: PASSWORD } });
      expect(joined.status).toBe(201);
    });
    expect(answers).toEqual([200, 200]);
    expect(await admits(both, revoked)).toEqual([401, 200]);
    expect(await admits({ SECRET_KEY: NEXT }, before)).toEqual([200, 401]);
    // A process that knows both, the other way round, as they all do before they change places.
    expect(await admits({ SECRET_KEY_PREVIOUS: NEXT }, before)).toEqual([200, 200]);
    const { rows } = await platform.pool.query('SELECT 1 FROM api_keys WHERE hash = $1', [
      hashApiKey(platform.secretKey, before),
    ]);
    expect(rows).toHaveLength(1);
  }, 120_000);
});
