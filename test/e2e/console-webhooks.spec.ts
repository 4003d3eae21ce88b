import { Webhook } from 'standardwebhooks';
import { waitUntil } from '#embedded/wait-until.js';
import { signInFirstAdmin, signInInvited, type Browser } from '../support/console.js';
import { patientSetting } from '../support/patience.js';
import { startWebhookPlatform, type WebhookPlatform } from '../support/webhook-platform.js';

interface Delivery {
  readonly id: string;
  readonly task_id: string | null;
  readonly event: string;
  readonly endpoint_id: string | null;
  readonly url: string | null;
  readonly status: string;
  readonly next_try_at: string | null;
  readonly attempts: readonly { readonly status: number | null; readonly error: string | null }[];
}
interface Page {
  readonly data: readonly Delivery[];
  readonly has_more: boolean;
  readonly next: string | null;
}
type Rows = { readonly data: readonly Record<string, unknown>[] };

describe('webhooks in the console', () => {
  let room: WebhookPlatform;
  let ada: Browser;
  let member: Browser;
  let eve: Browser;

  beforeAll(async () => {
    // What a busy machine reads too late would be sent again.
    room = await startWebhookPlatform({ WEBHOOK_TIMEOUT_MS: patientSetting(15_000, 60_000) });
    ada = await signInFirstAdmin(room.platform);
    member = await signInInvited(room.platform, { email: 'mo@example.org', role: 'member' });
    eve = await signInInvited(room.platform, {
      email: 'eve@example.org',
      role: 'admin',
      accountId: await room.platform.newAccount(),
    });
  });
  afterAll(() => room.close());

  const codeOf = async (response: Response): Promise<[number, string]> => [
    response.status,
    ((await response.json()) as { error: { code: string } }).error.code,
  ];
  const add = (path: string, events?: readonly string[]) =>
    ada.ask<{ id: string }>('/webhooks/endpoints', {
      body: { url: room.receiver.url(path), ...(events && { events }) },
    });
  const deliveries = (query = '', who = ada) => who.ask<Page>(`/webhooks/deliveries${query}`);
  const settled = async (query: string): Promise<Delivery> => {
    const look = async () => (await deliveries(query)).data[0];
    expect(await waitUntil(async () => (await look())?.next_try_at === null, { timeoutMs: 20_000 })).toBe(true);
    return (await look())!;
  };
  const removed = (id: string) => ada.call(`/webhooks/endpoints/${id}`, { method: 'DELETE' });

  it.each([
    ['https://127.0.0.1/x', 'port'],
    ['https://10.0.0.1:PORT/x', 'public address'],
    ['http://example.org/x', 'https://'],
    ['https://ada:secret@example.org/x', 'user name'],
    [`https://example.org/${'x'.repeat(2_048)}`, 'too long'],
    ['no address', 'malformed'],
  ])('refuse %s and say why', async (url, why) => {
    const answer = await ada.call('/webhooks/endpoints', {
      body: { url: url.replace('PORT', String(room.receiver.port)) },
    });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ error: { param: 'url', message: expect.stringContaining(why) } });
  });

  it('send a signed test to one endpoint, once, which is known by its type and shown in the log', async () => {
    const { id } = await add('/test?token=abc');
    await add('/other');
    const [{ secret }] = (await ada.ask<Rows>('/webhooks/secrets')).data as [{ secret: string }];
    const sent = await ada.ask<{ id: string }>(`/webhooks/endpoints/${id}/test`, { method: 'POST' });
    const [test] = await room.receiver.arrived('/test?token=abc');
    const headers = Object.fromEntries(Object.entries(test!.headers).map(([name, value]) => [name, String(value)]));
    expect(new Webhook(secret).verify(test!.body, headers)).toEqual({
      id: sent.id.replace('whd_', 'evt_'),
      object: 'event',
      type: 'webhook.test',
      created_at: expect.any(Number),
      timestamp: expect.any(String),
      data: { endpoint_id: id },
    });
    expect(await settled('?status=delivered')).toMatchObject({
      id: sent.id,
      task_id: null,
      event: 'webhook.test',
      endpoint_id: id,
      status: 'delivered',
      url: room.receiver.url('/test?token=abc'),
      attempts: [{ number: 1, status: 200, error: null }],
    });
    expect(room.receiver.at('/other')).toEqual([]);
    const payload = `/webhooks/deliveries/${sent.id}/payload`;
    expect(await member.ask(payload)).toEqual(JSON.parse(test!.body));
    expect(await codeOf(await eve.call(payload))).toEqual([404, 'not_found']);

    room.receiver.answer('/test?token=abc', 500);
    await ada.ask(`/webhooks/endpoints/${id}/test`, { method: 'POST' });
    expect(await settled('?status=failed')).toMatchObject({ attempts: [{ number: 1, status: 500 }] });
    const [other, tested] = (await member.ask<Rows>('/webhooks/endpoints')).data;
    expect(tested).toMatchObject({ id, recent: { delivered: 1, failed: 1, last_at: expect.any(String) } });
    expect(other).toMatchObject({ recent: null });
    await removed(id);
    await removed(String(other!['id']));
  });

  it('send no more tests and resends of one account in a minute than a user needs', async () => {
    const accountId = await room.platform.newAccount();
    const liz = await signInInvited(room.platform, { email: 'liz@example.org', role: 'admin', accountId });
    const { id } = await liz.ask<{ id: string }>('/webhooks/endpoints', { body: { url: room.receiver.url('/often') } });
    const often = async (path: string, times: number): Promise<Response[]> =>
      await Promise.all(Array.from({ length: times }, () => liz.call(path, { method: 'POST' })));
    const tests = await often(`/webhooks/endpoints/${id}/test`, 14);
    expect(tests.map(({ status }) => status).sort()).toEqual([
      ...Array<number>(10).fill(202),
      ...Array<number>(4).fill(429),
    ]);
    const refused = tests.find(({ status }) => status === 429)!;
    expect(await codeOf(refused)).toEqual([429, 'rate_limit_exceeded']);
    await room.receiver.arrived('/often', 10);
    const [sent] = (await deliveries('?limit=1', liz)).data;
    const resends = await often(`/webhooks/deliveries/${sent!.id}/resend`, 34);
    expect(resends.filter(({ status }) => status === 429).length).toBe(4);
    // Nobody else's.
    const other = await add('/seldom');
    expect((await ada.call(`/webhooks/endpoints/${other.id}/test`, { method: 'POST' })).status).toBe(202);
    await room.receiver.arrived('/seldom', 1);
    expect(await settled(`?endpoint=${other.id}`)).toMatchObject({ status: 'delivered' });
    await removed(other.id);
  });

  it('are switched off and on and told of other events, a 410 switches them off', async () => {
    const { id } = await add('/switched', ['image.task.failed']);
    const change = (body: object, who = ada) => who.call(`/webhooks/endpoints/${id}`, { method: 'PATCH', body });
    const changed = await change({ events: ['image.task.completed', 'image.task.completed'], active: false });
    expect(await changed.json()).toMatchObject({
      id,
      events: ['image.task.completed'],
      disabled_at: expect.any(String),
      disabled_reason: 'owner',
    });
    const refused = await ada.call(`/webhooks/endpoints/${id}/test`, { method: 'POST' });
    expect(await refused.json()).toMatchObject({ error: { message: expect.stringContaining('is disabled') } });
    expect(await (await change({ active: true })).json()).toMatchObject({ disabled_at: null, disabled_reason: null });
    for (const body of [{ events: [] }, { events: ['image.task.begun'] }, { active: 'no' }, { url: 'https://x.org' }]) {
      expect((await change(body)).status).toBe(400);
    }
    room.receiver.answer('/switched', 410);
    await ada.ask(`/webhooks/endpoints/${id}/test`, { method: 'POST' });
    expect(await settled(`?endpoint=${id}`)).toMatchObject({ status: 'failed', attempts: [{ status: 410 }] });
    expect(await ada.ask('/webhooks/endpoints')).toMatchObject({ data: [{ id, disabled_reason: 'gone' }] });
    expect((await change({ active: true })).status).toBe(200);
    expect(await codeOf(await change({ active: false }, eve))).toEqual([404, 'not_found']);
    expect(await codeOf(await eve.call(`/webhooks/endpoints/${id}/test`, { method: 'POST' }))).toEqual([
      ...[404, 'not_found'],
    ]);
    expect(await codeOf(await eve.call(`/webhooks/endpoints/${id}`, { method: 'DELETE' }))).toEqual([404, 'not_found']);
    expect((await removed(id)).status).toBe(204);
    expect((await removed(id)).status).toBe(404);
  });

  it('show the deliveries of a task by pages and filters, and resend one', async () => {
    const good = await add('/good');
    const bad = await add('/bad');
    room.receiver.answer('/bad', 503);
    const body = {
      model: 'gpt-image-2',
      prompt: 'told of',
      resolution: '1k',
      callback_url: room.receiver.url('/back'),
    };
    const { secret: key } = await member.ask<{ secret: string }>('/keys', { body: { name: 'mo' } });
    const submitted = await room.platform.call('/v1/images/generations/async', { body, key });
    const task = submitted.headers.get('x-task-id')!;
    await room.receiver.arrived('/bad', 2);
    const triedTwice = async () => (await deliveries('?status=pending')).data[0]?.attempts[1]?.status === 503;
    expect(await waitUntil(triedTwice, { timeoutMs: 30_000 })).toBe(true);
    expect(await deliveries(`?endpoint=${bad.id}`)).toMatchObject({
      data: [{ task_id: task, event: 'image.task.completed', status: 'pending', next_try_at: expect.any(String) }],
      has_more: false,
      next: null,
    });
    const all = (await deliveries(`?task=${task}`)).data;
    expect(all.map(({ endpoint_id }) => endpoint_id).sort()).toEqual([good.id, bad.id, null].sort());
    const back = all.find(({ endpoint_id }) => endpoint_id === null)!;
    expect(back).toMatchObject({ url: room.receiver.url('/back') });
    // But for the signatures of its links, it is what was sent.
    const unsigned = (text: string) => text.replaceAll(/"expires_at":\d+|\?exp=[^"]*/g, '');
    const payload = await ada.ask<object>(`/webhooks/deliveries/${String(back['id'])}/payload`);
    expect(payload).toMatchObject({ type: 'image.task.completed', data: { id: task, status: 'completed' } });
    const [told] = await room.receiver.arrived('/back');
    expect(unsigned(JSON.stringify(payload))).toBe(unsigned(told!.body));

    const leafed: Delivery[] = [];
    for (let after: string | null = ''; after !== null;) {
      const page: Page = await deliveries(`?limit=1&after=${after}`);
      leafed.push(...page.data);
      after = page.next;
    }
    const whole = (await deliveries('?limit=100')).data;
    expect(whole.length).toBeGreaterThan(3);
    expect(leafed.map(({ id }) => id)).toEqual(whole.map(({ id }) => id));

    const failing = (await deliveries(`?endpoint=${bad.id}`, member)).data[0]!;
    expect(await codeOf(await eve.call(`/webhooks/deliveries/${failing.id}/resend`, { method: 'POST' }))).toEqual([
      ...[404, 'not_found'],
    ]);
    // Another member sees no delivery of the task, and none by its id.
    const kim = await signInInvited(room.platform, { email: 'kim@example.org', role: 'member' });
    for (const path of [`${failing.id}/payload`, 'whd_none/payload']) {
      expect(await codeOf(await kim.call(`/webhooks/deliveries/${path}`))).toEqual([404, 'not_found']);
    }
    const resent = await kim.call(`/webhooks/deliveries/${failing.id}/resend`, { method: 'POST' });
    expect(await codeOf(resent)).toEqual([404, 'not_found']);
    expect((await deliveries(`?task=${task}`, kim)).data).toEqual([]);
    const ofNoTask = whole.filter(({ task_id: id }) => id === null).map(({ id }) => id);
    expect((await deliveries('?limit=100', kim)).data.map(({ id }) => id)).toEqual(ofNoTask);
    const [one = '', next = ''] = ofNoTask;
    expect(await deliveries('?limit=1', kim)).toMatchObject({ data: [{ id: one }], has_more: true, next: one });
    expect((await deliveries(`?limit=1&after=${one}`, kim)).data.map(({ id }) => id)).toEqual([next]);
    room.receiver.answer('/bad', 204);
    expect((await member.call(`/webhooks/deliveries/${failing.id}/resend`, { method: 'POST' })).status).toBe(202);
    const [first, , third] = await room.receiver.arrived('/bad', 3);
    expect(third!.headers['webhook-id']).toBe(first!.headers['webhook-id']);
    expect(await settled(`?endpoint=${bad.id}`)).toMatchObject({ status: 'delivered' });

    for (const query of ['', `?task=${task}`, `?endpoint=${bad.id}`, `?after=${leafed[0]!.id}`]) {
      expect(await deliveries(query, eve)).toEqual({ data: [], has_more: false, next: null });
    }
    for (const query of ['?status=lost', '?limit=0', '?limit=101', '?state=failed', '?task=%00']) {
      expect((await ada.call(`/webhooks/deliveries${query}`)).status).toBe(400);
    }
    await removed(bad.id);
    expect((await deliveries(`?endpoint=${bad.id}`)).data[0]).toMatchObject({ url: null, task_id: task });
  });

  it('are signed with the old secret too while it is valid, and keep other accounts apart', async () => {
    const before = (await ada.ask<Rows>('/webhooks/secrets')).data;
    const after = (await ada.ask<Rows>('/webhooks/secrets/rotate', { body: { overlap_hours: 1 } })).data;
    expect(after.map(({ secret }) => secret)).toEqual([expect.stringMatching(/^whsec_/), before[0]!['secret']]);
    expect(after[0]!['expires_at']).toBeNull();
    const hours = (Date.parse(String(after[1]!['expires_at'])) - Date.now()) / 3_600_000;
    expect(hours).toBeGreaterThan(0.9);
    expect(hours).toBeLessThanOrEqual(1.01);
    expect(JSON.stringify(await eve.ask('/webhooks/secrets'))).not.toContain(String(after[0]!['secret']));
    expect((await ada.call('/webhooks/secrets/rotate', { body: { overlap_hours: 721 } })).status).toBe(400);
    expect((await ada.ask<Rows>('/webhooks/secrets/rotate', { body: { overlap_hours: 0 } })).data).toHaveLength(1);
  });
});
