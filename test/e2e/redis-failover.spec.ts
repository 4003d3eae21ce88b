import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Redis } from 'ioredis';
import type { EmbeddedService } from '#embedded/postgres.js';
import { startRedis } from '#embedded/redis.js';
import { waitUntil } from '#embedded/wait-until.js';
import { FaultProxy } from '../support/fault-proxy.js';
import { freePort } from '../support/free-port.js';
import { patient } from '../support/patience.js';
import { SHIPPED_TIMEOUTS, startPlatform, type Platform } from '../support/platform.js';

const PASSWORD = 'failover';
const PREFIX = '{failover}';

/** Two Redis servers behind an address that moves, as managed ones are: the old master stays, and keeps its connections. */
describe('a Redis failover', () => {
  let folder: string;
  let servers: EmbeddedService[];
  let clients: Redis[];
  let address: FaultProxy;
  let platform: Platform;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-failover-'));
    servers = await Promise.all([start('one'), start('two')]);
    clients = servers.map(({ url }) => new Redis(url, { commandTimeout: patient(10_000) }));
    await Promise.all(clients.map((client) => client.config('SET', 'masterauth', PASSWORD)));
    await follow(1, 0);
    address = await FaultProxy.start(servers[0]!.url);
    platform = await startPlatform({
      ...SHIPPED_TIMEOUTS,
      REDIS_URL: address.url,
      REDIS_PREFIX: PREFIX,
      SWEEP_INTERVAL_MS: '500',
    });
  });
  afterAll(async () => {
    await platform.close();
    await address.close();
    for (const client of clients) client.disconnect();
    await Promise.all(servers.map((server) => server.stop()));
    await rm(folder, { recursive: true, force: true });
  });

  async function start(name: string): Promise<EmbeddedService> {
    return await startRedis({
      folder: join(folder, name),
      password: PASSWORD,
      log: join(folder, `${name}.log`),
      port: await freePort(),
      toolFolders: [resolve('node_modules', '.cache', 'darkroom')],
      durable: false,
    });
  }

  async function follow(replica: number, master: number): Promise<void> {
    const { hostname, port } = new URL(servers[master]!.url);
    await clients[replica]!.replicaof(hostname, Number(port));
    const isLinked = async (): Promise<boolean> =>
      (await clients[replica]!.info('replication')).includes('master_link_status:up');
    expect(await waitUntil(isLinked, { timeoutMs: 30_000 })).toBe(true);
  }

  async function works(): Promise<boolean> {
    const response = await platform.call('/v1/images/generations', {
      body: { model: 'gpt-image-2', resolution: '1k', prompt: 'a lighthouse' },
    });
    await response.text();
    return response.status === 200;
  }

  it('O13: is noticed although no connection breaks; API and workers go on at the new master', async () => {
    expect(await waitUntil(works, { timeoutMs: 30_000, everyMs: 200 })).toBe(true);
    await clients[1]!.replicaof('NO', 'ONE');
    address.moveTo(servers[1]!.url);
    await follow(0, 1);
    expect(await waitUntil(works, { timeoutMs: 30_000, everyMs: 200 })).toBe(true);
    // Callers of this API must not look as if it were gone.
    const isPresent = async (): Promise<boolean> =>
      (await clients[1]!.pubsub('CHANNELS', `${PREFIX}:api:*`)).length === 1;
    expect(await waitUntil(isPresent, { timeoutMs: 30_000 })).toBe(true);
    expect(await waitUntil(works, { timeoutMs: 30_000, everyMs: 200 })).toBe(true);
  });
});
