import { newApiKey } from '#accounts/api-keys.js';
import { newToken } from '#accounts/tokens.js';
import { Browser, signInFirstAdmin, signInInvited } from '../support/console.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';

const SESSIONS = 400;
/** One network's keys are looked up one after the other, and each waits for 10 s at most. */
const KEYS = 100;

describe('unknown sessions', () => {
  let platform: ApiPlatform;
  beforeAll(async () => {
    platform = await startApiPlatform({ TRUSTED_PROXIES: '127.0.0.0/8', UNKNOWN_KEYS_WAITING: '20' });
  });
  afterAll(() => platform.close());

  it('M4: in any number keep out nobody who is signed in, and wait in line like unknown keys', async () => {
    const ada = await signInFirstAdmin(platform);
    const call = (cookie: string, network: string): Promise<Response> => {
      const browser = new Browser(platform.url);
      browser.cookie = cookie;
      return browser.call('/session', { headers: { 'x-forwarded-for': network } });
    };
    const own = ada.cookie ?? '';
    expect((await call(own, '203.0.113.7')).status).toBe(200);
    const flood = Array.from({ length: SESSIONS }, () => call(`darkroom_session=${newToken()}`, '203.0.113.7'));
    expect((await call(own, '203.0.113.7')).status).toBe(200);
    const neighbor = await signInInvited(platform, { email: 'mo@example.org', role: 'member' });
    expect((await call(neighbor.cookie ?? '', '198.51.100.1')).status).toBe(200);
    const statuses = (await Promise.all(flood)).map(({ status }) => status);
    expect([...new Set(statuses)].sort()).toEqual([401, 429]);
    expect((await new Browser(platform.url).call('/sign-in')).status).toBe(200);
  });
});

describe('unknown keys', () => {
  let platform: ApiPlatform;
  beforeAll(async () => {
    platform = await startApiPlatform({ TRUSTED_PROXIES: '127.0.0.0/8' });
  });
  afterAll(() => platform.close());

  const call = (key: string, network: string): Promise<Response> =>
    platform.call('/v1/tasks', { key, headers: { 'x-forwarded-for': network } });

  it('M4: in any number keep out nobody who has a key, and fill no log', async () => {
    const flood = Array.from({ length: KEYS }, () => call(newApiKey(), '203.0.113.7'));
    const fresh = await platform.newKey();
    const neighbor = await platform.newKey();
    expect((await call(platform.key, '203.0.113.7')).status).toBe(200);
    expect((await call(fresh, '198.51.100.1')).status).toBe(200);
    expect((await call(neighbor, '203.0.113.7')).status).toBe(200);
    const answers = await Promise.all(flood);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]));

    await platform.api.stop();
    const lines = platform.api
      .output()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as { event: string; status?: number; network?: string; count?: number });
    expect(lines.filter(({ event, status }) => event === 'request' && status === 401)).toHaveLength(1);
    // From here, whoever started the API looked whether it was ready before it was.
    const fromElsewhere = lines.filter(({ network }) => network !== '127.0.0.1');
    expect(fromElsewhere.filter(({ event }) => event === 'requests.refused')).toMatchObject([
      { network: '203.0.113.7', status: 401, count: KEYS - 1 },
    ]);
  });
});
