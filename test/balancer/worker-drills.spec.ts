import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { migrate } from '#database/migrate.js';
import { waitUntil } from '#embedded/wait-until.js';
import { startBalancer, type TestBalancer } from '../support/balancer.js';
import { judge } from '../support/drill.js';
import { newMarker, order } from '../support/fault-callers.js';
import { LedgerProvider } from '../support/ledger-provider.js';
import { patient } from '../support/patience.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { startWorker, type TestProcess } from '../support/processes.js';

const CONCURRENCY = 24;

// Real: HAProxy with the file we ship, an API, workers that come and go, a migration, and a provider that counts what it starts. No caller tries again.
describe('workers that come and go', () => {
  let provider: LedgerProvider;
  let platform: Platform;
  let balancer: TestBalancer;
  let workers: TestProcess[];

  beforeAll(async () => {
    provider = await LedgerProvider.start();
    platform = await startPlatform({
      OPENAI_API_KEY: 'sk-ledger-secret-key',
      OPENAI_BASE_URL: provider.url,
      WORKER_CONCURRENCY: String(CONCURRENCY),
      SHUTDOWN_GRACE_MS: '90000',
    });
    balancer = await startBalancer({ apis: [platform.url], env: { SOURCE_REQUESTS: '100000' } });
    workers = [platform.worker];
  });
  afterAll(async () => {
    await balancer.stop();
    await Promise.all(workers.map((worker) => worker.stop()));
    await platform.close();
    await provider.close();
  });

  /** One order, which its provider works on for so long; answers with the status. */
  async function call(markers: string[], latencyMs: number): Promise<number> {
    const marker = newMarker();
    markers.push(marker);
    provider.plan(marker, { latencyMs });
    const response = await platform.call('/v1/images/generations', {
      at: balancer,
      body: order(marker),
      signal: AbortSignal.timeout(patient(150_000)),
    });
    await response.arrayBuffer();
    return response.status;
  }

  it('O11: a worker that is replaced finishes the calls that may be paid', async () => {
    const markers: string[] = [];
    const calls = Array.from({ length: CONCURRENCY }, () => call(markers, 45_000));
    const areStarted = (): boolean => markers.every((marker) => provider.startsOf(marker).length > 0);
    expect(await waitUntil(areStarted, { timeoutMs: 30_000 })).toBe(true);
    const [old] = workers;
    workers = [await startWorker(platform.settings)];
    // Longer than a stopping process usually gets in tests.
    old?.kill('SIGTERM');
    expect(await old?.exited).toMatchObject({ code: 0 });
    await judge(platform.pool, provider, 'Worker replaced during 24 paid calls', markers, await Promise.all(calls));
  });

  it('one becomes eight and one again under load', async () => {
    const [markers, statuses]: [string[], number[]] = [[], []];
    let going = true;
    const callers = Array.from({ length: 8 }, async () => {
      while (going) statuses.push(await call(markers, 300));
    });
    const [kept, ...added] = [
      ...workers,
      ...(await Promise.all(Array.from({ length: 7 }, () => startWorker(platform.settings)))),
    ];
    workers = [kept!, ...added];
    const before = statuses.length;
    expect(await waitUntil(() => statuses.length >= before + 30, { timeoutMs: 60_000 })).toBe(true);
    for (const exit of await Promise.all(added.map((worker) => worker.stop()))) expect(exit).toMatchObject({ code: 0 });
    const after = statuses.length;
    expect(await waitUntil(() => statuses.length >= after + 10, { timeoutMs: 60_000 })).toBe(true);
    going = false;
    await Promise.all(callers);
    await judge(platform.pool, provider, 'Workers 1, 8, 1', markers, statuses);
  });

  it('O7: a migration waits behind an open reader of its table, and callers do not', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'darkroom-reader-'));
    await cp('prisma/migrations', folder, { recursive: true });
    const name = '99990101000000_of_the_next_version';
    await mkdir(join(folder, name));
    await writeFile(join(folder, name, 'migration.sql'), 'ALTER TABLE "tasks" ADD COLUMN "next" TEXT;');
    const reader = new pg.Client({ connectionString: platform.settings['DATABASE_URL'] });
    await reader.connect();
    await reader.query('BEGIN; SELECT 1 FROM tasks');
    const [markers, statuses]: [string[], number[]] = [[], []];
    let going = true;
    const callers = Array.from({ length: 8 }, async () => {
      while (going) statuses.push(await call(markers, 100));
    });
    const migrating = migrate(platform.settings['DATABASE_URL'] ?? '', folder);
    const isWaiting = async (): Promise<boolean> => {
      const waits = `SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'tasks'::regclass AND mode = 'AccessExclusiveLock'`;
      return (await reader.query(waits)).rowCount === 1;
    };
    // Each time it waits, callers wait behind it; each time it gives up, they go on.
    for (let time = 1; time <= 2; time++) {
      expect(await waitUntil(isWaiting, { timeoutMs: 30_000 })).toBe(true);
      const before = statuses.length;
      expect(await waitUntil(() => statuses.length >= before + 8, { timeoutMs: 60_000 })).toBe(true);
    }
    await reader.query('COMMIT');
    expect(await migrating).toEqual([name]);
    going = false;
    await Promise.all(callers);
    await judge(platform.pool, provider, 'Migration behind an open reader', markers, statuses);
    await reader.end();
    await rm(folder, { recursive: true });
  });
});
