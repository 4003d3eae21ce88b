import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { parse } from 'yaml';
import { waitUntil } from '#embedded/wait-until.js';
import { doctor } from '../../apps/standalone/src/commands/doctor.js';
import { signInFirstAdmin } from '../support/console.js';
import { readEvents } from '../support/event-source.js';
import { freePort } from '../support/free-port.js';
import { OwnRedis, REDIS_PASSWORD } from '../support/own-redis.js';
import { pastedLines } from '../support/pasted-lines.js';
import { patient, patientSetting } from '../support/patience.js';
import type { Platform } from '../support/platform.js';
import { startApi, startWorker } from '../support/processes.js';
import { TEST_CERTIFICATE } from '../support/test-certificate.js';
import { startWebhookPlatform, type WebhookPlatform } from '../support/webhook-platform.js';

const GENERATIONS = '/v1/images/generations';
const MODELS = `
providers:
  house: { type: sandbox, limits: { concurrency: 4, starts_per_minute: 600 } }
models:
  gpt-image-2: { kind: image, routes: [{ provider: house }] }
  talk: { kind: chat, routes: [{ provider: house }] }
`;

interface Service {
  readonly command: readonly string[];
}

describe('a Redis with TLS, and a user with the rights that docs/operations.md names', () => {
  let redis: OwnRedis;
  let admin: Redis;
  let authority: string;
  let address: string;
  let room: WebhookPlatform;
  let platform: Platform;

  beforeAll(async () => {
    redis = await OwnRedis.open();
    const [certificate, key] = ['server.pem', 'server.key'].map((name) => join(redis.folder, name));
    authority = certificate!;
    await writeFile(certificate!, TEST_CERTIFICATE.cert);
    await writeFile(key!, TEST_CERTIFICATE.key);
    const models = join(redis.folder, 'models.yaml');
    await writeFile(models, MODELS);
    const port = await freePort();
    const user = pastedLines('docs/operations.md', '### A Redis user of its own').replace('PASSWORD', 'least');
    const server = await redis.start('server', [
      ...[`tls-port ${port}`, `tls-cert-file ${certificate}`, `tls-key-file ${key}`, 'tls-auth-clients no'],
      user,
    ]);
    admin = new Redis(server.url, { commandTimeout: patient(10_000) });
    address = `rediss://darkroom:least@127.0.0.1:${port}/0`;
    room = await startWebhookPlatform({
      REDIS_URL: address,
      REDIS_PREFIX: '{darkroom}',
      REDIS_CA_FILE: authority,
      MODELS_FILE: models,
      // The limits that are kept in Redis.
      MAX_TASKS_IN_FLIGHT: '50',
      RATE_SUBMITS_PER_MINUTE: '100',
      RATE_POLLS_PER_MINUTE: '1000',
      RATE_CHATS_PER_MINUTE: '100',
      LEASE_MS: patientSetting(3_000),
    });
    ({ platform } = room);
  });
  afterAll(async () => {
    await room.close();
    admin.disconnect();
    await redis.close();
  });

  const order = (more: object) => ({ body: { model: 'gpt-image-2', resolution: '1k', prompt: 'a harbor', ...more } });
  async function submit(more: object): Promise<string> {
    const response = await platform.call(`${GENERATIONS}/async`, order(more));
    await response.text();
    return response.headers.get('x-task-id') ?? '';
  }
  async function read(id: string): Promise<{ status: string; phase: string }> {
    const response = await platform.call(`/v1/tasks/${id}`);
    return ((await response.json()) as { data: { status: string; phase: string } }).data;
  }
  const statusOf = async (id: string): Promise<string> => (await read(id)).status;
  const isRunning = async (id: string): Promise<boolean> => (await read(id)).phase === 'running';

  it('never needs another right, whatever callers, users, workers and operators do', async () => {
    expect((await platform.call(GENERATIONS, order({}))).status).toBe(200);
    const stream = await platform.call(GENERATIONS, order({ stream: true, partial_images: 1 }));
    const events = [];
    for await (const { event } of readEvents(stream)) events.push(event);
    expect(events.at(-1)).toBe('image_generation.completed');
    const told = await submit({ callback_url: room.receiver.url('/told') });
    await room.receiver.arrived('/told');
    expect(await statusOf(told)).toBe('completed');
    const messages = [{ role: 'user', content: 'hello' }];
    expect((await platform.call('/v1/chat/completions', { body: { model: 'talk', messages } })).status).toBe(200);

    const slow = await submit({ prompt: 'a harbor [[latency=20s]]' });
    expect(await waitUntil(() => isRunning(slow), { timeoutMs: 30_000 })).toBe(true);
    await (await platform.call(`/v1/tasks/${slow}/cancel`, { method: 'POST' })).text();
    expect(await waitUntil(async () => (await statusOf(slow)) === 'cancelled', { timeoutMs: 30_000 })).toBe(true);

    const ada = await signInFirstAdmin(platform);
    for (const page of ['/providers', '/queue', '/queue/history']) await ada.ask(page);
    await ada.ask('/providers/house/drain', { body: {} });
    await ada.ask('/providers/house/resume', { body: {} });
    await ada.ask('/providers/house/try', { method: 'POST' });

    // A worker that dies in the middle: its task is swept up, and its job is taken over.
    const lost = await submit({ prompt: 'a harbor [[latency=20s]]' });
    expect(await waitUntil(() => isRunning(lost), { timeoutMs: 30_000 })).toBe(true);
    platform.worker.kill('SIGKILL');
    await platform.worker.exited;
    const second = await startWorker(platform.settings);
    expect(await waitUntil(async () => (await statusOf(lost)) === 'completed', { timeoutMs: 60_000 })).toBe(true);
    await second.stop();
    expect(await admin.call('ACL', 'LOG')).toEqual([]);
    expect(platform.api.output()).not.toContain('NOPERM');
  });

  it('are those of the user in docker-compose.yml', async () => {
    const { services } = parse(await readFile('docker-compose.yml', 'utf8')) as { services: { redis: Service } };
    const line = /echo "(.*?)" > \/tmp\/password\.conf;/.exec(services.redis.command.at(-1) ?? '')?.[1] ?? '';
    const server = await redis.start('composed', [line.replace('$$REDIS_PASSWORD', REDIS_PASSWORD)]);
    const own = new Redis(server.url, { commandTimeout: patient(10_000) });
    const rightsOf = async (name: string, from: Redis): Promise<unknown> =>
      ((await from.call('ACL', 'GETUSER', name)) as unknown[]).slice(4);
    try {
      expect(await own.ping()).toBe('PONG');
      await expect(own.config('GET', '*')).rejects.toThrow(/NOPERM/);
      await admin.call('ACL', 'SETUSER', 'composed', ...line.split(' ').slice(2));
    } finally {
      own.disconnect();
    }
    expect(await rightsOf('composed', admin)).toEqual(await rightsOf('darkroom', admin));
  });

  it('leaves the user no way to other keys, other channels or the server', async () => {
    const own = new Redis(address, { tls: { ca: TEST_CERTIFICATE.cert }, commandTimeout: patient(10_000) });
    try {
      for (const [command, ...values] of [
        ...[['get', 'other'], ['keys', '*'], ['scan', '0'], ['flushall'], ['config', 'get', '*']],
        ...[['publish', 'other', 'x'], ['subscribe', 'other'], ['acl', 'list'], ['script', 'flush'], ['shutdown']],
      ]) {
        await expect(own.call(command!, ...values)).rejects.toThrow(/NOPERM/);
      }
    } finally {
      own.disconnect();
    }
  });

  it('is told by the doctor and the probes when the prefix is not the user’s', async () => {
    const rights = async (prefix: string): Promise<string> => {
      const lines: string[] = [];
      const env = { ...platform.settings, REDIS_URL: address, REDIS_CA_FILE: authority, REDIS_PREFIX: prefix };
      await doctor(env, (text) => lines.push(text));
      return lines.find((text) => text.includes('redis rights')) ?? '';
    };
    expect(await rights('{darkroom}')).toMatch(/^ok {4}redis rights /);
    expect(await rights('{restored}')).toMatch(
      /^fail {2}redis rights .*NOPERM.*; allow the user the keys and channels/,
    );
    const settings = { ...platform.settings, REDIS_PREFIX: '{restored}', PORT: String(await freePort()) };
    const api = await startApi(settings);
    const isLost = (line: Record<string, unknown>): boolean =>
      line['event'] === 'dependency.lost' && line['code'] === 'queue';
    expect(await waitUntil(() => api.logs().some(isLost), { timeoutMs: 45_000 })).toBe(true);
    expect(JSON.stringify(api.logs().find(isLost))).toContain('NOPERM');
    expect((await fetch(`${api.url}/readyz`)).status).toBe(200);
    await api.stop();
    await admin.call('ACL', 'LOG', 'RESET');
  });

  it('trusts the authority of REDIS_CA_FILE, and nobody else', async () => {
    const stranger = new Redis(address, { lazyConnect: true, retryStrategy: () => null });
    const reasons: string[] = [];
    stranger.on('error', ({ message }) => reasons.push(message));
    await stranger.connect().catch(() => undefined);
    expect(reasons.join()).toMatch(/self-signed certificate/);
    stranger.disconnect();
  });
});
