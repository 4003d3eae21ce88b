import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { totpCode } from '#accounts/totp.js';
import { PASSWORD, linkToken, signInFirstAdmin, signInInvited, Browser } from '../support/console.js';
import { MailServer } from '../support/mail-server.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';
import { TEST_CERTIFICATE } from '../support/test-certificate.js';

const NEW_PASSWORD = 'umbrella sandwiches in june';

describe('changes of how a user signs in', () => {
  let platform: ApiPlatform;
  let server: MailServer;
  let folder: string;
  let ada: Browser;
  let count = 0;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-mail-'));
    const authority = join(folder, 'ca.pem');
    await writeFile(authority, TEST_CERTIFICATE.cert);
    server = await MailServer.start();
    platform = await startApiPlatform({
      SMTP_URL: server.url,
      SMTP_CA_FILE: authority,
      MAIL_FROM: 'Darkroom <darkroom@example.org>',
    });
    ada = await signInFirstAdmin(platform);
  });
  afterAll(async () => {
    await platform.close();
    await server.close();
    await rm(folder, { recursive: true });
  });

  const step = (): number => Math.floor(Date.now() / 30_000);
  const signUp = async (): Promise<{ email: string; browser: Browser; id: string }> => {
    const email = `user${++count}@example.org`;
    const browser = await signInInvited(platform, { email, role: 'member' });
    const { person } = await browser.ask<{ person: { id: string } }>('/session');
    return { email, browser, id: person.id };
  };
  /** As if the user had signed in longer ago. */
  const age = (email: string, minutes: number) =>
    platform.pool.query(
      `UPDATE sessions SET created_at = created_at - $2 * interval '1 minute', proven_at = proven_at - $2 * interval '1 minute'
       WHERE person_id IN (SELECT id FROM people WHERE email = $1)`,
      [email, minutes],
    );
  const givePasskey = (id: string, name: string) =>
    platform.pool.query(
      `INSERT INTO passkeys (id, person_id, name, credential_id, public_key, counter, transports, synced)
       VALUES ($1, $2, $3, $1, '\\x00', 0, '{}', false)`,
      [`passkey_${++count}`, id, name],
    );
  const refusal = async (answer: Response): Promise<unknown> => [
    answer.status,
    ((await answer.json()) as { error: { code: string } }).error.code,
  ];
  const mailed = async (email: string, text: string, number = 1): Promise<string> => {
    const mails = await server.arrived(email, number);
    const { content } = mails.at(-1)!;
    expect(content).toContain('Subject: Your Darkroom sign-in was changed');
    expect(content.replace(/\s+/g, ' ')).toContain(text);
    return content;
  };

  it('a stolen session turns on no two-factor authentication, makes no recovery codes and removes no passkey', async () => {
    const { email, browser, id } = await signUp();
    await givePasskey(id, 'laptop');
    await age(email, 6);
    const { data } = await browser.ask<{ data: { id: string }[] }>('/passkeys');
    const changes: readonly [string, string, object?][] = [
      ['POST', '/two-factor'],
      ['POST', '/two-factor/confirm', { code: '000000' }],
      ['POST', '/two-factor/recovery-codes', { code: '000000' }],
      ['DELETE', `/passkeys/${data[0]!.id}`],
    ];
    for (const [method, path, body] of changes) {
      const answer = await browser.call(path, { method, ...(body && { body }) });
      expect([path, await refusal(answer)]).toEqual([path, [403, 'proof_required']]);
    }
    expect(await refusal(await browser.call('/session/proof', { body: { password: 'not it' } }))).toEqual([
      401,
      'sign_in_failed',
    ]);
    expect((await browser.call('/two-factor', { method: 'POST' })).status).toBe(403);
    // Guesses of the password are bounded, and lock nobody else out of signing in.
    const guesses: number[] = [];
    for (let n = 0; n < 11; n++) {
      guesses.push((await browser.call('/session/proof', { body: { password: 'a guess' } })).status);
    }
    expect(guesses.slice(-2)).toEqual([429, 429]);
    expect((await new Browser(platform.url).call('/sign-in', { body: { email, password: PASSWORD } })).status).toBe(
      200,
    );
  });

  it('the password opens them for a few minutes, and the owner gets a mail about each', async () => {
    const { email, browser, id } = await signUp();
    await givePasskey(id, 'laptop');
    await givePasskey(id, 'see https://evil.example');
    await age(email, 6);
    await browser.ask('/session/proof', { body: { password: PASSWORD } });
    const { secret } = await browser.ask<{ secret: string }>('/two-factor', { method: 'POST' });
    await browser.ask('/two-factor/confirm', { body: { code: totpCode(secret, step()) } });
    const mail = await mailed(email, 'two-factor authentication was turned on. ');
    expect(mail.replace(/\s+/g, ' ')).toContain('These passkeys can sign in: laptop, one with another name.');
    const { data } = await browser.ask<{ data: { id: string; name: string }[] }>('/passkeys');
    for (const one of data) await browser.ask(`/passkeys/${one.id}`, { method: 'DELETE' });
    await mailed(email, 'a passkey was removed.', 3);
    await age(email, 6);
    expect(await refusal(await browser.call('/two-factor/recovery-codes', { body: { code: '000000' } }))).toEqual([
      403,
      'proof_required',
    ]);
    expect((await ada.call(`/people/${id}/two-factor`, { method: 'DELETE' })).status).toBe(204);
    await mailed(email, 'an owner or admin removed two-factor authentication and all passkeys.', 4);
  });

  it('a new password ends the other sessions, keeps passkeys, and says so in a mail', async () => {
    const { email, browser, id } = await signUp();
    await givePasskey(id, 'laptop');
    const other = new Browser(platform.url);
    await other.ask('/sign-in', { body: { email, password: PASSWORD } });
    await browser.ask('/password', { body: { current_password: PASSWORD, password: NEW_PASSWORD } });
    expect((await other.call('/session')).status).toBe(401);
    await mailed(email, 'the password was changed, and all other browsers were signed out.');
    const token = await linkToken(platform, { purpose: 'password', email, role: 'member' });
    await new Browser(platform.url).ask('/reset-password', { body: { token, password: `${NEW_PASSWORD} again` } });
    expect((await browser.call('/session')).status).toBe(401);
    const mail = await mailed(email, 'a new password was set with a link, and all browsers were signed out.', 2);
    expect(mail.replace(/\s+/g, ' ')).toContain('These passkeys can sign in: laptop.');
  });

  it('a stranger’s account name puts no text of theirs with a link into an invitation', async () => {
    const name = 'Pay at https://evil.example';
    await ada.ask('/accounts', { body: { name, email: 'victim@example.org' } });
    const [mail] = await server.arrived('victim@example.org');
    expect(mail!.content).toContain('Subject: Join an account on Darkroom');
    expect(mail!.content).not.toContain('evil');
  });
});
