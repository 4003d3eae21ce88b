import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { EmbeddedService } from '#embedded/postgres.js';
import { waitUntil } from '#embedded/wait-until.js';
import { connectRedis } from '#redis/connect-redis.js';
import { freePort } from '../support/free-port.js';
import { OwnRedis, REDIS_PASSWORD } from '../support/own-redis.js';
import { startBalancer, type TestBalancer } from '../support/balancer.js';
import { Drill } from '../support/drill.js';
import { order } from '../support/fault-callers.js';
import { FaultProxy } from '../support/fault-proxy.js';
import { LedgerProvider } from '../support/ledger-provider.js';
import { patient, patientSetting } from '../support/patience.js';
import { startPlatform, type Platform } from '../support/platform.js';

const GENERATIONS = '/v1/images/generations';
const PREFIX = '{sentinel}';
/** Longer than a busy machine may keep a living server from answering, which would bring another failover. */
const DOWN_AFTER_MS = patientSetting(1_700, 15_000);

/** HAProxy with the file we ship; master, replica and a Sentinel of their own; the settings also name a Sentinel that is gone. */
describe('Redis behind Sentinels', () => {
  let redis: OwnRedis;
  let servers: EmbeddedService[];
  let sentinel: Redis;
  let provider: LedgerProvider;
  let platform: Platform;
  let balancer: TestBalancer;

  beforeAll(async () => {
    provider = await LedgerProvider.start();
    redis = await OwnRedis.open();
    const shared = [`masterauth ${REDIS_PASSWORD}`, 'repl-diskless-sync-delay 0', 'repl-ping-replica-period 1'];
    const master = await redis.start('one', shared);
    servers = [master, await redis.start('two', [...shared, `replicaof 127.0.0.1 ${master.port}`])];
    const port = await freePort();
    const nobody = await freePort();
    const file = join(redis.folder, 'sentinel.conf');
    const settings = [
      ...[`port ${port}`, 'bind 127.0.0.1', 'requirepass watcher', `sentinel monitor main 127.0.0.1 ${master.port} 1`],
      ...[`sentinel auth-pass main ${REDIS_PASSWORD}`, `sentinel down-after-milliseconds main ${DOWN_AFTER_MS}`],
      ...[`sentinel failover-timeout main ${DOWN_AFTER_MS}`, ''],
    ];
    await writeFile(file, settings.join('\n'));
    await redis.startSentinel(file);
    sentinel = new Redis({ host: '127.0.0.1', port, password: 'watcher', commandTimeout: patient(10_000) });
    sentinel.on('error', () => undefined);
    const knowsReplica = async (): Promise<boolean> => {
      const replicas = (await sentinel.call('SENTINEL', 'replicas', 'main').catch(() => [])) as string[][];
      return replicas.some((fields) => fields[fields.indexOf('master-link-status') + 1] === 'ok');
    };
    expect(await waitUntil(knowsReplica, { timeoutMs: 30_000 })).toBe(true);
    platform = await startPlatform({
      REDIS_URL: `redis+sentinel://:${REDIS_PASSWORD}@127.0.0.1:${nobody},127.0.0.1:${port}/main`,
      REDIS_SENTINEL_PASSWORD: 'watcher',
      REDIS_PREFIX: PREFIX,
      SWEEP_INTERVAL_MS: '500',
      // Longer than a busy machine may stall, and shorter than callers wait.
      REDIS_COMMAND_TIMEOUT_MS: patientSetting(5_000, 20_000),
      OPENAI_API_KEY: 'sk-ledger-secret-key',
      OPENAI_BASE_URL: provider.url,
      WORKER_CONCURRENCY: '24',
    });
    balancer = await startBalancer({ apis: [platform.url], env: { SOURCE_REQUESTS: '100000' } });
  });
  afterAll(async () => {
    await balancer.stop();
    await platform.close();
    await provider.close();
    sentinel.disconnect();
    await redis.close();
  });

  const masterPort = async (): Promise<number> =>
    Number(((await sentinel.call('SENTINEL', 'get-master-addr-by-name', 'main')) as string[])[1]);

  async function submit(): Promise<{ status: number; id: string }> {
    const body = { model: 'gpt-image-2', resolution: '1k', prompt: 'a lighthouse' };
    const response = await platform.call(`${GENERATIONS}/async`, { at: balancer, body });
    await response.text();
    return { status: response.status, id: response.headers.get('x-task-id') ?? '' };
  }

  async function statusOf(id: string): Promise<string> {
    const response = await platform.call(`/v1/tasks/${id}`, { at: balancer });
    return ((await response.json()) as { data: { status: string } }).data.status;
  }

  /**
   * Submits all the time until the work brought another master, and requests are taken again, while other callers wait
   * for their images; nothing may be lost.
   */
  async function acrossFailover(name: string, fail: () => Promise<unknown>): Promise<void> {
    const drill = new Drill(provider, async (marker, signal) => {
      const response = await platform.call(GENERATIONS, { at: balancer, body: order(marker), signal });
      await response.arrayBuffer();
      return response.status;
    });
    await drill.hold(20);
    const before = await masterPort();
    const accepted: string[] = [];
    const refused = new Set<number>();
    const once = async (): Promise<boolean> => {
      const { status, id } = await submit();
      if (status === 202) accepted.push(id);
      else refused.add(status);
      return status === 202;
    };
    expect(await once()).toBe(true);
    await fail();
    const come = drill.come(20);
    const hasMoved = async (): Promise<boolean> => {
      const taken = await once();
      return taken && (await masterPort()) !== before;
    };
    expect(await waitUntil(hasMoved, { timeoutMs: 60_000, everyMs: 500 })).toBe(true);
    expect(await waitUntil(once, { timeoutMs: 30_000, everyMs: 100 })).toBe(true);
    drill.release();
    expect([...refused].filter((status) => status !== 503)).toEqual([]);
    const areDone = async (): Promise<boolean> =>
      (await Promise.all(accepted.map(statusOf))).every((status) => status === 'completed');
    expect(await waitUntil(areDone, { timeoutMs: 90_000, everyMs: 200 })).toBe(true);
    await come;
    await drill.judge(platform.pool, name);
  }

  /** A connection that has lost its server, and whose question for the master gets no answer; nor does it hear of the failover. */
  async function searching(): Promise<{ connection: Redis; close: () => Promise<void> }> {
    const own = `${sentinel.options.host}:${sentinel.options.port}`;
    const listeners = async (): Promise<number> => String(await sentinel.client('LIST')).split(' sub=1 ').length;
    const before = await listeners();
    // The first question, the ear for failovers, the questions after the loss: for 10 s, longer than the failover takes.
    const unanswered = Array.from({ length: 5 }, () => 'black-hole' as const);
    const way = await FaultProxy.start(`http://${own}`, ['pass', 'pass', ...unanswered]);
    const redisUrl = `redis+sentinel://:${REDIS_PASSWORD}@${new URL(way.url).host}/main`;
    const connection = connectRedis(
      { redisUrl, redisSentinelPassword: 'watcher' },
      { retryStrategy: () => 100, maxRetriesPerRequest: null },
    );
    connection.on('error', () => undefined);
    await connection.ping();
    expect(await waitUntil(async () => (await listeners()) > before, { timeoutMs: 15_000 })).toBe(true);
    connection.call('CLIENT', 'KILL', 'ID', await connection.client('ID'), 'SKIPME', 'no').catch(() => undefined);
    expect(await waitUntil(() => way.count === 3, { timeoutMs: 15_000 })).toBe(true);
    return {
      connection,
      close: async () => {
        connection.disconnect();
        await way.close();
      },
    };
  }

  it('O13: a planned failover, which breaks no connection by itself, loses nothing', async () => {
    const { connection, close } = await searching();
    try {
      await acrossFailover('Redis failover by Sentinel, planned', () => sentinel.call('SENTINEL', 'failover', 'main'));
      // The news of a failover must not end the search for the new master.
      const isMaster = async (): Promise<boolean> => (await connection.info('replication')).includes('role:master');
      expect(await waitUntil(isMaster, { timeoutMs: 30_000 })).toBe(true);
    } finally {
      await close();
    }
    // Callers of this API must not look as if it were gone: its subscription has moved, too.
    const now = new Redis({ port: await masterPort(), password: REDIS_PASSWORD, commandTimeout: patient(10_000) });
    const isPresent = async (): Promise<boolean> => (await now.pubsub('CHANNELS', `${PREFIX}:api:*`)).length === 1;
    expect(await waitUntil(isPresent, { timeoutMs: 15_000 })).toBe(true);
    now.disconnect();
  });

  it('O13: a master that dies is replaced; requests are taken again, and nothing accepted is lost', async () => {
    const port = await masterPort();
    const master = servers.find((server) => server.port === port)!;
    const replica = servers.find((server) => server !== master)!;
    const other = new Redis({ port: replica.port, password: REDIS_PASSWORD, commandTimeout: patient(10_000) });
    const follows = async (): Promise<boolean> => (await other.info('replication')).includes('master_link_status:up');
    expect(await waitUntil(follows, { timeoutMs: 30_000 })).toBe(true);
    other.disconnect();
    await acrossFailover('Redis master killed, Sentinel', () => Promise.resolve(process.kill(master.pid, 'SIGKILL')));
  });
});
