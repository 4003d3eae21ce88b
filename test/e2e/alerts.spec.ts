import { Webhook } from 'standardwebhooks';
import { waitUntil } from '#embedded/wait-until.js';
import { signInFirstAdmin, signInInvited, type Browser } from '../support/console.js';
import { insertFailed } from '../support/failed-task.js';
import { MailServer } from '../support/mail-server.js';
import { patientSetting } from '../support/patience.js';
import { startWorker, type TestProcess } from '../support/processes.js';
import { startWebhookPlatform, type WebhookPlatform } from '../support/webhook-platform.js';
import type { Received } from '../support/webhook-receiver.js';

interface Alert {
  readonly kind: string;
  readonly state: string;
  readonly subject: string;
  readonly title: string;
  readonly text: string;
  readonly path: string;
}
interface Told {
  readonly id: string;
  readonly type: string;
  readonly data: {
    readonly alert_id: string;
    readonly kind: string;
    readonly title: string;
    readonly text: string;
    readonly url: string;
    readonly resolved_at: string | null;
  };
}
type Rows<Row = Record<string, unknown>> = { readonly data: readonly Row[] };
type Channel = { readonly id: string; readonly last: Record<string, unknown> | null };

const RULES = { hold_minutes: 0, min_tasks: 2 };

/** Two workers, so that whatever is told once is told by one of them. */
describe('alerts', () => {
  let room: WebhookPlatform;
  let second: TestProcess;
  let ada: Browser;
  let eve: Browser;
  let other: string;
  let mail: MailServer;

  beforeAll(async () => {
    mail = await MailServer.start();
    room = await startWebhookPlatform({
      SMTP_URL: mail.url,
      MAIL_FROM: 'Darkroom <darkroom@example.org>',
      HEALTH_CHECK_INTERVAL_MS: '300',
      WEBHOOK_RETRY_SECONDS: '1,1,600',
      // What a busy machine reads too late would be told again.
      WEBHOOK_TIMEOUT_MS: patientSetting(15_000, 60_000),
      MAX_PROVIDER_STARTS: '1',
      PROVIDER_FAILURES: '2',
      PROVIDER_PAUSE_MS: '1000',
    });
    second = await startWorker(room.platform.settings);
    ada = await signInFirstAdmin(room.platform);
    other = await room.platform.newAccount();
    eve = await signInInvited(room.platform, { email: 'eve@example.org', role: 'admin', accountId: other });
  });
  afterAll(async () => {
    await second.stop();
    await room.close();
    await mail.close();
  });

  const sql = (text: string, values: unknown[] = []) => room.platform.pool.query(text, values);
  const set = (kind: string, body: object, who = ada) =>
    who.ask<Record<string, unknown>>(`/alerts/rules/${kind}`, { method: 'PUT', body });
  const add = async (path: string, kind = 'webhook', who = ada): Promise<string> =>
    (await who.ask<{ id: string }>('/alerts/channels', { body: { kind, address: room.receiver.url(path) } })).id;
  const remove = async (...ids: string[]): Promise<void> => {
    for (const id of ids) await ada.ask(`/alerts/channels/${id}`, { method: 'DELETE' });
  };
  const alerts = async (query = '', who = ada): Promise<readonly Alert[]> =>
    (await who.ask<Rows<Alert>>(`/alerts${query}`)).data;
  const toldOf = ({ body }: Received): Told => JSON.parse(body) as Told;
  /** Until every rule of the account that is on was held against what is there so often again. */
  const looks = async (times: number, account = 'acct_default'): Promise<void> => {
    for (let look = 0; look < times; look++) {
      const asked = 'SELECT min(evaluated_at) AS at FROM alert_rules WHERE enabled AND account_id = $1';
      const at = async () => Number(((await sql(asked, [account])).rows[0] as { at: Date }).at);
      const before = Date.now();
      expect(await waitUntil(async () => (await at()) > before, { timeoutMs: 20_000 })).toBe(true);
    }
  };
  const budget = (spent: number, limit = 10_000_000, owner = 'acct_default') =>
    sql(
      `INSERT INTO budgets (owner_id, owner, limit_micros, period, spent_micros, period_start)
       VALUES ($1, 'account', $2, 'total', $3, now())
       ON CONFLICT (owner_id) DO UPDATE SET limit_micros = $2, spent_micros = $3`,
      [owner, limit, spent],
    );
  /** Lets the time pass for which an alert must be clear. */
  const waitClear = async (kind: string): Promise<void> => {
    const clear = () => sql(`SELECT FROM alert_events WHERE kind = $1 AND clear_since IS NOT NULL`, [kind]);
    expect(await waitUntil(async () => (await clear()).rowCount === 1, { timeoutMs: 20_000 })).toBe(true);
    await sql(`UPDATE alert_events SET clear_since = clear_since - interval '1 hour' WHERE kind = $1`, [kind]);
  };
  const order = async (prompt: string): Promise<number> => {
    const body = { model: 'gpt-image-2', prompt, size: '1:1', resolution: '1k' };
    return (await room.platform.call('/v1/images/generations', { body })).status;
  };

  it('of budgets fire once with two workers, are told again at the next threshold, and once more when over', async () => {
    const channels = [await add('/budget?token=abc'), await add('/slack', 'slack')];
    await budget(5_500_000);
    expect(await set('budget', { enabled: true, thresholds: [100, 50, 80] })).toMatchObject({
      enabled: true,
      thresholds: [50, 80, 100],
    });
    const [first] = await room.receiver.arrived('/budget?token=abc');
    expect(toldOf(first!)).toEqual({
      id: expect.stringMatching(/^evt_/),
      object: 'event',
      type: 'alert.firing',
      created_at: expect.any(Number),
      timestamp: expect.any(String),
      data: {
        alert_id: expect.stringMatching(/^ale_/),
        kind: 'budget',
        subject: 'This account',
        title: 'This account has used 55% of its budget',
        text: expect.stringMatching(
          /^\$5\.50 of \$10\.00 is spent or reserved\. Requests that cost more than what is left are rejected .* Since \w+ \d+, \d\d:\d\d UTC\.$/,
        ),
        url: `${room.platform.url}/console/usage`,
        started_at: expect.any(String),
        resolved_at: null,
      },
    });
    const [{ secret }] = (await ada.ask<Rows>('/webhooks/secrets')).data as [{ secret: string }];
    const headers = Object.fromEntries(Object.entries(first!.headers).map(([name, value]) => [name, String(value)]));
    expect(new Webhook(secret).verify(first!.body, headers)).toMatchObject({ id: headers['webhook-id'] });
    const [slack] = await room.receiver.arrived('/slack');
    expect(Object.keys(JSON.parse(slack!.body) as object)).toEqual(['text', 'blocks']);
    expect(JSON.parse(slack!.body)).toMatchObject({
      text: 'This account has used 55% of its budget',
      blocks: expect.arrayContaining([
        { type: 'section', text: { type: 'mrkdwn', text: `<${room.platform.url}/console/usage|Open in Darkroom>` } },
      ]),
    });

    await looks(3);
    expect(room.receiver.at('/budget?token=abc')).toHaveLength(1);
    await budget(8_000_000);
    const [, next] = await room.receiver.arrived('/budget?token=abc', 2);
    expect(toldOf(next!).data).toMatchObject({ title: 'This account has used 80% of its budget' });
    expect(toldOf(next!).data.alert_id).toBe(toldOf(first!).data.alert_id);
    expect(toldOf(next!).id).not.toBe(toldOf(first!).id);

    // Around a threshold nothing is told again, nor is it over.
    for (const spent of [4_700_000, 5_100_000, 8_100_000]) {
      await budget(spent);
      await looks(2);
    }
    // The evaluations that were counted may not have written it yet.
    const isSaid = async (): Promise<boolean> =>
      (await alerts('?state=firing'))[0]?.title === 'This account has used 81% of its budget';
    expect(await waitUntil(isSaid, { timeoutMs: 20_000 })).toBe(true);
    expect(await alerts('?state=firing')).toMatchObject([{ kind: 'budget', subject: 'This account' }]);
    expect(room.receiver.at('/budget?token=abc')).toHaveLength(2);

    // A budget that was raised is another one.
    await budget(1_000_000, 20_000_000);
    await waitClear('budget');
    const [, , over] = await room.receiver.arrived('/budget?token=abc', 3);
    expect(toldOf(over!)).toMatchObject({
      type: 'alert.resolved',
      data: { title: 'Resolved: This account has used 81% of its budget', resolved_at: expect.any(String) },
    });
    expect(await alerts('?state=firing')).toEqual([]);
    expect(await alerts('?state=resolved')).toMatchObject([{ state: 'resolved', path: '/console/usage' }]);
    expect(await room.receiver.arrived('/slack', 3)).toHaveLength(3);
    await set('budget', { enabled: false });
    await remove(...channels);
  });

  it('repeat what goes on after so many hours, and close without a word when they are turned off', async () => {
    const channel = await add('/repeat');
    await budget(19_000_000, 20_000_000);
    await set('budget', { enabled: true, thresholds: [90], repeat_hours: 4 });
    await room.receiver.arrived('/repeat');
    await sql(`UPDATE alert_events SET notified_at = notified_at - interval '230 minutes' WHERE state = 'firing'`);
    await looks(2);
    expect(room.receiver.at('/repeat')).toHaveLength(1);
    await sql(`UPDATE alert_events SET notified_at = notified_at - interval '11 minutes' WHERE state = 'firing'`);
    const [first, again] = await room.receiver.arrived('/repeat', 2);
    expect(toldOf(again!)).toMatchObject({ type: 'alert.firing', data: { alert_id: toldOf(first!).data.alert_id } });
    // Somebody takes care of it: no more of that, whatever time passes.
    const path = `/alerts/${toldOf(first!).data.alert_id}/acknowledge`;
    expect((await eve.call(path, { method: 'POST' })).status).toBe(404);
    const acknowledged = { state: 'firing', acknowledged_by: 'Ada', acknowledged_at: expect.any(String) };
    const answer = await ada.ask<Alert>(path, { method: 'POST' });
    expect(answer).toMatchObject(acknowledged);
    expect(await ada.ask(path, { method: 'POST' })).toEqual(answer);
    expect(await alerts('?state=firing')).toMatchObject([acknowledged]);
    const said = await sql(`SELECT details->>'name' AS name FROM audit_log WHERE action = 'alert.acknowledged'`);
    expect(said.rows).toEqual([{ name: 'This account has used 95% of its budget' }]);
    await sql(`UPDATE alert_events SET notified_at = notified_at - interval '1 day' WHERE state = 'firing'`);
    await looks(2);
    expect(room.receiver.at('/repeat')).toHaveLength(2);
    await set('budget', { enabled: false });
    expect(await alerts('?limit=1')).toMatchObject([{ state: 'resolved', text: 'The alert was turned off.' }]);
    expect((await ada.call(path, { method: 'POST' })).status).toBe(404);
    const sent = `SELECT id FROM webhook_deliveries WHERE endpoint_id = '${channel}'`;
    expect((await room.platform.pool.query(sent)).rowCount).toBe(2);
    expect(room.receiver.at('/repeat')).toHaveLength(2);
    await remove(channel);
  });

  it('are told again under the same id when their worker is killed in the middle', async () => {
    const channel = await add('/killed');
    await second.stop();
    // Its lease is as long, and something more.
    second = await startWorker({ ...room.platform.settings, WEBHOOK_TIMEOUT_MS: '15000' });
    room.receiver.answer('/killed', () => second.kill('SIGKILL'));
    // Frozen, the other one cannot be who sends.
    room.platform.worker.kill('SIGSTOP');
    await set('budget', { enabled: true, thresholds: [90], repeat_hours: 0 });
    await second.exited;
    room.receiver.answer('/killed', 200);
    room.platform.worker.kill('SIGCONT');
    const [first, again] = await room.receiver.arrived('/killed', 2);
    expect(again!.headers['webhook-id']).toBe(first!.headers['webhook-id']);
    expect(again!.body).toBe(first!.body);
    second = await startWorker(room.platform.settings);
    await looks(2);
    expect(room.receiver.at('/killed')).toHaveLength(2);
    await set('budget', { enabled: false });
    await remove(channel);
  });

  it('of failures and of a provider that is down fire together, each with the page of its cause, without a prompt', async () => {
    const channel = await add('/down');
    await set('failure_rate', { ...RULES, enabled: true, thresholds: [50] });
    await set('overall_failure_rate', { ...RULES, enabled: true, thresholds: [50] });
    await set('provider_down', { ...RULES, enabled: true });
    await looks(1);
    expect(room.receiver.at('/down')).toEqual([]);
    for (let call = 0; call < 2; call++) expect(await order(`my secret wish ${call} [[fault=http-500]]`)).not.toBe(200);
    const told = (await room.receiver.arrived('/down', 3)).map(toldOf);
    const byKind = new Map(told.map(({ data }) => [data.kind, data]));
    expect([...byKind.keys()].sort()).toEqual(['failure_rate', 'overall_failure_rate', 'provider_down']);
    expect(byKind.get('failure_rate')).toMatchObject({
      title: '100% of tasks failed in the last 15 minutes',
      text: expect.stringMatching(/^2 of 2 tasks that ended in the last 15 minutes failed\./),
      url: `${room.platform.url}/console/tasks?status=failed`,
    });
    expect(byKind.get('provider_down')).toMatchObject({
      title: 'Provider “sandbox” is down',
      url: `${room.platform.url}/console/operation`,
    });
    expect(JSON.stringify(told)).not.toContain('secret wish');
    await looks(2);
    expect(room.receiver.at('/down')).toHaveLength(3);

    // The provider recovers, and what failed gets old.
    expect(await waitUntil(async () => (await order('a lake')) === 200, { timeoutMs: 30_000 })).toBe(true);
    await sql(`UPDATE tasks SET finished_at = finished_at - interval '1 hour' WHERE status = 'failed'`);
    for (const kind of byKind.keys()) await waitClear(kind);
    const over = (await room.receiver.arrived('/down', 6)).slice(3).map(toldOf);
    expect(over.map(({ data }) => data.kind).sort()).toEqual([...byKind.keys()].sort());
    expect(over.every(({ type }) => type === 'alert.resolved')).toBe(true);
    for (const kind of byKind.keys()) await set(kind, { enabled: false });
    await remove(channel);
  });

  it('of the queue fire when tasks have waited for long enough, and not before', async () => {
    const channel = await add('/queue');
    const later = new Date(Date.now() + 3_600_000);
    // As one that every worker gives back: nobody takes it before its time.
    const id = await insertFailed(room.platform, {
      status: 'pending',
      phase: 'queued',
      error: null,
      finished_at: null,
      provider: null,
      // Rounded to 11 minutes for almost one more.
      created_at: new Date(Date.now() - 10.6 * 60_000),
      next_try_at: later,
      deadline_at: later,
    });
    await set('queue_wait', { enabled: true, thresholds: [600], hold_minutes: 3 });
    await looks(2);
    expect(room.receiver.at('/queue')).toEqual([]);
    // The evaluation that was counted may not have written it yet.
    const isOlder = async (): Promise<boolean> => {
      const older = `UPDATE alert_events SET started_at = started_at - interval '3 minutes' WHERE state = 'pending'`;
      return (await room.platform.pool.query(older)).rowCount === 1;
    };
    expect(await waitUntil(isOlder, { timeoutMs: 30_000 })).toBe(true);
    const [told] = (await room.receiver.arrived('/queue')).map(toldOf);
    expect(told!.data).toMatchObject({
      kind: 'queue_wait',
      title: 'Tasks wait 11 minutes before they start',
      url: `${room.platform.url}/console/operation`,
    });
    await sql('UPDATE tasks SET next_try_at = now() WHERE id = $1', [id]);
    await waitClear('queue_wait');
    const [, over] = await room.receiver.arrived('/queue', 2);
    expect(toldOf(over!).type).toBe('alert.resolved');
    await set('queue_wait', { enabled: false });
    await remove(channel);
  });

  it('go to the channels that a rule names, which show how a test went', async () => {
    const wanted = await add('/wanted');
    const unwanted = await add('/unwanted?token=abc');
    const sent = await ada.ask<{ id: string }>(`/alerts/channels/${wanted}/test`, { method: 'POST' });
    const [test] = await room.receiver.arrived('/wanted');
    expect(toldOf(test!)).toMatchObject({ type: 'alert.test', data: { url: `${room.platform.url}/console/alerts` } });
    const lastOf = async (channel: string) =>
      (await ada.ask<Rows<Channel>>('/alerts/channels')).data.find(({ id }) => id === channel)!.last;
    const settled = async (channel: string) => {
      const ended = async () => !['pending', undefined].includes((await lastOf(channel))?.['status'] as string);
      expect(await waitUntil(ended, { timeoutMs: 20_000 })).toBe(true);
      return await lastOf(channel);
    };
    expect(await settled(wanted)).toMatchObject({ id: sent.id, test: true, status: 'delivered', answer: 200 });
    room.receiver.answer('/unwanted?token=abc', 500);
    await ada.ask(`/alerts/channels/${unwanted}/test`, { method: 'POST' });
    expect(await settled(unwanted)).toMatchObject({ test: true, status: 'failed', answer: 500 });
    expect(JSON.stringify(await ada.ask('/alerts/channels'))).not.toContain('token=abc');

    await set('budget', { enabled: true, thresholds: [90], channels: [wanted] });
    await room.receiver.arrived('/wanted', 2);
    await looks(1);
    expect(room.receiver.at('/unwanted?token=abc')).toHaveLength(1);
    // What named a channel that is no more goes to all.
    await remove(wanted);
    expect((await ada.ask<Rows>('/alerts/rules')).data[0]).toMatchObject({ kind: 'budget', channels: [] });
    // Neither its endpoints nor its log tell of channels.
    expect(await ada.ask('/webhooks/endpoints')).toMatchObject({ data: [] });
    expect(await ada.ask('/webhooks/deliveries')).toMatchObject({ data: [] });
    await set('budget', { enabled: false });
    await remove(unwanted);
    const audit = await ada.ask<Rows>('/audit?kind=alerts&limit=5');
    expect(audit.data.map(({ sentence }) => sentence)).toEqual([
      expect.stringMatching(/^removed the alert channel “https:\/\/127.0.0.1:\d+\/unwanted”$/),
      'turned off the alert “budget”',
      expect.stringMatching(/^removed the alert channel “.*\/wanted”$/),
      'turned on the alert “budget”',
      expect.stringMatching(/^sent a test to the alert channel “.*\/unwanted”$/),
    ]);
  });

  it('go by email, once with two workers, and again only if the server refuses it for a while', async () => {
    const { id, address } = await ada.ask<{ id: string; address: string }>('/alerts/channels', {
      body: { kind: 'email', address: ' Team@example.org' },
    });
    expect(address).toBe('team@example.org');
    expect(await ada.ask('/alerts/channels')).toMatchObject({ kinds: ['webhook', 'slack', 'email'] });
    await ada.ask(`/alerts/channels/${id}/test`, { method: 'POST' });
    const [test] = await mail.arrived('team@example.org');
    expect(test!.content).toContain('Subject: Test alert from Darkroom');
    const last = async () => (await ada.ask<Rows<Channel>>('/alerts/channels')).data[0]!.last;
    const isLast = async (status: string) =>
      await waitUntil(async () => (await last())?.['status'] === status, { timeoutMs: 20_000 });
    // The worker that sent it may take longer to write that down than the other one to send the next.
    expect(await isLast('delivered')).toBe(true);
    mail.refusals.push(451);
    await set('budget', { enabled: true, thresholds: [90] });
    const [, told] = await mail.arrived('team@example.org', 2);
    expect(told!.content).toContain('Subject: This account has used 95% of its budget');
    expect(told!.content).toMatch(/^Message-ID: <evt_\w+@example\.org>/m);
    expect(told!.content).toContain(`${room.platform.url}/console/usage`);
    expect(await isLast('delivered')).toBe(true);
    const tries = async () => {
      const tried = 'SELECT status FROM webhook_attempts JOIN webhook_deliveries ON id = delivery_id';
      const { rows } = await sql(`${tried} WHERE endpoint_id = $1 ORDER BY webhook_attempts.started_at`, [id]);
      return rows.map(({ status }: { status?: number }) => status);
    };
    expect(await tries()).toEqual([250, 451, 250]);
    await looks(2);
    expect(mail.mails).toHaveLength(2);
    // What no retry changes is not retried.
    await set('budget', { enabled: false });
    mail.refusals.push(550);
    await set('budget', { enabled: true });
    expect(await isLast('failed')).toBe(true);
    expect(await last()).toMatchObject({ answer: 550 });
    expect(await tries()).toEqual([250, 451, 250, 550]);
    expect(mail.mails).toHaveLength(2);
    await set('budget', { enabled: false });
    await remove(id);
  });

  it('keep accounts apart, and what is about the installation from all but operators', async () => {
    const mine = await add('/mine');
    const hers = await add('/hers', 'webhook', eve);
    expect((await eve.ask<Rows>('/alerts/rules')).data.map(({ kind }) => kind)).toEqual([
      'budget',
      'failure_rate',
      'webhook_failing',
      'approval_waiting',
      'end_user_abuse',
    ]);
    for (const kind of ['provider_down', 'queue_wait', 'overall_failure_rate', 'unmatched_notice', 'weather']) {
      expect((await eve.call(`/alerts/rules/${kind}`, { method: 'PUT', body: { enabled: true } })).status).toBe(404);
    }
    await budget(950_000, 1_000_000, other);
    await set('budget', { enabled: true, thresholds: [90] }, eve);
    await room.receiver.arrived('/hers');
    expect(room.receiver.at('/mine')).toEqual([]);
    expect(await alerts('', eve)).toMatchObject([{ kind: 'budget', state: 'firing' }]);
    expect((await alerts('?limit=100')).every(({ state }) => state === 'resolved')).toBe(true);
    expect((await eve.call(`/alerts/channels/${mine}/test`, { method: 'POST' })).status).toBe(404);
    expect((await eve.call(`/alerts/channels/${mine}`, { method: 'DELETE' })).status).toBe(404);
    expect((await eve.call('/alerts/rules/budget', { method: 'PUT', body: { channels: [mine] } })).status).toBe(400);
    expect((await ada.ask<Rows>('/alerts/channels')).data.map(({ id }) => id)).toEqual([mine]);
    const mo = await signInInvited(room.platform, { email: 'mo@example.org', role: 'member' });
    expect((await mo.call('/alerts')).status).toBe(403);
    expect(hers).not.toBe(mine);
  });

  it.each([
    [{ kind: 'webhook', address: 'https://10.0.0.1:PORT/x' }, 'address', 'public address'],
    [{ kind: 'slack', address: 'http://hooks.example.org/x' }, 'address', 'https://'],
    [{ kind: 'slack', address: `https://example.org/${'x'.repeat(2_048)}` }, 'address', 'too long'],
    [{ kind: 'email', address: 'nobody' }, 'address', 'valid email address'],
    [{ kind: 'pager', address: 'https://example.org' }, 'kind', 'one of'],
  ])('refuse the channel %j and say why', async (body, param, why) => {
    const address = body.address.replace('PORT', String(room.receiver.port));
    const answer = await ada.call('/alerts/channels', { body: { ...body, address } });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ error: { param, message: expect.stringContaining(why) } });
  });

  it.each([
    ['budget', { thresholds: [] }],
    ['budget', { thresholds: [101] }],
    ['budget', { thresholds: [0.5] }],
    ['budget', { thresholds: [1, 2, 3, 4, 5, 6] }],
    ['failure_rate', { window_minutes: 4 }],
    ['failure_rate', { repeat_hours: 721 }],
    ['queue_wait', { hold_minutes: -1 }],
    ['queue_wait', { enabled: 'yes' }],
    ['provider_down', { channels: ['whe_none'] }],
  ])('refuse the rule %s %j', async (kind, body) => {
    expect((await ada.call(`/alerts/rules/${kind}`, { method: 'PUT', body })).status).toBe(400);
  });
});
