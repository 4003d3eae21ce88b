import type { Pool } from 'pg';
import { totpCode } from '#accounts/totp.js';
import { waitUntil } from '#embedded/wait-until.js';
import { Browser, PASSWORD, signInFirstAdmin, signInInvited } from '../support/console.js';
import { FaultProxy } from '../support/fault-proxy.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';
import { startApi, type TestProcess } from '../support/processes.js';

interface Refusal {
  readonly error: { readonly code: string; readonly message: string };
}

describe('the console when Postgres is away', () => {
  let platform: ApiPlatform;
  let line: FaultProxy;
  let api: TestProcess;
  let browser: Browser;

  beforeAll(async () => {
    platform = await startApiPlatform();
    line = await FaultProxy.start(platform.settings['DATABASE_URL']!);
    api = await startApi({
      ...platform.settings,
      DATABASE_URL: line.url,
      DATABASE_CONNECT_TIMEOUT_MS: '1000',
      DATABASE_QUERY_TIMEOUT_MS: '1000',
    });
    browser = new Browser(api.url);
    browser.cookie = (await signInFirstAdmin(platform)).cookie;
    const kim = await signInInvited(platform, { email: 'kim@example.org', role: 'member' });
    const { secret } = await kim.ask<{ secret: string }>('/two-factor', { method: 'POST' });
    await kim.ask('/two-factor/confirm', { body: { code: totpCode(secret, Math.floor(Date.now() / 30_000)) } });
  });
  afterAll(async () => {
    line.fault = 'pass';
    await api.stop();
    await line.close();
    await platform.close();
  });
  afterEach(() => {
    line.fault = 'pass';
  });

  /** Calls again, as clients do, what a busy machine does not answer within the second that a statement may take here. */
  const answered = async (call: () => Promise<Response>): Promise<void> => {
    let answer = await call();
    const isTaken = async (): Promise<boolean> => {
      if (answer.status === 503) answer = await call();
      return answer.status !== 503;
    };
    await waitUntil(isTaken, { timeoutMs: 30_000 });
    expect(answer.status).toBe(200);
  };
  const rows = async (pool: Pool): Promise<number> => (await pool.query('SELECT 1 FROM api_keys')).rows.length;

  it.each(['reset', 'black-hole', 'mute'] as const)(
    'asks to try again (%s), keeps everybody signed in, and goes on when it is back',
    async (fault) => {
      const before = await rows(platform.pool);
      await answered(() => browser.call('/keys'));
      const halfway = new Browser(api.url);
      await answered(() => halfway.call('/sign-in', { body: { email: 'kim@example.org', password: PASSWORD } }));
      line.fault = fault;
      const answers = await Promise.all([
        browser.call('/keys'),
        browser.call('/keys', { body: { name: 'of the outage' } }),
        browser.call('/tasks'),
        new Browser(api.url).call('/sign-in', { body: { email: 'ada@example.org', password: PASSWORD } }),
        halfway.call('/sign-in/code', { body: { code: '000000' } }),
      ]);
      for (const answer of answers) {
        expect(answer.status).toBe(503);
        expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
        const { error } = (await answer.json()) as Refusal;
        expect(error).toMatchObject({ code: 'server_is_overloaded' });
        expect(error.message).toMatch(/[Tt]ry again/);
      }
      line.fault = 'pass';
      await answered(() => browser.call('/keys'));
      // Who was told no has no key.
      expect(await rows(platform.pool)).toBe(before);
    },
  );

  it('says so when a table is locked for longer than a statement may take', async () => {
    const holder = await platform.pool.connect();
    try {
      await holder.query('BEGIN; LOCK TABLE audit_log IN ACCESS EXCLUSIVE MODE');
      expect((await browser.call('/audit')).status).toBe(503);
    } finally {
      await holder.query('ROLLBACK');
      holder.release();
    }
    await answered(() => browser.call('/audit'));
  });
});
