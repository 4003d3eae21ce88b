import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { migrate } from '#database/migrate.js';
import { waitUntil } from '#embedded/wait-until.js';
import { objects } from '../../apps/standalone/src/commands/objects.js';
import { restored } from '../../apps/standalone/src/commands/restored.js';
import { createKey } from '../support/access.js';
import { findDebianPostgres, startDebianPostgres, type DebianPostgres } from '../support/debian-postgres.js';
import { describeWith } from '../support/optional.js';
import { LONG_TIMEOUTS } from '../support/platform.js';
import { startApi, startWorker, type TestProcess } from '../support/processes.js';
import { createTestRedis } from '../support/redis.js';

const SECRET_KEY = 'backup-'.padEnd(40, 'x');
/** Role and database that deploy/postgres.sql creates. */
const ROLE = 'darkroom';
const DATABASE = 'darkroom';
const programs = await findDebianPostgres();
const describeBackup = describeWith(
  programs,
  'No pg_dump of the Debian package postgresql was found: tests of backups are left out.',
);

/** The steps of docs/backup.md, while work goes on. */
describeBackup('a backup that is made under load', () => {
  let server: DebianPostgres;
  let folder: string;
  const pools: pg.Pool[] = [];
  const clean: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    server = await startDebianPostgres(programs ?? '');
    folder = await mkdtemp(join(tmpdir(), 'darkroom-backup-'));
  });
  afterAll(async () => {
    for (const pool of pools) await pool.end();
    for (const step of clean) await step();
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  });

  /** The settings of processes on a database, and on a Redis in which nothing is. */
  function place(database: string) {
    const redis = createTestRedis();
    clean.push(() => redis.clean());
    const url = server.url(database, ROLE);
    const pool = new pg.Pool({ connectionString: url, max: 2 });
    pool.on('error', () => undefined);
    pools.push(pool);
    const settings = {
      ...LONG_TIMEOUTS,
      DATABASE_URL: url,
      REDIS_URL: redis.url,
      REDIS_PREFIX: redis.prefix,
      DATA_DIR: join(folder, database),
      SECRET_KEY,
      RATE_SUBMITS_PER_MINUTE: '0',
      MAX_TASKS_IN_FLIGHT: '0',
    };
    return { pool, settings };
  }

  it('Also: loses nothing that had ended before it, and nothing that had not is bought again', async () => {
    const script = join('/tmp', `darkroom-role-${process.pid}.sql`);
    clean.push(() => rm(script, { force: true }));
    await cp('deploy/postgres.sql', script);
    // As the image of Postgres does it.
    await server.run('psql', `--command=ALTER ROLE postgres PASSWORD 'initial'`);
    await server.run('psql', '--no-psqlrc', '--set=ON_ERROR_STOP=1', `--file=${script}`);
    const passwords = `(SELECT array_agg(rolname) FROM pg_authid WHERE rolpassword IS NOT NULL)`;
    await server.run('psql', `--command=DO $$ BEGIN ASSERT ${passwords} = ARRAY['${ROLE}'::name]; END $$`);
    const source = place(DATABASE);
    const { rows: roles } = await source.pool.query(
      'SELECT rolsuper, rolcreatedb, rolcreaterole FROM pg_roles WHERE rolname = current_user',
    );
    expect(roles).toEqual([{ rolsuper: false, rolcreatedb: false, rolcreaterole: false }]);
    await migrate(source.settings.DATABASE_URL, 'prisma/migrations');
    const { key } = await createKey(source.pool, SECRET_KEY, { name: 'backup' });
    const [api, worker] = await Promise.all([startApi(source.settings), startWorker(source.settings)]);
    const submit = (at: TestProcess, prompt: string): Promise<Response> =>
      fetch(`${at.url}/v1/images/generations/async`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'gpt-image-2', prompt, size: '1:1' }),
      });
    const count = async (pool: pg.Pool, where: string): Promise<number> =>
      (await pool.query<{ count: number }>(`SELECT count(*)::int AS count FROM tasks WHERE ${where}`)).rows[0]?.count ??
      0;
    // Work that never ends while the backup is made, beside work that goes on ending.
    for (let n = 0; n < 3; n++) expect((await submit(api, `slow ${n} [[latency=600s]]`)).status).toBe(202);
    let loaded = true;
    const load = (async () => {
      for (let n = 0; loaded; n++) {
        expect((await submit(api, `image ${n}`)).status).toBe(202);
        const most = n - 5;
        const hasRoom = async (): Promise<boolean> =>
          !loaded || (await count(source.pool, `finished_at IS NOT NULL`)) >= most;
        expect(await waitUntil(hasRoom, { timeoutMs: 60_000 })).toBe(true);
      }
    })();
    const enough = async (): Promise<boolean> =>
      (await count(source.pool, `status = 'completed'`)) >= 5 && (await count(source.pool, 'provider_call_open')) >= 3;
    expect(await waitUntil(enough, { timeoutMs: 60_000 })).toBe(true);
    const done = await source.pool.query<{ id: string }>(`SELECT id FROM tasks WHERE status = 'completed' ORDER BY id`);
    const file = join('/tmp', `darkroom-backup-${process.pid}.dump`);
    clean.push(() => rm(file, { force: true }));
    await server.run('pg_dump', '--format=custom', `--username=${ROLE}`, `--file=${file}`, DATABASE);
    const after = done.rows.length;
    const goesOn = async (): Promise<boolean> => (await count(source.pool, `status = 'completed'`)) > after + 2;
    expect(await waitUntil(goesOn, { timeoutMs: 60_000 })).toBe(true);
    // After the dump, so that everything that its rows name is there.
    // What is being written is no object yet, and may be gone before it is copied, as what a store is checked with.
    const isObject = (path: string): boolean => !/\.unfinished|\/checks\//.test(path);
    await cp(source.settings.DATA_DIR, join(folder, 'after'), { recursive: true, filter: isObject });
    loaded = false;
    await load;
    api.kill('SIGKILL');
    worker.kill('SIGKILL');

    await server.run('createdb', `--owner=${ROLE}`, 'after');
    await server.run('pg_restore', '--exit-on-error', '--no-owner', `--username=${ROLE}`, '--dbname=after', file);
    const target = place('after');
    const lines: string[] = [];
    const say = (line: string): void => void lines.push(line);
    expect(await restored([], target.settings, say)).toBe(0);
    expect(lines[0]).toMatch(/^[1-9]\d* unfinished tasks were failed/);
    expect(lines.at(-2)).toMatch(/^[1-9]\d* objects of the last 24 h may be in use, and were not compared/);
    expect(lines.at(-1)).toBe('0 found, 0 repaired.');
    const kept = await target.pool.query(
      `SELECT id FROM tasks WHERE id = ANY($1) AND status = 'completed' ORDER BY id`,
      [done.rows.map(({ id }) => id)],
    );
    expect(kept.rows).toEqual(done.rows);
    const starts = async (): Promise<unknown> =>
      (await target.pool.query('SELECT sum(provider_starts) AS starts FROM tasks')).rows[0];
    const before = await starts();
    expect(await count(target.pool, `status = 'pending'`)).toBe(0);

    const [again, helper] = await Promise.all([startApi(target.settings), startWorker(target.settings)]);
    const answer = await fetch(`${again.url}/v1/tasks/${done.rows[0]?.id ?? ''}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(answer.status).toBe(200);
    const link = new URL(/"url":\["([^"]+)"/.exec(await answer.text())?.[1] ?? '');
    const image = await fetch(again.url + link.pathname + link.search);
    expect([image.status, image.headers.get('content-type')]).toEqual([200, 'image/png']);
    const fresh = await submit(again, 'after the restore');
    const { id } = (await fresh.json()) as { id: string };
    expect(
      await waitUntil(() => count(target.pool, `id = '${id}' AND status = 'completed'`).then(Boolean), {
        timeoutMs: 60_000,
      }),
    ).toBe(true);
    // Whatever else was in flight has had its chance by now: only the new task was started.
    expect(await starts()).toEqual({ starts: String(Number((before as { starts: string }).starts) + 1) });

    // An image whose object was not copied: reported, repaired, and then no longer reported.
    await target.pool.query(
      `UPDATE tasks SET images = jsonb_set(images, '{0,key}', '"results/task_00000000000000000000000000-1.png"') WHERE id = $1`,
      [id],
    );
    lines.length = 0;
    expect(await objects([], target.settings, say)).toBeGreaterThan(0);
    expect(lines[0]).toContain(`is missing (image of ${id})`);
    expect(await objects(['--repair'], target.settings, say)).toBe(0);
    expect(await objects([], target.settings, say)).toBe(0);
    await Promise.all([again.stop(), helper.stop()]);
  }, 300_000);
});
