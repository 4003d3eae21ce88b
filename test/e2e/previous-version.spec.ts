import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import pg from 'pg';
import { migrate } from '#database/migrate.js';
import { waitUntil } from '#embedded/wait-until.js';
import { createKey } from '../support/access.js';
import { call, newMarker, order } from '../support/fault-callers.js';
import { freePort } from '../support/free-port.js';
import { buildRelease, copyMigrations, hasCode, lastRelease, type LastRelease } from '../support/last-release.js';
import { LedgerProvider } from '../support/ledger-provider.js';
import { LONG_TIMEOUTS } from '../support/platform.js';
import { createEmptyDatabase, type TestDatabase } from '../support/postgres.js';
import { startApi, startVersion, startWorker, type TestProcess } from '../support/processes.js';
import { createTestRedis } from '../support/redis.js';

const SECRET_KEY = 'previous-5a0c7e3391b84d1f'.padEnd(40, 'x');

// Real: a database as the last release left it, APIs and workers of that release and of this version, one Redis.
describe('during an upgrade from the last release', () => {
  const redis = createTestRedis();
  const running = new Set<TestProcess>();
  let release: LastRelease;
  let folder: string;
  let database: TestDatabase;
  let pool: pg.Pool;
  let provider: LedgerProvider;
  let settings: Record<string, string>;
  let key: string;

  beforeAll(async () => {
    release = await lastRelease();
    folder = await mkdtemp(join(tmpdir(), 'darkroom-release-'));
    [database, provider] = [await createEmptyDatabase(), await LedgerProvider.start()];
    await copyMigrations(release, join(folder, 'migrations'));
    await migrate(database.url, join(folder, 'migrations'));
    pool = new pg.Pool({ connectionString: database.url, max: 2 });
    pool.on('error', () => undefined);
    ({ key } = await createKey(pool, SECRET_KEY, { name: 'previous' }));
    settings = {
      ...{ DATABASE_URL: database.url, REDIS_URL: redis.url, REDIS_PREFIX: redis.prefix, SECRET_KEY },
      ...{ DATA_DIR: join(folder, 'data'), OPENAI_API_KEY: 'sk-ledger-secret-key', OPENAI_BASE_URL: provider.url },
      ...{ MAX_TASKS_IN_FLIGHT: '0', RATE_SUBMITS_PER_MINUTE: '0', RATE_POLLS_PER_MINUTE: '0' },
      ...{ ...LONG_TIMEOUTS, HEALTH_CHECK_INTERVAL_MS: '500' },
    };
  });
  afterAll(async () => {
    await Promise.all([...running].map((process) => process.stop()));
    await provider.close();
    await pool.end();
    await redis.clean();
    await database.drop();
    await rm(folder, { recursive: true });
  });

  async function started(process: Promise<TestProcess>): Promise<TestProcess> {
    running.add(await process);
    return await process;
  }

  async function stopped(process: TestProcess): Promise<void> {
    running.delete(process);
    expect(await process.stop()).toMatchObject({ code: 0 });
  }

  /** One image that its caller waits for, one that is polled, one that is canceled; each is bought once at most. */
  async function expectService(submitTo: TestProcess, readFrom: TestProcess): Promise<void> {
    const [waited, polled, canceled] = [newMarker(), newMarker(), newMarker()];
    provider.plan(canceled, { latencyMs: 60_000 });
    const submit = async (marker: string): Promise<string> => {
      const { status, taskId = '' } = await call(submitTo, key, '/v1/images/generations/async', {
        body: order(marker),
      });
      expect(status).toBe(202);
      return taskId;
    };
    const read = async (id: string): Promise<string> =>
      ((await call(readFrom, key, `/v1/tasks/${id}`)).body as { data: { status: string } }).data.status;
    expect((await call(submitTo, key, '/v1/images/generations', { body: order(waited) })).status).toBe(200);
    const [id, doomed] = [await submit(polled), await submit(canceled)];
    expect(await waitUntil(async () => (await read(id)) === 'completed', { timeoutMs: 30_000 })).toBe(true);
    const isStarted = (): boolean => provider.startsOf(canceled).length === 1;
    expect(await waitUntil(isStarted, { timeoutMs: 30_000 })).toBe(true);
    expect((await call(readFrom, key, `/v1/tasks/${doomed}/cancel`, { method: 'POST' })).status).toBe(200);
    expect(await waitUntil(async () => (await read(doomed)) === 'cancelled', { timeoutMs: 30_000 })).toBe(true);
    expect([waited, polled].map((marker) => provider.startsOf(marker).length)).toEqual([1, 1]);
  }

  it('O12: new code waits for its migrations, and gets ready without a restart; released code runs on the new tables', async () => {
    const isReleased = await hasCode(release);
    if (!isReleased) process.stdout.write(`Only new code is run: this clone has no commit ${release.commit}.\n`);
    if (isReleased) await buildRelease(release, folder);
    const old = (app: 'api' | 'worker'): Promise<TestProcess> => started(startVersion(app, folder, settings));
    const [oldApi, oldWorker] = isReleased ? [await old('api'), await old('worker')] : [];
    if (oldApi !== undefined) await expectService(oldApi, oldApi);

    const [port, health] = [await freePort(), await freePort()];
    const newApi = started(startApi({ ...settings, PORT: String(port) }));
    const waiting = started(startWorker({ ...settings, WORKER_HEALTH_PORT: String(health) }));
    for (const at of [port, health]) {
      const isWaiting = async (): Promise<boolean> => {
        const { status, text } = await call({ url: `http://127.0.0.1:${at}` }, key, '/readyz');
        return status === 503 && text.includes('migrations');
      };
      expect(await waitUntil(isWaiting, { timeoutMs: 60_000 })).toBe(true);
    }
    if (oldApi !== undefined) await expectService(oldApi, oldApi);

    await migrate(database.url, resolve('prisma', 'migrations'));
    const [api, worker] = [await newApi, await waiting];
    if (oldApi === undefined || oldWorker === undefined) return await expectService(api, api);

    // Each API with each worker.
    await stopped(worker);
    await expectService(oldApi, oldApi);
    await expectService(oldApi, api);
    await expectService(api, oldApi);
    await started(startWorker(settings));
    await stopped(oldWorker);
    await expectService(oldApi, api);
    await expectService(api, oldApi);
    await stopped(oldApi);
    await expectService(api, api);
  }, 240_000);
});
