import { request } from 'node:http';
import { waitUntil } from '#embedded/wait-until.js';
import { newApiKey } from '#accounts/api-keys.js';
import { newToken } from '#accounts/tokens.js';
import { Browser, signInFirstAdmin, signInInvited } from '../support/console.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';

const SESSIONS = 400;
/** One network's keys are looked up one after the other, and each waits for 10 s at most. */
const KEYS = 40;

describe('unknown sessions', () => {
  let platform: ApiPlatform;
  beforeAll(async () => {
    platform = await startApiPlatform({ TRUSTED_PROXIES: '127.0.0.0/8', UNKNOWN_KEYS_WAITING: '20' });
  });
  afterAll(() => platform.close());

  /** The status for a session's cookie; `onSent`: once all of the request is in the system's hands. */
  function statusOf(cookie: string, network: string, onSent: () => void): Promise<number | undefined> {
    return new Promise((resolve, reject) => {
      const headers = { cookie, 'x-forwarded-for': network };
      const asked = request(`${platform.url}/console/api/session`, { headers, agent: false }, (response) => {
        response.resume().once('end', () => resolve(response.statusCode));
      });
      asked.on('error', reject).on('finish', onSent).end();
    });
  }

  it('M4: in any number keep out nobody who is signed in, and wait in line like unknown keys', async () => {
    const ada = await signInFirstAdmin(platform);
    const call = (cookie: string, network: string): Promise<Response> => {
      const browser = new Browser(platform.url);
      browser.cookie = cookie;
      return browser.call('/session', { headers: { 'x-forwarded-for': network } });
    };
    const own = ada.cookie ?? '';
    expect((await call(own, '203.0.113.7')).status).toBe(200);
    // Together, however slowly this machine sends them: one at a time would never have to wait.
    let sent = 0;
    platform.api.kill('SIGSTOP');
    const flood = Array.from({ length: SESSIONS }, () =>
      statusOf(`darkroom_session=${newToken()}`, '203.0.113.7', () => sent++),
    );
    const areSent = await waitUntil(() => sent === SESSIONS, { timeoutMs: 30_000 });
    platform.api.kill('SIGCONT');
    expect(areSent).toBe(true);
    expect((await call(own, '203.0.113.7')).status).toBe(200);
    const neighbor = await signInInvited(platform, { email: 'mo@example.org', role: 'member' });
    expect((await call(neighbor.cookie ?? '', '198.51.100.1')).status).toBe(200);
    const statuses = await Promise.all(flood);
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
    const own = lines.filter(({ event, status }) => event === 'request' && status === 401);
    // One, or two when the log's minute ended in between; the others are counted.
    expect([1, 2]).toContain(own.length);
    // From here, whoever started the API looked whether it was ready before it was.
    const fromElsewhere = lines.filter(({ network }) => network !== '127.0.0.1');
    const counted = fromElsewhere.filter(({ event }) => event === 'requests.refused');
    for (const line of counted) expect(line).toMatchObject({ network: '203.0.113.7', status: 401 });
    expect(counted.reduce((sum, { count = 0 }) => sum + count, own.length)).toBe(KEYS);
  });
});
