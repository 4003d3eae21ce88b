import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { migrate } from '#database/migrate.js';
import { waitUntil } from '#embedded/wait-until.js';
import { createKey } from '../support/access.js';
import { freePort } from '../support/free-port.js';
import { LONG_TIMEOUTS } from '../support/platform.js';
import { createEmptyDatabase } from '../support/postgres.js';
import { startApi, startWorker } from '../support/processes.js';
import { createTestRedis } from '../support/redis.js';

const SECRET_KEY = 'before-migrate-1f7b0c52d9a84e6fb3c8xxxxx';

it('O12: an API and a worker that are started on an empty database say so, wait, and go on when it is migrated', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'darkroom-before-migrate-'));
  const database = await createEmptyDatabase();
  const redis = createTestRedis();
  const entries = await readdir('prisma/migrations', { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  const port = await freePort();
  const healthPort = await freePort();
  const settings = {
    DATABASE_URL: database.url,
    REDIS_URL: redis.url,
    REDIS_PREFIX: redis.prefix,
    DATA_DIR: folder,
    SECRET_KEY,
    PORT: String(port),
    WORKER_HEALTH_PORT: String(healthPort),
    HEALTH_CHECK_INTERVAL_MS: '500',
    ...LONG_TIMEOUTS,
  };
  const starting = Promise.all([startApi(settings), startWorker(settings)]);
  const ask = async (at: number, path: string): Promise<[number, string]> => {
    const response = await fetch(`http://127.0.0.1:${at}${path}`);
    return [response.status, await response.text()];
  };
  for (const at of [port, healthPort]) {
    const isWaiting = async (): Promise<boolean> => (await ask(at, '/readyz'))[1].includes('"reasons":["migrations"]');
    expect(await waitUntil(() => isWaiting().catch(() => false), { timeoutMs: 30_000 })).toBe(true);
    expect([(await ask(at, '/readyz'))[0], (await ask(at, '/healthz'))[0]]).toEqual([503, 200]);
  }
  expect(await migrate(database.url, 'prisma/migrations')).toEqual(names.sort());
  const [api, worker] = await starting;
  const told = await worker.logged('worker.waits_for_migrations');
  expect(JSON.stringify(told)).toContain(`${names.length} migrations are not applied; run migrate`);
  const pool = new pg.Pool({ connectionString: database.url, max: 2 });
  pool.on('error', () => undefined);
  const { key } = await createKey(pool, SECRET_KEY, { name: 'e2e' });
  const answer = await fetch(`${api.url}/v1/images/generations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-image-2', resolution: '1k', prompt: 'a lighthouse' }),
  });
  expect([answer.status, await answer.json()]).toMatchObject([200, { data: [{}] }]);
  // Probes may come every second, to say what the process logs already.
  const probes = api.logs().filter(({ route }) => route === '/readyz');
  expect(new Set(probes.map(({ level }) => level))).toEqual(new Set(['debug']));
  await Promise.all([api.stop(), worker.stop()]);
  await pool.end();
  await redis.clean();
  await database.drop();
  await rm(folder, { recursive: true });
});
