import type { ServerResponse } from 'node:http';
import { Redis } from 'ioredis';
import OpenAI from 'openai';
import { Webhook } from 'standardwebhooks';
import { waitUntil } from '#embedded/wait-until.js';
import { TextSealer } from '#secrets/sealed-text.js';
import { DeliveryLog } from '#notifications/deliveries/delivery-log.js';
import { EndpointStore } from '#notifications/endpoint-store.js';
import { WebhooksConfig } from '#notifications/webhooks.config.js';
import { WEBHOOK_SECRETS, WebhookSecretStore } from '#notifications/secret-store.js';
import type { Platform } from '../support/platform.js';
import { startWorker } from '../support/processes.js';
import { TEST_ACCOUNT } from '../support/task-room.js';
import { startWebhookPlatform, type WebhookPlatform } from '../support/webhook-platform.js';
import type { Received, WebhookReceiver } from '../support/webhook-receiver.js';
import { databaseOf } from '../support/open-prisma.js';

const GENERATIONS = '/v1/images/generations';
const TOKEN = 'receivers-token-4d1c';

describe('webhooks', () => {
  let room: WebhookPlatform;
  let platform: Platform;
  let receiver: WebhookReceiver;
  let secret: string;
  let paths = 0;

  beforeAll(async () => {
    // The receiver is this process: a late answer, because it stalls, would be another attempt.
    room = await startWebhookPlatform({ WORKER_CONCURRENCY: '1', WEBHOOK_TIMEOUT_MS: '60000' });
    ({ platform, receiver } = room);
    const sealer = new TextSealer({ secretKey: platform.secretKey }, WEBHOOK_SECRETS);
    [{ secret }] = await new WebhookSecretStore(databaseOf(platform), sealer).valid(TEST_ACCOUNT);
  });
  afterAll(() => room.close());

  const freshPath = (): string => `/hook-${++paths}?token=${TOKEN}`;

  async function submit(prompt: string, path: string | undefined, way = '/async'): Promise<string> {
    const callback = path === undefined ? {} : { callback_url: receiver.url(path) };
    const body = { model: 'gpt-image-2', prompt, resolution: '1k', ...callback };
    const response = await platform.call(GENERATIONS + way, { body });
    expect([200, 202]).toContain(response.status);
    return response.headers.get('x-task-id') ?? '';
  }

  async function read(id: string): Promise<Received['event']['data']> {
    const response = await platform.call(`/v1/tasks/${id}`);
    return ((await response.json()) as { data: Received['event']['data'] }).data;
  }

  async function ended(id: string): Promise<Received['event']['data']> {
    expect(await waitUntil(async () => (await read(id)).status !== 'pending', { timeoutMs: 30_000 })).toBe(true);
    return read(id);
  }

  /** The event, once both libraries have verified it. */
  async function unwrapped({ body, headers }: Received): Promise<Received['event']> {
    const flat = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
    const event = (await new OpenAI({ apiKey: 'unused' }).webhooks.unwrap(body, flat, secret)) as unknown;
    expect(new Webhook(secret).verify(body, flat)).toEqual(event);
    return event as Received['event'];
  }

  function endpoints(): EndpointStore {
    return new EndpointStore(databaseOf(platform), { ...new WebhooksConfig(), endpointsPerAccount: 0 });
  }

  async function settled(taskId: string): Promise<unknown> {
    const log = new DeliveryLog(databaseOf(platform), endpoints());
    const look = () => log.list(TEST_ACCOUNT, { taskId, limit: 10 });
    await waitUntil(async () => (await look()).every(({ state }) => state !== 'pending'), { timeoutMs: 30_000 });
    return (await look()).map(({ state, attempts }) => [state, attempts.map(({ status }) => status)]);
  }

  it('tell of an image with a link that works, once, to callback and endpoint, both libraries verifying', async () => {
    const callback = freshPath();
    const hook = freshPath();
    const endpoint = await endpoints().add(TEST_ACCOUNT, receiver.url(hook));
    const waited = await submit('for somebody who waits', undefined, '');
    const id = await submit('a lighthouse', callback);
    const [first] = await receiver.arrived(callback);
    const [second] = await receiver.arrived(hook);
    expect(await settled(id)).toEqual([
      ['delivered', [200]],
      ['delivered', [200]],
    ]);
    expect(await settled(waited)).toEqual([]);
    const dialect = await platform.newKey({ submit_mode: 'apimart' });
    const body = { model: 'gpt-image-2', prompt: 'in the other dialect', resolution: '1k' };
    const submitted = await platform.call(GENERATIONS, { key: dialect, body });
    const [, third] = await receiver.arrived(hook, 2);
    expect(third?.event.data.id).toBe(submitted.headers.get('x-task-id'));
    await endpoints().remove(TEST_ACCOUNT, endpoint);

    const event = await unwrapped(first as Received);
    expect(await unwrapped(second as Received)).toMatchObject({ id: event.id, data: { id } });
    expect([receiver.at(callback).length, receiver.at(hook).length]).toEqual([1, 2]);
    const { result: _link, ...shown } = await read(id);
    expect(event).toMatchObject({ id: id.replace('task', 'evt'), type: 'image.task.completed', data: shown });
    const image = await fetch(event.data.result?.images[0]?.url[0] ?? '');
    expect(image.headers.get('content-type')).toBe('image/png');
    expect((await image.arrayBuffer()).byteLength).toBeGreaterThan(1_000);
  });

  it('section 4: tell the callback_url of a request of the other dialect, which has one path only', async () => {
    const key = await platform.newKey({ submit_mode: 'apimart' });
    const named = freshPath();
    const body = { model: 'gpt-image-2', prompt: 'a callback', resolution: '1k', callback_url: receiver.url(named) };
    const asked = await platform.call(GENERATIONS, { key, body });
    expect(asked.headers.get('x-ignored-params')).toBeNull();
    const [told] = await receiver.arrived(named);
    expect(told?.event.data.id).toBe(asked.headers.get('x-task-id'));
  });

  it('tell of failed, cancelled and overdue tasks', async () => {
    const failing = freshPath();
    const cancelled = freshPath();
    const overdue = freshPath();
    await submit('refused [[fault=moderation]]', failing);
    const [failure] = await receiver.arrived(failing);
    expect(await unwrapped(failure as Received)).toMatchObject({
      type: 'image.task.failed',
      data: { status: 'failed', error: { code: 'moderation_blocked' } },
    });
    const unwanted = await submit('unwanted [[latency=60s]]', cancelled);
    const late = await submit('too late [[latency=60s]]', overdue);
    await platform.call(`/v1/tasks/${unwanted}/cancel`, { method: 'POST' });
    const [cancel] = await receiver.arrived(cancelled);
    expect(await unwrapped(cancel as Received)).toMatchObject({
      type: 'image.task.cancelled',
      data: { id: unwanted, charged: 'none' },
    });
    await platform.pool.query(`UPDATE tasks SET deadline_at = now() - interval '1 s' WHERE id = $1`, [late]);
    const [deadline] = await receiver.arrived(overdue);
    expect(await unwrapped(deadline as Received)).toMatchObject({
      type: 'image.task.failed',
      data: { id: late, error: { code: 'generation_timeout' } },
    });
  });

  it('come again after an error of the receiver, and no image waits for a slow one', async () => {
    const broken = freshPath();
    const slow = freshPath();
    receiver.answer(broken, (response, { event }) => {
      response.writeHead(receiver.at(broken).length === 1 ? 500 : 200).end(event.id);
    });
    const id = await submit('twice', broken);
    const [once, again] = await receiver.arrived(broken, 2);
    expect(again?.headers['webhook-id']).toBe(once?.headers['webhook-id']);
    expect(await settled(id)).toEqual([['delivered', [500, 200]]]);

    const held: ServerResponse[] = [];
    receiver.answer(slow, (response) => held.push(response));
    // The only place for tasks is free although every one of these is still being told.
    for (let n = 1; n <= 3; n++) {
      const told = await submit('slow receiver', slow);
      expect(await ended(told)).toMatchObject({ status: 'completed' });
      const isTold = (): boolean => receiver.at(slow).some(({ event }) => event.data.id === told);
      expect(await waitUntil(isTold, { timeoutMs: 60_000 })).toBe(true);
    }
    expect(held.filter(({ destroyed }) => !destroyed).length).toBeGreaterThan(0);
    for (const response of held) response.end();
  });

  it('arrive although Redis lost everything between the end of the task and the delivery', async () => {
    const path = freshPath();
    const id = await submit('lost with Redis [[latency=60s]]', path);
    expect(await waitUntil(async () => (await read(id)).phase === 'running', { timeoutMs: 20_000 })).toBe(true);
    platform.worker.kill('SIGSTOP');
    const redis = new Redis(platform.settings['REDIS_URL'] ?? '');
    const keysOf = (pattern: string) => redis.keys(`${platform.settings['REDIS_PREFIX'] ?? ''}${pattern}`);
    // Deliveries of earlier tests may come again later.
    const earlier = new Set(await keysOf(':webhooks:whd_*'));
    await platform.call(`/v1/tasks/${id}/cancel`, { method: 'POST' });
    const isQueued = async (): Promise<boolean> => (await keysOf(':webhooks:whd_*')).some((key) => !earlier.has(key));
    expect(await waitUntil(isQueued, { timeoutMs: 20_000 })).toBe(true);
    platform.api.kill('SIGSTOP');
    const keys = await keysOf('*');
    await redis.unlink(keys);
    redis.disconnect();
    expect(receiver.at(path)).toEqual([]);
    platform.api.kill('SIGCONT');
    platform.worker.kill('SIGCONT');
    const [hook] = await receiver.arrived(path);
    expect(await unwrapped(hook as Received)).toMatchObject({ type: 'image.task.cancelled', data: { id } });
  });

  it('arrive although their worker was killed in the middle of a delivery', async () => {
    const path = freshPath();
    receiver.answer(path, () => undefined);
    const id = await submit('worker killed', path);
    const [lost] = await receiver.arrived(path);
    platform.worker.kill('SIGKILL');
    await platform.worker.exited;
    receiver.answer(path, 200);
    // As if its lease had run out.
    await platform.pool.query('UPDATE webhook_deliveries SET lease_until = now() WHERE task_id = $1', [id]);
    const another = await startWorker(platform.settings);
    const [, hook] = await receiver.arrived(path, 2);
    expect(hook?.headers['webhook-id']).toBe(lost?.headers['webhook-id']);
    expect(await settled(id)).toEqual([['delivered', [null, 200]]]);
    const written = platform.worker.output() + another.output() + platform.api.output();
    expect(written).toContain('webhook.delivered');
    for (const inside of [TOKEN, 'whsec_', secret.slice(6)]) expect(written).not.toContain(inside);
    await another.stop();
  });
});
