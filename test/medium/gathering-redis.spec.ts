import { PassThrough } from 'node:stream';
import { loadConfig } from '#config/load-config.js';
import { waitUntil } from '#embedded/wait-until.js';
import { patientConnection } from '#redis/connections.js';
import type { GatheringRedis } from '#redis/gathering-redis.js';
import { RedisConfig } from '#redis/redis.config.js';
import { Logger } from '#telemetry/logger.js';
import { CountingProxy } from '../support/counting-proxy.js';
import { serviceAddress } from '../support/service-address.js';

describe('a connection that gathers commands', () => {
  let proxy: CountingProxy;
  let redis: GatheringRedis;
  beforeAll(async () => {
    proxy = await CountingProxy.start(serviceAddress('TEST_REDIS_URL'));
    const [config] = loadConfig([RedisConfig], { REDIS_URL: proxy.url });
    redis = patientConnection(config, 'test', new Logger('test', 'info', new PassThrough()));
    expect(await waitUntil(() => redis.status === 'ready', { timeoutMs: 30_000 })).toBe(true);
    await redis.ping();
  });
  afterAll(async () => {
    redis.disconnect();
    await proxy.close();
  });

  async function tripsOf(work: () => Promise<unknown>): Promise<number> {
    const before = proxy.roundTrips;
    await work();
    return proxy.roundTrips - before;
  }

  it('writes what one turn of the event loop sends at once', async () => {
    expect(await tripsOf(() => Promise.all([redis.ping(), redis.time(), redis.ping()]))).toBe(1);
  });

  it('writes what can wait together with the next command', async () => {
    const all = async () => {
      const patient = [1, 2].map(() => redis.company(60_000).then(() => redis.ping()));
      expect(await redis.time()).toHaveLength(2);
      expect(await Promise.all(patient)).toEqual(['PONG', 'PONG']);
    };
    expect(await tripsOf(all)).toBe(1);
  });

  it('writes it alone when no other command comes in time', async () => {
    expect(await tripsOf(() => redis.company(1).then(() => redis.ping()))).toBe(1);
  });
});
