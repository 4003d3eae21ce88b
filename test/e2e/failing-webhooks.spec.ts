import { waitUntil } from '#embedded/wait-until.js';
import { signInFirstAdmin, signInInvited, type Browser } from '../support/console.js';
import { startWebhookPlatform, type WebhookPlatform } from '../support/webhook-platform.js';

interface Endpoint {
  readonly id: string;
  readonly failing_since: string | null;
  readonly recent: { hours: number; delivered: number; failed: number; retrying: number } | null;
}
type Rows<Row> = { readonly data: readonly Row[] };
type Resent = { readonly resent: number; readonly next: string | null };

const PATH = '/broken';
const ORDER = { model: 'gpt-image-2', prompt: 'told of', resolution: '1k' };

describe('a webhook endpoint that fails', () => {
  let room: WebhookPlatform;
  let ada: Browser;
  let mo: Browser;
  let id: string;

  beforeAll(async () => {
    // The receiver is this process: when it stalls, its answers are late, and a late one is another failure.
    room = await startWebhookPlatform({ HEALTH_CHECK_INTERVAL_MS: '300', WEBHOOK_TIMEOUT_MS: '60000' });
    ada = await signInFirstAdmin(room.platform);
    mo = await signInInvited(room.platform, { email: 'mo@example.org', role: 'member' });
    const body = { url: `${room.receiver.url(PATH)}?token=abc`, events: ['image.task.completed'] };
    ({ id } = await ada.ask<{ id: string }>('/webhooks/endpoints', { body }));
    room.receiver.answer(`${PATH}?token=abc`, 500);
  });
  afterAll(() => room.close());

  const endpoint = async (): Promise<Endpoint> =>
    (await ada.ask<Rows<Endpoint>>('/webhooks/endpoints')).data.find((one) => one.id === id)!;
  const until = async (isSo: (found: Endpoint) => boolean): Promise<Endpoint> => {
    expect(await waitUntil(async () => isSo(await endpoint()), { timeoutMs: 30_000 })).toBe(true);
    return await endpoint();
  };
  const submit = async (): Promise<void> => {
    const answer = await room.platform.call('/v1/images/generations/async', { body: ORDER });
    expect(answer.status).toBe(202);
  };
  const resend = (after?: string, who = ada) =>
    who.ask<Resent>(`/webhooks/endpoints/${id}/resend-failed`, { method: 'POST', body: { after } });
  const received = () => room.receiver.at(`${PATH}?token=abc`);

  it('is failing since its first failed attempt, with all deliveries that did not arrive', async () => {
    expect(await endpoint()).toMatchObject({ failing_since: null, recent: null });
    for (let n = 0; n < 3; n++) await submit();
    await room.receiver.arrived(`${PATH}?token=abc`, 6);
    // Each was tried twice, and waits for ten minutes. One whose second try has not ended would not be resent below.
    const waiting = 'SELECT 1 FROM webhook_deliveries WHERE tries = 2 AND lease_until IS NULL';
    const areWaiting = async (): Promise<boolean> => (await room.platform.pool.query(waiting)).rowCount === 3;
    expect(await waitUntil(areWaiting, { timeoutMs: 30_000 })).toBe(true);
    const { failing_since: since } = await until(({ recent }) => recent?.retrying === 3);
    expect(await endpoint()).toMatchObject({ recent: { hours: 24, delivered: 0, failed: 0, retrying: 3 } });
    expect(Date.parse(since!)).toBeLessThanOrEqual(Date.now());
  });

  it('is an alert of its own, without the tokens of its URL', async () => {
    await ada.ask('/alerts/rules/webhook_failing', { method: 'PUT', body: { enabled: true, hold_minutes: 0 } });
    const firing = async () => (await ada.ask<Rows<object>>('/alerts?state=firing')).data;
    expect(await waitUntil(async () => (await firing()).length === 1, { timeoutMs: 30_000 })).toBe(true);
    const [alert] = await firing();
    expect(alert).toMatchObject({
      kind: 'webhook_failing',
      subject: room.receiver.url(PATH),
      title: `Webhook endpoint ${room.receiver.url(PATH)} is failing`,
      text: expect.stringContaining('3 of 3 deliveries of the last 24 hours have not arrived'),
      path: '/console/webhooks',
    });
    expect(JSON.stringify(alert)).not.toContain('token');
  });

  it('gets everything that failed again at once, each delivery once, in batches', async () => {
    await room.platform.pool.query(
      `INSERT INTO webhook_deliveries (id, account_id, endpoint_id, event, state, attempts, tries, ended_at, created_at)
       SELECT 'whd_' || md5(n::text), 'acct_default', $1, 'webhook.test', 'failed', 1, 1, now(), now() - n * interval '1 second'
       FROM generate_series(1, 140) AS n`,
      [id],
    );
    expect((await endpoint()).recent).toEqual(expect.objectContaining({ delivered: 0, failed: 140, retrying: 3 }));
    const before = received().map(({ headers }) => String(headers['webhook-id']));
    room.receiver.answer(`${PATH}?token=abc`, 200);
    const first = await resend();
    expect(first).toEqual({ resent: 100, next: expect.stringMatching(/^whd_/) });
    expect(await resend(first.next!)).toEqual({ resent: 43, next: null });
    expect(await resend(first.next!)).toEqual({ resent: 0, next: null });
    expect(await until(({ recent }) => recent?.delivered === 143)).toMatchObject({
      failing_since: null,
      recent: { delivered: 143, failed: 0, retrying: 0 },
    });
    const again = received().slice(before.length);
    expect(again).toHaveLength(143);
    const ids = again.map(({ headers }) => String(headers['webhook-id']));
    expect(new Set(ids).size).toBe(143);
    expect(ids).toEqual(expect.arrayContaining([...new Set(before)]));
    const { rows } = await room.platform.pool.query(
      `SELECT details->>'count' AS count, details->>'url' AS url FROM audit_log
       WHERE action = 'webhook_deliveries.resent' ORDER BY id`,
    );
    expect(rows).toEqual(['100', '43'].map((count) => ({ count, url: room.receiver.url(PATH) })));
  });

  it('cannot be resent to by members, by other accounts, or while it is disabled', async () => {
    const path = `/webhooks/endpoints/${id}/resend-failed`;
    expect((await mo.call(path, { method: 'POST' })).status).toBe(403);
    const accountId = await room.platform.newAccount();
    const eve = await signInInvited(room.platform, { email: 'eve@example.org', role: 'admin', accountId });
    expect((await eve.call(path, { method: 'POST' })).status).toBe(404);
    await ada.ask(`/webhooks/endpoints/${id}`, { method: 'PATCH', body: { active: false } });
    expect((await ada.call(path, { method: 'POST' })).status).toBe(400);
  });

  it('is no longer failing once it is enabled again', async () => {
    await room.platform.pool.query('UPDATE webhook_endpoints SET failing_since = now() WHERE id = $1', [id]);
    await ada.ask(`/webhooks/endpoints/${id}`, { method: 'PATCH', body: { active: true } });
    expect(await endpoint()).toMatchObject({ failing_since: null });
  });
});
