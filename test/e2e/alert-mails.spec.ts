import { waitUntil } from '#embedded/wait-until.js';
import { signInFirstAdmin, signInInvited, type Browser } from '../support/console.js';
import { MailServer } from '../support/mail-server.js';
import { startWebhookPlatform, type WebhookPlatform } from '../support/webhook-platform.js';

const STRANGER = 'stranger@bank.test';
const KEYS = 30;

/** Eve administers an account of her own, and names keys to be read by a stranger. */
describe('alerts by email to an address that nobody confirmed', () => {
  let room: WebhookPlatform;
  let mail: MailServer;
  let ada: Browser;
  let eve: Browser;
  let evesAccount: string;

  beforeAll(async () => {
    mail = await MailServer.start();
    room = await startWebhookPlatform({
      SMTP_URL: mail.url,
      MAIL_FROM: 'Darkroom <darkroom@example.org>',
      HEALTH_CHECK_INTERVAL_MS: '300',
      WEBHOOK_RETRY_SECONDS: '3600',
      WEBHOOK_TIMEOUT_MS: '30000',
    });
    ada = await signInFirstAdmin(room.platform);
    evesAccount = await room.platform.newAccount();
    eve = await signInInvited(room.platform, { email: 'eve@example.org', role: 'admin', accountId: evesAccount });
  });
  afterAll(async () => {
    await room.close();
    await mail.close();
  });

  const alarm = async (who: Browser, keys: number): Promise<void> => {
    for (let key = 0; key < keys; key++) {
      await who.ask('/keys', { body: { name: `URGENT has used pay at evil.test/${key}`, budget: '0' } });
    }
    await who.ask('/alerts/rules/budget', { method: 'PUT', body: { enabled: true, thresholds: [50] } });
  };
  const channel = (who: Browser, address: string) => who.ask('/alerts/channels', { body: { kind: 'email', address } });

  it('are ten in an hour from an account, without its words in the subject, and the rest waits in the log', async () => {
    await channel(eve, STRANGER);
    await alarm(eve, KEYS);
    const attempts = async (): Promise<Record<string, number>> => {
      const { rows } = await room.platform.pool.query<{ outcome: string; count: string }>(
        `SELECT d.state || ' ' || coalesce(a.error, a.status::text) AS outcome, count(*)
         FROM webhook_deliveries d JOIN webhook_attempts a ON a.delivery_id = d.id
         WHERE d.account_id = $1 AND (a.error IS NOT NULL OR a.status IS NOT NULL) GROUP BY 1`,
        [evesAccount],
      );
      return Object.fromEntries(rows.map(({ outcome, count }) => [outcome, Number(count)]));
    };
    const ended = async () => Object.values(await attempts()).reduce((sum, count) => sum + count, 0);
    expect(await waitUntil(async () => (await ended()) >= KEYS, { timeoutMs: 60_000 })).toBe(true);
    expect(await attempts()).toEqual({ 'delivered 250': 10, 'pending email_limit': KEYS - 10 });
    const mails = mail.mails.filter(({ to }) => to.includes(STRANGER));
    expect(mails).toHaveLength(10);
    for (const { content } of mails) {
      expect(/^Subject: (.*)$/m.exec(content)?.[1]).toMatch(/^A key has used 100% of its (monthly )?budget$/);
      expect(content).toContain('evil.test');
    }

    // Others' alerts go out, to another address and to the same one.
    await channel(ada, 'ada@example.org');
    await channel(ada, STRANGER);
    await alarm(ada, 1);
    expect(await mail.arrived('ada@example.org')).toHaveLength(1);
    expect(await mail.arrived(STRANGER, 11)).toHaveLength(11);
  });
});
