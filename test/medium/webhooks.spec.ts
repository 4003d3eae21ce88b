import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import OpenAI from 'openai';
import { Webhook } from 'standardwebhooks';
import { TaskLinks } from '#answers/task-links.js';
import { loadConfig } from '#config/load-config.js';
import { EgressConfig } from '#egress/egress.config.js';
import { PublicPoster } from '#egress/post-public-url.js';
import { MailConfig } from '#notifications/mail/mail.config.js';
import { Mailer } from '#notifications/mail/mailer.js';
import { AttemptLimiter } from '#limits/attempt-limiter.js';
import { RateCounter } from '#limits/rate-counter.js';
import { RedisConfig } from '#redis/redis.config.js';
import { TextSealer } from '#secrets/sealed-text.js';
import { resultKey } from '#storage/object-key.js';
import { ResultLinks } from '#storage/result-links.js';
import { LinkSigner } from '#storage/signed-link.js';
import { StorageConfig } from '#storage/storage.config.js';
import { TaskEstimates } from '#tasks/admission/task-estimates.js';
import { newTaskId } from '#tasks/row/task-id.js';
import type { TaskCommand } from '#tasks/row/task.js';
import { Metrics } from '#telemetry/metrics.js';
import { DeliveryLog, type LoggedDelivery } from '#notifications/deliveries/delivery-log.js';
import { NewDeliveries } from '#notifications/deliveries/new-deliveries.js';
import { EndpointStore } from '#notifications/endpoint-store.js';
import { ExpireWebhooks } from '#notifications/deliveries/expire-webhooks.js';
import { WEBHOOK_SECRETS, WebhookSecretStore } from '#notifications/secret-store.js';
import { WebhookGauges } from '#notifications/deliveries/webhook-gauges.js';
import { WebhooksConfig } from '#notifications/webhooks.config.js';
import { allTasksOf } from '#tasks/row/task.js';
import { AlertMails } from '../../apps/worker/src/webhooks/alert-mails.js';
import { DeliverWebhook } from '../../apps/worker/src/webhooks/deliver-webhook.js';
import { WebhookMessages } from '../../apps/worker/src/webhooks/webhook-message.js';
import { WorkerConfig } from '../../apps/worker/src/worker.config.js';
import { command, openTaskRoom, TEST_ACCOUNT, type TaskRoom } from '../support/task-room.js';
import { TEST_CERTIFICATE } from '../support/test-certificate.js';
import { startWebhookReceiver, type Received, type WebhookReceiver } from '../support/webhook-receiver.js';

const SECRET_KEY = 'k'.repeat(40);
const DEADLINE_MS = 900_000;
const ENDPOINTS = 20;

