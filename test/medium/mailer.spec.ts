import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '#config/load-config.js';
import { MailConfig } from '#notifications/mail/mail.config.js';
import { introducedAs, Mailer } from '#notifications/mail/mailer.js';
import { Logger } from '#telemetry/logger.js';
import { mailServer } from '../../apps/standalone/src/commands/mail-check.js';
import { MailServer } from '../support/mail-server.js';
import { TEST_CERTIFICATE } from '../support/test-certificate.js';

const TO = 'kim@example.org';
const CONTENT = { to: TO, subject: 'Grüße', paragraphs: ['Zum Beispiel: €'], footer: 'The end.' };

describe('the mailer', () => {
  let server: MailServer;
  let plain: MailServer;
  const folder = mkdtempSync(join(tmpdir(), 'darkroom-mail-'));
  const authority = join(folder, 'ca.pem');
  const settings = (changes: Record<string, string> = {}) => ({
    SMTP_URL: server.url,
    MAIL_FROM: 'Darkroom <darkroom@example.org>',
    SMTP_CA_FILE: authority,
    ...changes,
  });
  const mailerOf = (changes: Record<string, string> = {}, patienceMs = 20_000) => {
    const lines: string[] = [];
    const logger = new Logger('test', 'debug', { write: (line) => lines.push(line) });
    return { mailer: new Mailer(loadConfig([MailConfig], settings(changes))[0], logger, patienceMs), lines };
  };

  beforeAll(async () => {
    writeFileSync(authority, TEST_CERTIFICATE.cert);
    [server, plain] = [await MailServer.start(), await MailServer.start({ tls: false })];
  });
  afterAll(async () => {
    await server.close();
    await plain.close();
    rmSync(folder, { recursive: true });
  });

  it('sends by STARTTLS with a password, and trusts the authority of SMTP_CA_FILE', async () => {
    await mailerOf().mailer.send(CONTENT);
    const [mail] = await server.arrived(TO);
    expect(mail).toMatchObject({ from: 'darkroom@example.org', secure: true });
    expect(mail!.content).toMatch(/^From: Darkroom <darkroom@example\.org>/m);
    expect(mail!.content).toContain('Zum Beispiel: €');
    const { mailer } = mailerOf({ SMTP_CA_FILE: '' }, 1_000);
    await expect(mailer.send(CONTENT)).rejects.toMatchObject({ name: 'MailNotSent' });
    expect(server.mails).toHaveLength(1);
  });

  it.each(["o'brien+tag=x@example.org", '=?utf-8?q?a?=@example.org', 'kim@caf\u00e9.example'])(
    'sends to %s and nobody else',
    async (to) => {
      const before = server.mails.length;
      await mailerOf().mailer.send({ ...CONTENT, to });
      expect(server.mails.slice(before)).toMatchObject([{ to: [to] }]);
    },
  );

  it.each([
    ...['x,victim@v.test', 'a1<victim@v.test>', '"q"<victim@v.test>', 'grp:victim@v.test;', 'a(c)victim@v.test'],
    ...['victim@v.test,b', '<victim@v.test>', '"victim"@v.test', 'victim@v.test>', 'victim @v.test', 'victim'],
  ])('sends nothing to %j, which is another address to others', async (to) => {
    const before = server.mails.length;
    await expect(mailerOf().mailer.send({ ...CONTENT, to })).rejects.toMatchObject({ code: 'EENVELOPE', status: 553 });
    expect(server.mails).toHaveLength(before);
  });

  it('introduces itself by a full name, which the server insists on, or by that of SMTP_URL', async () => {
    const url = new URL(server.url);
    const before = server.mails.length;
    await mailerOf().mailer.send(CONTENT);
    url.search = '?name=images.example.net';
    await mailerOf({ SMTP_URL: url.href }).mailer.send(CONTENT);
    const [first, second] = server.mails.slice(before);
    expect(first?.hello).toBe(introducedAs(loadConfig([MailConfig], settings())[0]));
    expect(second?.hello).toBe('images.example.net');
    // In a container.
    expect(introducedAs(loadConfig([MailConfig], settings())[0], '3f2a91c07b1d')).toBe('example.org');
  });

  it('tries again what may pass, and gives up at once on what will not', async () => {
    server.refusals.push(451, 421);
    await mailerOf().mailer.send({ ...CONTENT, to: 'later@example.org' });
    expect(await server.arrived('later@example.org')).toHaveLength(1);
    expect(server.refusals).toEqual([]);
    server.refusals.push(550, 550);
    const { mailer, lines } = mailerOf();
    await expect(mailer.send({ ...CONTENT, to: 'never@example.org' })).rejects.toMatchObject({ status: 550 });
    expect(server.refusals).toEqual([550]);
    server.refusals.length = 0;
    expect(lines.join()).toContain('"event":"mail.not_sent"');
    expect(lines.join()).not.toMatch(/never@|not now|Grüße/);
  });

  it('tries once for those that retry on their own, within their time', async () => {
    const { mailer } = mailerOf();
    const { signal } = new AbortController();
    server.refusals.push(451);
    await expect(mailer.sendOnce(CONTENT, 20_000, signal)).rejects.toMatchObject({ status: 451 });
    const before = server.mails.length;
    await mailer.sendOnce({ ...CONTENT, id: 'evt_1' }, 20_000, signal);
    expect(server.mails.slice(before)).toMatchObject([{ content: expect.stringContaining('<evt_1@example.org>') }]);
    // Nobody answers there.
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const { mailer: late } = mailerOf({ SMTP_URL: `smtp://127.0.0.1:${port}` });
    await expect(late.sendOnce(CONTENT, 100, signal)).rejects.toMatchObject({ code: 'ETIMEDOUT' });
    const ended = AbortSignal.abort();
    await expect(late.sendOnce(CONTENT, 20_000, ended)).rejects.toMatchObject({ name: 'MailNotSent' });
    silent.close();
  });

  it('stops trying when its time is over, or its process ends', async () => {
    server.refusals.push(...Array<number>(10).fill(451));
    const { mailer } = mailerOf();
    // Tries at 0, 1, 3 and 7 s: its time ends between two of them, on a busy machine, too.
    await expect(mailer.send(CONTENT, 5_000)).rejects.toMatchObject({ status: 451 });
    const waiting = mailer.send(CONTENT, 600_000);
    waiting.catch(() => undefined);
    mailer.onApplicationShutdown();
    await expect(waiting).rejects.toMatchObject({ name: 'MailNotSent' });
    server.refusals.length = 0;
  });

  it('says why the server refused when its time ends during a later try', async () => {
    let calls = 0;
    const fickle = createServer((socket) => {
      socket.on('error', () => undefined);
      // From the second connection on it is silent.
      if (++calls > 1) return;
      socket.write('220 mail.example.org ESMTP\r\n');
      socket.on('data', (line) => socket.write(String(line).startsWith('EHLO') ? '250 hello\r\n' : '451 later\r\n'));
    }).listen(0, '127.0.0.1');
    await once(fickle, 'listening');
    const { port } = fickle.address() as AddressInfo;
    const { mailer } = mailerOf({ SMTP_URL: `smtp://127.0.0.1:${port}`, SMTP_REQUIRE_TLS: 'false' });
    await expect(mailer.send(CONTENT, 8_000)).rejects.toMatchObject({ status: 451 });
    expect(calls).toBeGreaterThan(1);
    fickle.close();
  });

  it('sends nothing in the clear unless it is told to', async () => {
    const insecure = { SMTP_URL: plain.url };
    await expect(mailerOf(insecure).mailer.send(CONTENT)).rejects.toMatchObject({ name: 'MailNotSent' });
    expect(plain.mails).toEqual([]);
    await mailerOf({ ...insecure, SMTP_REQUIRE_TLS: 'false' }).mailer.send(CONTENT);
    expect((await plain.arrived(TO))[0]).toMatchObject({ secure: false });
  });

  it('is checked by the doctor without a mail being sent', async () => {
    const before = server.mails.length;
    expect(await mailServer(settings())).toBe(
      `accepts the sign-in of ${introducedAs(loadConfig([MailConfig], settings())[0])}; email comes from Darkroom <darkroom@example.org>`,
    );
    const wrong = new URL(server.url);
    wrong.password = 'wrong';
    await expect(mailServer(settings({ SMTP_URL: wrong.href }))).rejects.toThrow(/EAUTH, status 535/);
    await expect(mailServer(settings({ MAIL_FROM: '' }))).rejects.toThrow(/MAIL_FROM/);
    await expect(mailServer(settings({ MAIL_FROM: 'me' }))).rejects.toThrow(/MAIL_FROM/);
    await expect(mailServer(settings({ SMTP_URL: 'https://mail' }))).rejects.toThrow(/SMTP_URL/);
    expect(server.mails).toHaveLength(before);
  });
});
