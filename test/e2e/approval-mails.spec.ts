import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { signInFirstAdmin, signInInvited } from '../support/console.js';
import { MailServer } from '../support/mail-server.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { TEST_CERTIFICATE } from '../support/test-certificate.js';

const MODELS = `providers:
  drawn: { type: sandbox }
models:
  priced: { kind: image, routes: [{ provider: drawn }], prices: [{ from: 2026-01-01, per_image: { 1k: 0.04, 2k: 0.04, 4k: 1 } }] }
`;

/** Ada and Bo are admins of the default account, Mo is a member; Eve is the admin of another account. */
describe('emails to those who may approve', () => {
  let folder: string;
  let mail: MailServer;
  let platform: Platform;
  let key: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-approval-mails-'));
    await writeFile(join(folder, 'models.yaml'), MODELS);
    const authority = join(folder, 'ca.pem');
    await writeFile(authority, TEST_CERTIFICATE.cert);
    mail = await MailServer.start();
    platform = await startPlatform({
      MODELS_FILE: join(folder, 'models.yaml'),
      SMTP_URL: mail.url,
      SMTP_CA_FILE: authority,
      MAIL_FROM: 'Darkroom <darkroom@example.org>',
      PUBLIC_URL: 'https://images.example.org/',
    });
    await signInFirstAdmin(platform);
    for (const [name, role] of [
      ['bo', 'admin'],
      ['mo', 'member'],
    ] as const)
      await signInInvited(platform, { email: `${name}@example.org`, role });
    await signInInvited(platform, { email: 'eve@example.org', role: 'admin', accountId: await platform.newAccount() });
    key = await platform.newKey({ approve_above_micros: 0 });
  });
  afterAll(async () => {
    await platform.close();
    await mail.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function hold(prompt: string): Promise<void> {
    const body = { model: 'priced', prompt, resolution: '1k' };
    expect((await platform.call('/v1/images/generations/async', { key, body })).status).toBe(202);
  }
  const about = (to: string) =>
    mail.mails.filter((one) => one.to.includes(to) && /^Subject: .* for your approval/m.test(one.content));

  it('are about each request once, at most every ten minutes, without what was requested', async () => {
    await hold('canary-mail-1');
    await mail.arrived('bo@example.org');
    const [first] = about('bo@example.org');
    expect(first?.content).toContain('A request waits for your approval');
    expect(first?.content).toContain('https://images.example.org/console/approvals');
    // Two more within the ten minutes: one email tells of both, and of the one that still waits.
    await hold('canary-mail-2');
    await hold('canary-mail-3');
    await platform.pool.query(`UPDATE accounts SET approvals_mailed_at = now() - interval '10 minutes'`);
    await mail.arrived('bo@example.org', 2);
    await mail.arrived('ada@example.org', 2);
    expect(about('bo@example.org')[1]?.content).toContain('3 requests wait for your approval');
    // A request that is told of again would have come with this one.
    await platform.pool.query(`UPDATE accounts SET approvals_mailed_at = now() - interval '10 minutes'`);
    await hold('canary-mail-4');
    await mail.arrived('bo@example.org', 3);
    expect(about('bo@example.org')).toHaveLength(3);
    expect([...about('mo@example.org'), ...about('eve@example.org')]).toEqual([]);
    expect(JSON.stringify(mail.mails)).not.toContain('canary-mail');
  });
});
