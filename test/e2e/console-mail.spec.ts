import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { waitUntil } from '#embedded/wait-until.js';
import { Browser, PASSWORD, signInFirstAdmin, signInInvited } from '../support/console.js';
import { MailServer } from '../support/mail-server.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';
import { TEST_CERTIFICATE } from '../support/test-certificate.js';

interface Link {
  readonly link: string;
  readonly emailed: boolean | null;
}

describe('the mails of the console', () => {
  let platform: ApiPlatform;
  let server: MailServer;
  let folder: string;
  let ada: Browser;
  const tokenOf = (link = ''): string => link.split('#token=')[1] ?? '';
  const forgot = (email: string) => new Browser(platform.url).call('/forgot-password', { body: { email } });
  const signIn = (email: string, password: string) =>
    new Browser(platform.url).call('/sign-in', { body: { email, password } });

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

  it('invite people, again where an admin asks for it', async () => {
    expect(await new Browser(platform.url).ask('/sign-in')).toMatchObject({ email: true });
    const link = await ada.ask<Link>('/people', { body: { email: 'Kim@example.org', role: 'member' } });
    expect(link.emailed).toBe(true);
    const [mail] = await server.arrived('kim@example.org');
    expect(mail!.links).toEqual([link.link]);
    const { data } = await ada.ask<{ data: { id: string }[] }>('/invitations');
    const renewed = await ada.ask<Link>(`/invitations/${data[0]!.id}/renew`, { method: 'POST' });
    const [, again] = await server.arrived('kim@example.org', 2);
    expect(again!.links).toEqual([renewed.link]);
    const kim = new Browser(platform.url);
    await kim.ask('/join', { body: { token: tokenOf(again!.links[0]), name: 'Kim', password: PASSWORD } });
    expect(await kim.ask('/session')).toMatchObject({ person: { email: 'kim@example.org' } });
  });

  it('carry the password reset links that admins make, and the invitations of operators', async () => {
    const lee = await signInInvited(platform, { email: 'lee@example.org', role: 'member' });
    const { person } = await lee.ask<{ person: { id: string } }>('/session');
    const link = await ada.ask<Link>(`/people/${person.id}/reset-link`, { method: 'POST' });
    expect((await server.arrived('lee@example.org'))[0]!.links).toEqual([link.link]);
    const account = await ada.ask<Link>('/accounts', { body: { name: 'Sub & <Co>', email: 'zoe@example.org' } });
    const [mail] = await server.arrived('zoe@example.org');
    expect([account.emailed, mail!.links]).toEqual([true, [account.link]]);
    expect(mail!.content).toContain('Subject: Join Sub & <Co> on Darkroom');
    expect(mail!.content).toContain('Sub &#38; &#60;Co&#62;');
  });

  it('are missed by nobody: whoever asked is told, and has the link', async () => {
    server.refusals.push(550);
    const link = await ada.ask<Link>('/people', { body: { email: 'bad@example.org', role: 'member' } });
    expect(link).toMatchObject({ emailed: false, link: expect.stringContaining('/console/invite#token=') });
    expect(await platform.api.logged('mail.not_sent')).toMatchObject({ status: 550 });
    expect(platform.api.output()).not.toMatch(/bad@example\.org|token=/);
    const browser = new Browser(platform.url);
    await browser.ask('/join', { body: { token: tokenOf(link.link), name: 'Bad', password: PASSWORD } });
  });

  it('flood no mailbox: five from the console to one address in 15 minutes, from whatever account', async () => {
    const email = 'victim@example.org';
    const zed = await signInInvited(platform, {
      email: 'zed@example.org',
      role: 'admin',
      accountId: await platform.newAccount(),
    });
    const invite = async (admin: Browser): Promise<number> => {
      const { status } = await admin.call('/people', { body: { email, role: 'member' } });
      return status;
    };
    const statuses = [await invite(ada), await invite(ada), await invite(ada), await invite(zed), await invite(zed)];
    expect([...statuses, await invite(zed), await invite(ada)]).toEqual([201, 201, 201, 201, 201, 429, 429]);
    const { data } = await ada.ask<{ data: { id: string; email: string }[] }>('/invitations');
    const { id } = data.find((one) => one.email === email)!;
    const renewed = await ada.call(`/invitations/${id}/renew`, { method: 'POST' });
    expect([renewed.status, await renewed.json()]).toMatchObject([429, { error: { code: 'rate_limit_exceeded' } }]);
    const channel = await ada.ask<{ id: string }>('/alerts/channels', { body: { kind: 'email', address: email } });
    expect((await ada.call(`/alerts/channels/${channel.id}/test`, { method: 'POST' })).status).toBe(429);
    expect(await server.arrived(email, 5)).toHaveLength(5);
    // Their own request for a link is counted separately.
    expect((await forgot(email)).status).toBe(204);
    expect((await ada.call('/people', { body: { email: 'other@example.org', role: 'member' } })).status).toBe(201);
  });

  it.each([
    ...['x,victim@v.test', 'a1<victim@v.test>', '"q"<victim@v.test>', 'grp:victim@v.test;', 'a(c)victim@v.test'],
    ...['victim@v.test,b', '<victim@v.test>', 'victim@v.test\\', 'victim@[192.0.2.1]'],
  ])('go to no %j, which is another address to others', async (email) => {
    const refused = async (path: string, body: object): Promise<unknown> => {
      const answer = await ada.call(path, { body });
      const { error } = (await answer.json()) as { error?: object };
      return [answer.status, error];
    };
    const because = (param: string): unknown => [400, expect.objectContaining({ code: 'invalid_value', param })];
    expect(await refused('/people', { email, role: 'member' })).toEqual(because('email'));
    expect(await refused('/accounts', { name: 'Sub', email })).toEqual(because('email'));
    expect(await refused('/alerts/channels', { kind: 'email', address: email })).toEqual(because('address'));
    // A user who has such an address still signs in.
    await signInInvited(platform, { email, role: 'member' });
    expect((await signIn(email, PASSWORD)).status).toBe(200);
  });

  it('go to nobody else either when a user has such an address', async () => {
    expect((await forgot('<victim@v.test>')).status).toBe(204);
    expect(await waitUntil(() => platform.api.output().includes('"status":553'), { timeoutMs: 30_000 })).toBe(true);
    expect(server.mails.flatMap(({ to }) => to).filter((to) => /v\.test|192/.test(to))).toEqual([]);
  });

  it('count every spelling of a domain as one', async () => {
    const invite = async (email: string): Promise<number> =>
      (await ada.call('/people', { body: { email, role: 'member' } })).status;
    const spellings = ['caf\u00e9.example', 'xn--caf-dma.example', 'caf\u00e9\u3002example', 'caf\u00e9.example.'];
    const statuses: number[] = [];
    for (const domain of [...spellings, ...spellings]) statuses.push(await invite(`kim@${domain}`));
    expect(statuses).toEqual([201, 201, 201, 201, 201, 429, 429, 429]);
  });

  it('help those who forgot their password, in every account, and answer alike for strangers', async () => {
    const email = 'nia@example.org';
    await signInInvited(platform, { email, role: 'member' });
    await signInInvited(platform, { email, role: 'admin', accountId: await platform.newAccount() });
    const stranger = await forgot('stranger@example.org');
    const known = await forgot(email);
    expect([stranger.status, await stranger.text()]).toEqual([known.status, await known.text()]);
    expect(known.status).toBe(204);
    const [mail] = await server.arrived(email);
    expect(mail!.links).toHaveLength(2);
    for (const [place, link] of mail!.links.entries()) {
      const password = `another long passphrase ${place}`;
      const browser = new Browser(platform.url);
      await browser.ask('/reset-password', { body: { token: tokenOf(link), password } });
      expect((await signIn(email, password)).status).toBe(200);
      expect((await browser.call('/reset-password', { body: { token: tokenOf(link), password } })).status).toBe(410);
    }
    expect((await signIn(email, PASSWORD)).status).toBe(401);
    const { data } = await ada.ask<{ data: { who: string; sentence: string }[] }>('/audit?kind=sign_in');
    expect(data).toContainEqual(
      expect.objectContaining({ who: 'Someone', sentence: 'requested a password reset link for “Somebody”' }),
    );
    expect(server.mails.some(({ to }) => to.includes('stranger@example.org'))).toBe(false);
  });

  it('come three at most to one address, known or not', async () => {
    for (const email of ['ada@example.org', 'nobody@example.org']) {
      const statuses: number[] = [];
      for (let n = 0; n < 4; n++) statuses.push((await forgot(email)).status);
      expect(statuses).toEqual([204, 204, 204, 429]);
    }
    expect(await server.arrived('ada@example.org', 3)).toHaveLength(3);
    expect((await forgot('no address')).status).toBe(400);
  });
});
