import { freePort } from '../support/free-port.js';
import { signInFirstAdmin, signInInvited, type Browser } from '../support/console.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';

interface Rule {
  readonly kind: string;
  readonly enabled: boolean;
  readonly thresholds: readonly number[];
}
type Rows<Row> = { readonly data: readonly Row[] };

describe('alerts that are on from the start', () => {
  let platform: ApiPlatform;
  let port: number;
  let ada: Browser;

  beforeAll(async () => {
    port = await freePort();
    platform = await startApiPlatform({ EGRESS_ALLOW_CIDRS: '127.0.0.0/8,10.0.0.0/8', EGRESS_PORTS: `80,443,${port}` });
    ada = await signInFirstAdmin(platform);
  });
  afterAll(() => platform.close());

  const rules = async (who: Browser) => (await who.ask<Rows<Rule>>('/alerts/rules')).data;
  const on = async (who: Browser) => (await rules(who)).flatMap(({ kind, enabled }) => (enabled ? [kind] : []));

  it('are those that matter to everybody, once the installation is set up', async () => {
    const all = ['budget', 'webhook_failing', 'provider_down', 'queue_wait', 'approval_waiting'];
    expect(await on(ada)).toEqual([...all, 'end_user_abuse', 'unmatched_notice']);
    expect((await rules(ada)).find(({ kind }) => kind === 'budget')).toMatchObject({ thresholds: [80, 100] });
    // Whoever turns one off has it off for good.
    await ada.ask('/alerts/rules/queue_wait', { method: 'PUT', body: { enabled: false } });
    expect(await on(ada)).toEqual([
      ...all.filter((kind) => kind !== 'queue_wait'),
      ...['end_user_abuse', 'unmatched_notice'],
    ]);
  });

  it('are those of accounts in a new account, and none in one that existed before', async () => {
    const created = await ada.ask<{ account: { id: string } }>('/accounts', {
      body: { name: 'Atelier', email: 'grace@example.org' },
    });
    const grace = await signInInvited(platform, {
      email: 'liz@example.org',
      role: 'admin',
      accountId: created.account.id,
    });
    expect(await on(grace)).toEqual(['budget', 'webhook_failing', 'approval_waiting', 'end_user_abuse']);
    const accountId = await platform.newAccount();
    const eve = await signInInvited(platform, { email: 'eve@example.org', role: 'admin', accountId });
    expect(await on(eve)).toEqual([]);
  });

  it('reach receivers on this machine over plain http, where they are allowed, and others over https only', async () => {
    const add = (address: string) => ada.call('/alerts/channels', { body: { kind: 'webhook', address } });
    expect((await add(`http://127.0.0.1:${port}/x`)).status).toBe(201);
    expect((await add(`http://localhost:${port}/x`)).status).toBe(201);
    const refused = await add(`http://10.0.0.1:${port}/x`);
    expect(await refused.json()).toMatchObject({ error: { message: 'The URL must start with https://.' } });
    const body = { model: 'gpt-image-2', prompt: 'x', callback_url: `http://127.0.0.1:${port}/x` };
    expect((await platform.call('/v1/images/generations/async', { body })).status).toBe(400);
  });
});
