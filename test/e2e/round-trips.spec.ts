import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { CountingProxy } from '../support/counting-proxy.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';
import { startInstantWorker, type TestProcess } from '../support/processes.js';
import { serviceAddress } from '../support/service-address.js';

const CALLS = 20;
const [CALLERS, WAVES] = [40, 3];
/** What one sync call of one caller takes, by process: lower it when a change needs fewer, raise it only with a reason. */
const RECORDED = JSON.parse(readFileSync(resolve('bench', 'round-trips.json'), 'utf8')) as Record<string, number>;

/** Each process reaches Postgres and Redis through a proxy of its own. Unlike times, counts are the same on every machine. */
describe('round trips', () => {
  let platform: ApiPlatform;
  let worker: TestProcess;
  const proxies = new Map<string, CountingProxy>();
  beforeAll(async () => {
    const linked = async (process: string, databaseUrl: string) => {
      const [postgres, redis] = [
        await CountingProxy.start(databaseUrl),
        await CountingProxy.start(serviceAddress('TEST_REDIS_URL')),
      ];
      proxies.set(`${process} to Postgres`, postgres).set(`${process} to Redis`, redis);
      return { DATABASE_URL: postgres.url, REDIS_URL: redis.url };
    };
    let database = '';
    platform = await startApiPlatform(async (databaseUrl) => {
      database = databaseUrl;
      // The counts are those of calls that are limited, which the settings of other tests switch off.
      const limits = { RATE_SUBMITS_PER_MINUTE: '100000', MAX_TASKS_IN_FLIGHT: '1000' };
      // What a process asks now and again is none of a call's.
      const calm = { SWEEP_INTERVAL_MS: '60000', HEALTH_CHECK_INTERVAL_MS: '60000' };
      return { ...limits, ...calm, ...(await linked('API', databaseUrl)) };
    });
    worker = await startInstantWorker({ ...platform.settings, ...(await linked('worker', database)) });
  });
  afterAll(async () => {
    await worker.stop();
    await platform.close();
    for (const proxy of proxies.values()) await proxy.close();
  });

  const counts = (): number[] => [...proxies.values()].map(({ roundTrips }) => roundTrips);
  const generate = async (): Promise<void> => {
    const body = { model: 'gpt-image-2', prompt: 'a lighthouse', size: 'auto', response_format: 'url' };
    const answer = await platform.call('/v1/images/generations', { body });
    expect(answer.status).toBe(200);
    await answer.text();
  };
  const expectNoMore = (found: readonly (readonly [name: string, count: number])[]): void => {
    process.stdout.write(`round trips of a sync call: ${JSON.stringify(Object.fromEntries(found))}\n`);
    const more = found.filter(([name, count]) => count > (RECORDED[name] ?? 0));
    expect(Object.fromEntries(more)).toEqual({});
  };

  it('of a sync call are as few as they were', async () => {
    const perCall: number[][] = [];
    for (let call = 0; call < CALLS; call++) {
      const before = counts();
      await generate();
      perCall.push(counts().map((count, index) => count - (before[index] ?? 0)));
    }
    // What a process asks for now and again, or has left to do for the call before, is in some of them only.
    const least = [...proxies.keys()].map((name, index) => {
      return [name, Math.min(...perCall.map((call) => call[index] ?? 0))] as const;
    });
    expectNoMore(least);
  });

  it('of many callers at once are shared', async () => {
    const before = counts();
    for (let wave = 0; wave < WAVES; wave++) await Promise.all(Array.from({ length: CALLERS }, generate));
    const shares = [...proxies.keys()].map((name, index) => {
      const share = ((counts()[index] ?? 0) - (before[index] ?? 0)) / (WAVES * CALLERS);
      return [`${name}, many callers`, Math.round(10 * share) / 10] as const;
    });
    expectNoMore(shares);
  });
});