// Real: Postgres, Redis, an https receiver. Ours for the test: the resolver of names, where a test says so.
describe('webhooks', () => {
  let room: TaskRoom;
  let receiver: WebhookReceiver;
  let endpoints: EndpointStore;
  let secrets: WebhookSecretStore;
  let log: DeliveryLog;
  let newDeliveries: NewDeliveries;
  let path: string;
  let paths = 0;

  beforeAll(async () => {
    receiver = await startWebhookReceiver();
  });
  afterAll(() => receiver.close());
  beforeEach(async () => {
    room = await openTaskRoom();
    endpoints = new EndpointStore(room.database, { ...new WebhooksConfig(), endpointsPerAccount: ENDPOINTS });
    secrets = new WebhookSecretStore(room.database, sealer());
    log = new DeliveryLog(room.database, endpoints);
    newDeliveries = new NewDeliveries(room.database, endpoints);
    path = `/hook-${++paths}?token=receiver`;
  });
  afterEach(() => room.close());

  function sealer(keys = { secretKey: SECRET_KEY, secretKeyPrevious: undefined as string | undefined }): TextSealer {
    return new TextSealer(keys, WEBHOOK_SECRETS);
  }

  /** A worker's part in webhooks, as its module puts it together. */
  function deliverer(egress: Record<string, string> = {}, resolved = '127.0.0.1', timeoutMs = '15000'): DeliverWebhook {
    const [egressConfig, storage, config] = loadConfig([EgressConfig, StorageConfig, WebhooksConfig], {
      EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
      EGRESS_PORTS: String(receiver.port),
      S3_BUCKET: 'unused',
      WEBHOOK_TIMEOUT_MS: timeoutMs,
      ...egress,
    });
    const network = {
      resolve: () => Promise.resolve([{ address: resolved, family: 4 }]),
      ca: TEST_CERTIFICATE.cert,
    };
    const estimates = new TaskEstimates(room.times, room.line, room.health);
    const signer = new LinkSigner({ secretKey: SECRET_KEY }, 'https://darkroom.example');
    const messages = new WebhookMessages(
      room.store,
      new TaskLinks(new ResultLinks(storage, signer), estimates),
      secrets,
      new WorkerConfig(),
    );
    const counter = new RateCounter(room.redis, { ...new RedisConfig(), redisPrefix: room.prefix });
    const limits = new AttemptLimiter(counter, 3_600);
    const mails = new AlertMails(new Mailer(new MailConfig(), room.logger), limits, new WorkerConfig());
    const poster = new PublicPoster(egressConfig, network);
    const { deliveryTransitions, deliveries, logger } = room;
    return new DeliverWebhook(deliveryTransitions, deliveries, messages, poster, mails, config, logger);
  }

  /** A task of an asynchronous call that has just been completed. */
  async function completed(changes: Partial<TaskCommand> = {}): Promise<string> {
    const { id } = await room.inserts.insert(command({ asynchronous: true, ...changes }), DEADLINE_MS);
    const claim = await room.transitions.claim(id, 'worker', 20_000);
    const attempt = claim?.attempt ?? 0;
    const image = { contentType: 'image/png', width: 64, height: 64, bytes: 1, sha256: '00' };
    const images = [{ key: resultKey(id, attempt, 'png'), ...image }];
    expect(await room.transitions.complete({ id, attempt }, { images, usage: undefined, warnings: [] })).toBeDefined();
    return id;
  }

  async function deliveriesOf(taskId: string): Promise<LoggedDelivery[]> {
    return log.list(TEST_ACCOUNT, { taskId, limit: 100 });
  }

  async function onlyDelivery(taskId: string): Promise<LoggedDelivery & { taskId: string }> {
    const found = await deliveriesOf(taskId);
    expect(found).toHaveLength(1);
    return { ...(found[0] as LoggedDelivery), taskId };
  }

  async function sql(text: string, values: unknown[] = []): Promise<void> {
    await room.sql(text, values);
  }

  const makeDue = (): Promise<void> =>
    sql(`UPDATE webhook_deliveries SET next_try_at = now() - interval '1 s' WHERE state = 'pending'`);

  /** What both libraries make of a webhook under a secret; undefined when they refuse it. Fails when they disagree. */
  async function verified({ body, headers }: Received, secret: string): Promise<unknown> {
    const flat = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
    const openai: unknown = await new OpenAI({ apiKey: 'unused' }).webhooks
      .unwrap(body, flat, secret)
      .catch(() => undefined);
    let standard: unknown;
    try {
      standard = new Webhook(secret).verify(body, flat);
    } catch {
      standard = undefined;
    }
    expect(openai).toEqual(standard);
    return standard;
  }

  it('tell the callback and the endpoints of an account, and of nobody else, in the words of a poll', async () => {
    await sql(`INSERT INTO accounts (id, name) VALUES ('acct_other', 'Other')`);
    const wanted = await endpoints.add(TEST_ACCOUNT, receiver.url(path));
    const failuresOnly = await endpoints.add(TEST_ACCOUNT, receiver.url(path), ['image.task.failed']);
    const off = await endpoints.add(TEST_ACCOUNT, receiver.url(path));
    await endpoints.disable(TEST_ACCOUNT, off);
    await endpoints.add('acct_other', receiver.url(path));
    const id = await completed({ callbackUrl: receiver.url(`${path}&callback`) });

    const found = await deliveriesOf(id);
    expect(found.map(({ endpointId }) => endpointId).sort()).toEqual([null, wanted].sort());
    expect(JSON.stringify(found)).not.toContain(failuresOnly);
    for (const delivery of found) await deliverer().run(delivery.id);

    const [hook] = receiver.at(path);
    const [callback] = receiver.at(`${path}&callback`);
    expect(receiver.at(path)).toHaveLength(1);
    expect(hook?.method).toBe('POST');
    expect(hook?.headers).toMatchObject({
      'content-type': 'application/json',
      'webhook-id': id.replace('task_', 'evt_'),
      'user-agent': 'Darkroom',
    });
    expect(callback?.headers['webhook-id']).toBe(hook?.headers['webhook-id']);
    const task = await room.store.find(allTasksOf(TEST_ACCOUNT), id);
    expect(hook?.event).toMatchObject({
      id: id.replace('task_', 'evt_'),
      object: 'event',
      type: 'image.task.completed',
      created_at: Math.floor((task?.finishedAt?.getTime() ?? 0) / 1000),
      timestamp: task?.finishedAt?.toISOString(),
      data: { id, status: 'completed', progress: 100, phase: 'done', request_id: task?.requestId },
    });
    expect(hook?.event.data.result?.images[0]?.url[0]).toMatch(/^https:\/\/darkroom\.example\/i\/.+&sig=/);
    const [{ secret }] = await secrets.valid(TEST_ACCOUNT);
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(await verified(hook as Received, secret)).toEqual(hook?.event);
    expect(await verified(hook as Received, `whsec_${Buffer.alloc(32).toString('base64')}`)).toBeUndefined();
    for (const delivery of await deliveriesOf(id)) {
      expect(delivery).toMatchObject({ state: 'delivered', nextTryAt: null, attempts: [{ number: 1, status: 200 }] });
    }
  });

  it('are written with every kind of end, and not for calls that waited for their answer', async () => {
    await endpoints.add(TEST_ACCOUNT, receiver.url(path));
    const asynchronous = { asynchronous: true };
    const failing = await room.inserts.insert(command(asynchronous), DEADLINE_MS);
    const claim = await room.transitions.claim(failing.id, 'worker', 20_000);
    const error = { type: 'api_error', code: 'internal_error', message: 'x', param: null, http_status: 500 } as const;
    await room.transitions.fail({ id: failing.id, attempt: claim?.attempt ?? 0 }, error);
    const cancelled = await room.inserts.insert(command(asynchronous), DEADLINE_MS);
    await room.store.cancel(allTasksOf(TEST_ACCOUNT), cancelled.id);
    const overdue = await room.inserts.insert(command(asynchronous), DEADLINE_MS);
    await sql(`UPDATE tasks SET deadline_at = now() - interval '1 second' WHERE id = $1`, [overdue.id]);
    await room.newSweep().failOverdue();
    const waited = await completed({ asynchronous: false });

    for (const { id } of [failing, cancelled, overdue]) await deliverer().run((await onlyDelivery(id)).id);
    expect(await deliveriesOf(waited)).toEqual([]);
    expect(receiver.at(path).map(({ event: { type, data } }) => [type, data.id, data.error?.code])).toEqual([
      ['image.task.failed', failing.id, 'internal_error'],
      ['image.task.cancelled', cancelled.id, undefined],
      ['image.task.failed', overdue.id, 'generation_timeout'],
    ]);
  });

  it('come again after the pauses of the schedule, under the same id, until they are taken', async () => {
    await endpoints.add(TEST_ACCOUNT, receiver.url(path));
    const says = `no\u0000t now\u001b ${'é'.repeat(600)}`;
    receiver.answer(path, (response) => response.writeHead(500).end(says));
    const id = await completed();
    const { id: delivery } = await onlyDelivery(id);
    const pauses = [5, 300, 1_800, 7_200, 18_000, 36_000];
    for (const [index, pause] of pauses.entries()) {
      const begun = performance.now();
      await deliverer().run(delivery);
      const { rows } = await room.sql(
        'SELECT EXTRACT(EPOCH FROM next_try_at - now())::float8 AS left, state FROM webhook_deliveries',
      );
      expect(rows).toMatchObject([{ state: 'pending' }]);
      // By Postgres' clock, in whole milliseconds, between the two moments that this process knows.
      const [{ left }] = rows as [{ left: number }];
      expect(left).toBeLessThanOrEqual(pause + 0.001);
      expect(left).toBeGreaterThan(pause - (performance.now() - begun) / 1_000 - 0.01);
      // Still not due, however long that took.
      await room.sql(`UPDATE webhook_deliveries SET next_try_at = next_try_at + interval '1 minute'`);
      await deliverer().run(delivery);
      expect(receiver.at(path)).toHaveLength(index + 1);
      await makeDue();
    }
    await deliverer().run(delivery);
    const given = await onlyDelivery(id);
    expect(given).toMatchObject({ state: 'failed', nextTryAt: null });
    expect(given.attempts.map(({ number, status }) => [number, status])).toEqual(
      Array.from({ length: 7 }, (_, index) => [index + 1, 500]),
    );
    // 500 bytes, of which two are no characters.
    expect(given.attempts[0]!.answer).toBe(`not now ${'é'.repeat(245)}`);

    expect(await newDeliveries.resend('acct_other', delivery)).toBeUndefined();
    expect(await newDeliveries.resend(TEST_ACCOUNT, delivery)).toMatchObject({ deliveryId: delivery });
    await deliverer().run(delivery);
    expect(await onlyDelivery(id)).toMatchObject({ state: 'pending' });
    receiver.answer(path, 204);
    await newDeliveries.resend(TEST_ACCOUNT, delivery);
    await deliverer().run(delivery);
    const taken = await onlyDelivery(id);
    expect(taken).toMatchObject({ state: 'delivered' });
    expect(taken.attempts.at(-1)).toMatchObject({ status: 204, answer: null });
    expect(new Set(receiver.at(path).map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(receiver.at(path)).toHaveLength(9);
  });

  it('are delivered by one of many workers that try, and by another when that one died', async () => {
    await endpoints.add(TEST_ACCOUNT, receiver.url(path));
    const { id } = await onlyDelivery(await completed());
    await Promise.all([1, 2, 3, 4].map(() => deliverer().run(id)));
    expect(receiver.at(path)).toHaveLength(1);

    const lost = await onlyDelivery(await completed());
    const lease = await room.deliveryTransitions.claim(lost.id, 25_000);
    await deliverer().run(lost.id);
    expect(receiver.at(path)).toHaveLength(1);
    await sql(`UPDATE webhook_deliveries SET lease_until = now() - interval '1 second' WHERE id = $1`, [lost.id]);
    await deliverer().run(lost.id);
    expect(receiver.at(path)).toHaveLength(2);
    // What the sleeper brings at last is noted, and changes nothing.
    const step = { state: 'failed', delayMs: 0, gone: true, counts: true } as const;
    if (lease === undefined) throw new Error('not claimed');
    expect(await room.deliveryTransitions.finish(lease, { status: 410 }, step, 1)).toBeUndefined();
    expect(await onlyDelivery(lost.taskId)).toMatchObject({
      state: 'delivered',
      attempts: [
        { number: 1, status: 410 },
        { number: 2, status: 200 },
      ],
    });
    expect(await endpoints.list(TEST_ACCOUNT)).toMatchObject([{ disabledAt: null }]);
  });

  it('stop for an endpoint that answers 410, and go on when it is enabled again', async () => {
    const endpoint = await endpoints.add(TEST_ACCOUNT, receiver.url(path));
    const first = await completed();
    const second = await completed();
    receiver.answer(path, 410);
    await deliverer().run((await onlyDelivery(first)).id);
    expect(await onlyDelivery(first)).toMatchObject({ state: 'failed', attempts: [{ status: 410 }] });
    expect(await endpoints.list(TEST_ACCOUNT)).toMatchObject([{ id: endpoint, disabledReason: 'gone' }]);
    await deliverer().run((await onlyDelivery(second)).id);
    expect(await onlyDelivery(second)).toMatchObject({ state: 'failed', attempts: [{ error: 'endpoint_disabled' }] });
    expect(await deliveriesOf(await completed())).toEqual([]);
    expect(receiver.at(path)).toHaveLength(1);

    receiver.answer(path, 200);
    expect(await endpoints.enable('acct_other', endpoint)).toBe(false);
    expect(await endpoints.enable(TEST_ACCOUNT, endpoint)).toBe(true);
    await deliverer().run((await onlyDelivery(await completed())).id);
    expect(receiver.at(path)).toHaveLength(2);
    const late = await completed();
    expect(await endpoints.remove(TEST_ACCOUNT, endpoint)).toBe(true);
    await deliverer().run((await onlyDelivery(late)).id);
    expect(await onlyDelivery(late)).toMatchObject({ state: 'failed', attempts: [{ error: 'removed' }] });
  });

  it('end when retention has taken the task', async () => {
    const id = await completed({ callbackUrl: receiver.url(path) });
    await sql('DELETE FROM tasks WHERE id = $1', [id]);
    await deliverer().run((await onlyDelivery(id)).id);
    expect(await onlyDelivery(id)).toMatchObject({ state: 'failed', attempts: [{ error: 'removed' }] });
    expect(receiver.at(path)).toEqual([]);
  });

  it('follow no redirect, reach no private address, and trust no stranger', async () => {
    await endpoints.add(TEST_ACCOUNT, receiver.url(path));
    receiver.answer(path, (response) => response.writeHead(307, { location: receiver.url('/elsewhere') }).end());
    const redirected = await onlyDelivery(await completed());
    await deliverer().run(redirected.id);
    expect(receiver.at('/elsewhere')).toEqual([]);
    expect(await onlyDelivery(redirected.taskId)).toMatchObject({ state: 'pending', attempts: [{ status: 307 }] });

    const before = receiver.at(path).length;
    const outcome = async (url: string, egress: Record<string, string> = {}, resolved?: string): Promise<unknown> => {
      const { id, taskId } = await onlyDelivery(await completed({ asynchronous: false, callbackUrl: url }));
      await deliverer(egress, resolved).run(id);
      return (await onlyDelivery(taskId)).attempts[0]?.error;
    };
    const named = `https://files.example:${receiver.port}${path}`;
    expect(await outcome(named, {}, '10.0.0.1')).toBe('unreachable');
    expect(await outcome(named, { NODE_ENV: 'production' })).toBe('unreachable');
    expect(await outcome(named, { EGRESS_ALLOW_CIDRS: '' })).toBe('unreachable');
    expect(await outcome(receiver.url(path), { EGRESS_PORTS: '443' })).toBe('unreachable');
    const plain = createServer((_, response) => response.end())
      .listen(0, '127.0.0.1')
      .unref();
    await once(plain, 'listening');
    const port = String((plain.address() as AddressInfo).port);
    const unencrypted = await outcome(`http://127.0.0.1:${port}${path}`, { EGRESS_PORTS: port });
    plain.close();
    expect(unencrypted).toBe('unreachable');
    expect(await outcome(`https://other.example:${receiver.port}${path}`)).toBe('tls');
    expect(receiver.at(path)).toHaveLength(before);
    expect(await outcome(named)).toBeNull();
    expect(receiver.at(path)).toHaveLength(before + 1);
  });

  it('wait for no receiver longer than they may, and read no more of its answer than 64 KB', async () => {
    await endpoints.add(TEST_ACCOUNT, receiver.url(path));
    receiver.answer(path, () => undefined);
    const silent = await onlyDelivery(await completed());
    await deliverer({}, undefined, '300').run(silent.id);
    expect(await onlyDelivery(silent.taskId)).toMatchObject({ state: 'pending', attempts: [{ error: 'timeout' }] });

    let sent = 0;
    receiver.answer(path, (response) => {
      response.on('error', () => undefined).writeHead(200);
      const pump = (): void => {
        if (response.destroyed) return;
        sent += 65_536;
        response.write(Buffer.alloc(65_536), pump);
      };
      pump();
    });
    const endless = await onlyDelivery(await completed());
    await deliverer().run(endless.id);
    expect(await onlyDelivery(endless.taskId)).toMatchObject({ state: 'delivered', attempts: [{ status: 200 }] });
    expect(sent).toBeLessThan(10_000_000);
  });

  it('that a stopping process cut short are sent again at once, and the cut counts for nothing', async () => {
    await endpoints.add(TEST_ACCOUNT, receiver.url(path));
    const stopped = deliverer();
    receiver.answer(path, () => stopped.stop());
    const { id, taskId } = await onlyDelivery(await completed());
    await stopped.run(id);
    receiver.answer(path, 500);
    await deliverer().run(id);
    const { attempts, nextTryAt } = await onlyDelivery(taskId);
    expect(attempts).toMatchObject([{ error: 'interrupted' }, { status: 500 }]);
    expect(nextTryAt?.getTime()).toBeLessThan(Date.now() + 60_000);
  });

  it('verify under both secrets while one takes over from the other, and never under a third', async () => {
    await endpoints.add(TEST_ACCOUNT, receiver.url(path));
    const [first] = await Promise.all([1, 2, 3].map(() => secrets.valid(TEST_ACCOUNT)));
    const oldest = first?.[0].secret ?? '';
    expect((await secrets.valid(TEST_ACCOUNT)).map(({ secret }) => secret)).toEqual([oldest]);
    const { secret: middle } = await secrets.rotate(TEST_ACCOUNT, 3_600_000);
    await deliverer().run((await onlyDelivery(await completed())).id);
    const { secret: newest } = await secrets.rotate(TEST_ACCOUNT, 3_600_000);
    await deliverer().run((await onlyDelivery(await completed())).id);
    await sql(`UPDATE webhook_secrets SET expires_at = now() - interval '1 s' WHERE expires_at IS NOT NULL`);
    await deliverer().run((await onlyDelivery(await completed())).id);

    const accepted = await Promise.all(
      receiver
        .at(path)
        .map((hook) =>
          Promise.all([oldest, middle, newest].map(async (key) => (await verified(hook, key)) !== undefined)),
        ),
    );
    expect(accepted).toEqual([
      [true, true, false],
      [false, true, true],
      [false, false, true],
    ]);
  });

  it('keep secrets that only SECRET_KEY opens, also after it was changed, and try again without it', async () => {
    await endpoints.add(TEST_ACCOUNT, receiver.url(path));
    const [{ secret }] = await secrets.valid(TEST_ACCOUNT);
    const { rows } = await room.sql('SELECT * FROM webhook_secrets');
    expect(JSON.stringify(rows) + String(Buffer.from((rows[0] as { sealed: Buffer }).sealed))).not.toContain(
      secret.slice(6),
    );
    const newKey = 'n'.repeat(40);
    secrets = new WebhookSecretStore(room.database, sealer({ secretKey: newKey, secretKeyPrevious: undefined }));
    const unreadable = await onlyDelivery(await completed());
    await deliverer().run(unreadable.id);
    expect(await onlyDelivery(unreadable.taskId)).toMatchObject({
      state: 'pending',
      attempts: [{ error: 'secret_unreadable' }],
    });
    const both = new WebhookSecretStore(room.database, sealer({ secretKey: newKey, secretKeyPrevious: SECRET_KEY }));
    expect(await both.valid(TEST_ACCOUNT)).toMatchObject([{ secret }]);
    // Read once under both keys, it is under the new one.
    expect(await secrets.valid(TEST_ACCOUNT)).toMatchObject([{ secret }]);
  });

  it('are found when no job was added for them, and added once', async () => {
    await endpoints.add(TEST_ACCOUNT, receiver.url(path));
    const due = await completed();
    const later = await completed();
    const lease = await completed();
    await sql(`UPDATE webhook_deliveries SET next_try_at = now() + interval '1 hour' WHERE task_id = $1`, [later]);
    await room.deliveryTransitions.claim((await onlyDelivery(lease)).id, 25_000);
    const { id } = await onlyDelivery(due);
    expect(await room.deliveries.enqueueForgotten()).toBe(1);
    expect(await room.redis.keys(`${room.prefix}:webhooks:whd_*`)).toEqual([`${room.prefix}:webhooks:${id}-0`]);
    expect(await room.deliveries.enqueueForgotten()).toBe(0);
    await room.redis.del(`${room.prefix}:webhooks:${id}-0`);
    expect(await room.deliveries.enqueueForgotten()).toBe(1);
  });

  it('belong to their account, and their log goes when its time is over', async () => {
    const endpoint = await endpoints.add(TEST_ACCOUNT, receiver.url(path));
    const id = await completed();
    expect(await endpoints.list('acct_other')).toEqual([]);
    expect(await log.list('acct_other', { taskId: id, limit: 10 })).toEqual([]);
    expect(await endpoints.remove('acct_other', endpoint)).toBe(false);
    expect(await endpoints.disable('acct_other', endpoint)).toBe(false);
    expect(await log.list(TEST_ACCOUNT, { taskId: newTaskId(), limit: 10 })).toEqual([]);

    const expire = new ExpireWebhooks(room.database, room.logger);
    const retention = { taskRetentionHours: 168 };
    // However old, one that is still tried is kept.
    await sql(`UPDATE webhook_deliveries SET created_at = now() - interval '169 hours'`);
    await expire.run(retention);
    expect([(await deliveriesOf(id)).length, await expire.dueSince(retention)]).toEqual([1, undefined]);
    await deliverer().run((await onlyDelivery(id)).id);
    await secrets.rotate(TEST_ACCOUNT, 0);
    await sql(`UPDATE webhook_deliveries SET created_at = now() - interval '167 hours'`);
    await expire.run(retention);
    expect(await deliveriesOf(id)).toHaveLength(1);
    await sql(`UPDATE webhook_deliveries SET created_at = now() - interval '169 hours'`);
    // It has ended just now, which is not late.
    expect(await expire.dueSince(retention)).toBeUndefined();
    await sql(`UPDATE webhook_deliveries SET ended_at = now() - interval '61 minutes'`);
    expect(await expire.dueSince(retention)).toBeInstanceOf(Date);
    await expire.run(retention);
    const { rows } = await room.sql(`SELECT (SELECT count(*) FROM webhook_deliveries)::int AS deliveries,
      (SELECT count(*) FROM webhook_attempts)::int AS attempts, (SELECT count(*) FROM webhook_secrets)::int AS secrets`);
    expect(rows).toEqual([{ deliveries: 0, attempts: 0, secrets: 1 }]);
  });

  it('measures the oldest delivery that waits, behind however many of another account', async () => {
    await room.sql(
      `INSERT INTO webhook_deliveries (id, account_id, task_id, event, state, next_try_at)
       SELECT 'whd_' || n, CASE WHEN n = 0 THEN 'acct_z' ELSE 'acct_a' END, 'task_' || n, 'image.task.completed', 'pending',
         now() - CASE WHEN n = 0 THEN interval '1 hour' ELSE interval '1 second' END
       FROM generate_series(0, 10050) AS n`,
    );
    const metrics = new Metrics();
    new WebhookGauges(metrics, room.database).onModuleInit();
    const text = await metrics.text();
    const oldest = /webhook_oldest_due_seconds\{state="due"\} ([\d.]+)/.exec(text)?.[1];
    expect(Number(oldest)).toBeGreaterThanOrEqual(3_600);
    expect(text).toMatch(/webhook_backlog\{state="due"\} 10000\n/);
    expect(text).toMatch(/webhook_backlog\{state="later"\} 0\n/);
  });
});
