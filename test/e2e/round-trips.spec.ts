import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { CountingProxy } from '../support/counting-proxy.js';
import { LedgerProvider } from '../support/ledger-provider.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';
import { startInstantWorker, startWorker, type TestProcess } from '../support/processes.js';
import { serviceAddress } from '../support/service-address.js';

const CALLS = 20;
const CALLERS = 40;
const WAVES = 3;
/** What one sync call of one caller takes, by process: lower it when a change needs fewer, raise it only with a reason. */
const RECORDED = JSON.parse(readFileSync(resolve('bench', 'round-trips.json'), 'utf8')) as Record<string, number>;

/** An API, and the proxies through which it and a worker reach Postgres and Redis. */
async function openRoom(more: Readonly<Record<string, string>> = {}) {
  const proxies = new Map<string, CountingProxy>();
  const linked = async (process: string, databaseUrl: string) => {
    const postgres = await CountingProxy.start(databaseUrl);
    const redis = await CountingProxy.start(serviceAddress('TEST_REDIS_URL'));
    proxies.set(`${process} to Postgres`, postgres).set(`${process} to Redis`, redis);
    return { DATABASE_URL: postgres.url, REDIS_URL: redis.url };
  };
  let database = '';
  const platform = await startApiPlatform(async (databaseUrl) => {
    database = databaseUrl;
    // The counts are those of calls that are limited, which the settings of other tests switch off.
    const limits = { RATE_SUBMITS_PER_MINUTE: '100000', MAX_TASKS_IN_FLIGHT: '1000' };
    // What a process asks now and again is none of a call's.
    const calm = { SWEEP_INTERVAL_MS: '60000', HEALTH_CHECK_INTERVAL_MS: '60000' };
    return { ...limits, ...calm, ...more, ...(await linked('API', databaseUrl)) };
  });
  const settings = { ...platform.settings, ...(await linked('worker', database)) };
  return { platform, proxies, settings };
}

async function generate(platform: ApiPlatform, prompt = 'a lighthouse'): Promise<void> {
  const body = { model: 'gpt-image-2', prompt, size: 'auto', response_format: 'url' };
  const answer = await platform.call('/v1/images/generations', { body });
  expect(answer.status).toBe(200);
  await answer.text();
}

/** The fewest round trips of each proxy in any of the calls: others have some of what a process asks now and again. */
async function fewest(
  proxies: ReadonlyMap<string, CountingProxy>,
  calls: number,
  call: () => Promise<void>,
): Promise<(readonly [name: string, count: number])[]> {
  const counts = (): number[] => [...proxies.values()].map(({ roundTrips }) => roundTrips);
  const perCall: number[][] = [];
  for (let n = 0; n < calls; n++) {
    const before = counts();
    await call();
    perCall.push(counts().map((count, index) => count - (before[index] ?? 0)));
  }
  return [...proxies.keys()].map((name, index) => [name, Math.min(...perCall.map((trips) => trips[index] ?? 0))]);
}

function expectNoMore(found: readonly (readonly [name: string, count: number])[]): void {
  process.stdout.write(`round trips of a sync call: ${JSON.stringify(Object.fromEntries(found))}\n`);
  const more = found.filter(([name, count]) => count > (RECORDED[name] ?? 0));
  expect(Object.fromEntries(more)).toEqual({});
}

/** Each process reaches Postgres and Redis through a proxy of its own. Unlike times, counts are the same on every machine. */
describe('round trips of calls to a provider that charges', () => {
  let provider: LedgerProvider;
  let room: Awaited<ReturnType<typeof openRoom>>;
  let worker: TestProcess;
  beforeAll(async () => {
    provider = await LedgerProvider.start();
    room = await openRoom({ OPENAI_API_KEY: 'sk-ledger', OPENAI_BASE_URL: provider.url });
    // All writes of a row but the renewals of its lease.
    await room.platform.pool.query(`
      CREATE TABLE row_writes (task_id text, what text);
      CREATE FUNCTION note_write() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN INSERT INTO row_writes VALUES (NEW.id, NEW.phase || ' ' || NEW.progress); RETURN NULL; END $$;
      CREATE TRIGGER writes_noted AFTER UPDATE ON tasks FOR EACH ROW
        WHEN (to_jsonb(OLD) - 'lease_until' <> to_jsonb(NEW) - 'lease_until') EXECUTE FUNCTION note_write();`);
    worker = await startWorker(room.settings);
  });
  afterAll(async () => {
    await worker.stop();
    await room.platform.close();
    for (const proxy of room.proxies.values()) await proxy.close();
    await provider.close();
  });

  it('are those of its claim, its start and its end, and of the queue', async () => {
    let n = 0;
    const found = await fewest(room.proxies, CALLS, () => generate(room.platform, `a lighthouse ${n++}`));
    expect(provider.ledger).toHaveLength(CALLS);
    expectNoMore(found.map(([name, count]) => [`${name}, provider charges`, count]));
  });

  it('write the row three times after it was inserted', async () => {
    const { rows } = await room.platform.pool.query<{ writes: string[] }>(
      'SELECT array_agg(what ORDER BY ctid) AS writes FROM row_writes GROUP BY task_id',
    );
    expect(rows).toHaveLength(CALLS);
    const fewestWrites = rows.map(({ writes }) => writes).sort((a, b) => a.length - b.length)[0];
    expect(fewestWrites).toEqual(['running 0', 'running 5', 'done 100']);
  });
});

describe('round trips', () => {
  let room: Awaited<ReturnType<typeof openRoom>>;
  let worker: TestProcess;
  beforeAll(async () => {
    room = await openRoom();
    worker = await startInstantWorker(room.settings);
  });
  afterAll(async () => {
    await worker.stop();
    await room.platform.close();
    for (const proxy of room.proxies.values()) await proxy.close();
  });

  const counts = (): number[] => [...room.proxies.values()].map(({ roundTrips }) => roundTrips);

  it('of a sync call are as few as they were', async () => {
    expectNoMore(await fewest(room.proxies, CALLS, () => generate(room.platform)));
  });

  it('of many callers at once are shared', async () => {
    const before = counts();
    for (let wave = 0; wave < WAVES; wave++) {
      await Promise.all(Array.from({ length: CALLERS }, () => generate(room.platform)));
    }
    const shares = [...room.proxies.keys()].map((name, index) => {
      const share = ((counts()[index] ?? 0) - (before[index] ?? 0)) / (WAVES * CALLERS);
      return [`${name}, many callers`, Math.round(10 * share) / 10] as const;
    });
    expectNoMore(shares);
  });
});
