import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import pg from 'pg';
import { waitUntil } from '#embedded/wait-until.js';
import { signInFirstAdmin } from '../support/console.js';
import { giveUpStatement } from '../support/give-up.js';
import { describeWith } from '../support/optional.js';
import { pastedLines } from '../support/pasted-lines.js';
import { patient } from '../support/patience.js';
import { PGBOUNCER, startPgBouncer } from '../support/pgbouncer.js';
import { startPlatform, type Platform } from '../support/platform.js';

const GENERATIONS = '/v1/images/generations';
const MAIN = resolve('dist', 'apps', 'standalone', 'src', 'main.js');

const describePooler = describeWith(PGBOUNCER, 'No pgbouncer was found: its tests are left out.');

/** Debian's own version, which can't keep prepared statements. */
describePooler('PgBouncer in transaction mode', () => {
  const role = `pooled_${process.pid}`;
  let platform: Platform;
  let admin: pg.Client;
  let stopPooler: () => Promise<void>;

  beforeAll(async () => {
    platform = await startPlatform(async (databaseUrl) => {
      admin = new pg.Client({ connectionString: databaseUrl, query_timeout: patient(10_000) });
      await admin.connect();
      await admin.query(`CREATE ROLE ${role} LOGIN SUPERUSER PASSWORD 'pooled'`);
      const limits = pastedLines('docs/operations.md', '### PgBouncer', 'sql');
      await admin.query(limits.replaceAll('ROLE darkroom', `ROLE ${role}`));
      // Times come back wrong from sessions in the zone of the server, and as null with its style of dates.
      await admin.query(`ALTER ROLE ${role} SET TimeZone = 'Asia/Tokyo'`);
      await admin.query(`ALTER ROLE ${role} SET DateStyle = 'German, DMY'`);
      const direct = new URL(databaseUrl);
      direct.username = role;
      direct.password = 'pooled';
      const pooler = await startPgBouncer(direct.href);
      stopPooler = pooler.stop;
      return {
        DATABASE_URL: pooler.url,
        DATABASE_POOLER: 'transaction',
        DATABASE_DIRECT_URL: direct.href,
        SWEEP_INTERVAL_MS: '500',
        RATE_SUBMITS_PER_MINUTE: '500',
        MAX_TASKS_IN_FLIGHT: '50',
      };
    });
  });
  afterAll(async () => {
    await admin.end();
    await platform.close();
    await stopPooler();
    const server = new pg.Client({
      connectionString: process.env['TEST_POSTGRES_URL'],
      query_timeout: patient(10_000),
    });
    await server.connect();
    await server.query(`DROP ROLE ${role}`);
    await server.end();
  });

  /** A command of ours: whether it went well, and what it said. */
  function command(args: readonly string[], changes: Record<string, string> = {}): Promise<[boolean, string]> {
    // The time limit of docs/operations.md, which doctor compares; a process that stalls for as long would say so.
    const documented = { DATABASE_QUERY_TIMEOUT_MS: '5000' };
    const env = {
      PATH: process.env['PATH'],
      ...platform.settings,
      ...documented,
      PUBLIC_URL: platform.url,
      ...changes,
    };
    return new Promise((done) => {
      execFile(process.execPath, [MAIN, ...args], { env, timeout: patient(100_000) }, (error, stdout, stderr) =>
        done([error === null, stdout + stderr]),
      );
    });
  }

  async function accepted(more: object): Promise<string> {
    const body = { model: 'gpt-image-2', resolution: '1k', prompt: 'a mill', ...more };
    const response = await platform.call(`${GENERATIONS}/async`, { body });
    await response.text();
    expect(response.status).toBe(202);
    return response.headers.get('x-task-id') ?? '';
  }
  async function task(id: string): Promise<{ status: string; created: number }> {
    const response = await platform.call(`/v1/tasks/${id}`);
    return ((await response.json()) as { data: { status: string; created: number } }).data;
  }

  it('Also: serves callers, workers, sweeps and the console, though no two transactions share a session', async () => {
    const began = Math.floor(Date.now() / 1_000) - 1;
    const ids = await Promise.all(Array.from({ length: 12 }, (_, n) => accepted({ prompt: `a mill ${n}` })));
    const cancelled = await accepted({ prompt: 'a mill [[latency=20s]]' });
    await (await platform.call(`/v1/tasks/${cancelled}/cancel`, { method: 'POST' })).text();
    const ended = async (): Promise<boolean> =>
      (await Promise.all([...ids, cancelled].map(task))).every(({ status }) => status !== 'pending');
    expect(await waitUntil(ended, { timeoutMs: 30_000 })).toBe(true);
    const tasks = await Promise.all(ids.map(task));
    expect(tasks.map(({ status }) => status)).toEqual(ids.map(() => 'completed'));
    const over = Math.ceil(Date.now() / 1_000) + 1;
    expect(tasks.filter(({ created: at }) => at < began || at > over)).toEqual([]);
    const repeated = { 'idempotency-key': 'again' };
    const body = { model: 'gpt-image-2', resolution: '1k', prompt: 'a mill again' };
    const [first, second] = await Promise.all(
      [1, 2].map(() => platform.call(GENERATIONS, { body, headers: repeated })),
    );
    expect([first?.status, second?.status]).toEqual([200, 200]);
    const ada = await signInFirstAdmin(platform);
    for (const page of ['/tasks', '/queue/history', '/providers', '/keys']) await ada.ask(page);
    // A worker may have claimed it before it was cancelled; and a busy machine may be late with anything but Postgres.
    const isExpected = ({ event, taskId, code }: Record<string, unknown>): boolean =>
      (event === 'task.lease_lost' && taskId === cancelled) ||
      event === 'redis.unreachable' ||
      (['dependency.lost', 'readiness.lost'].includes(String(event)) && code !== 'postgres');
    const wrong = [platform.api, platform.worker]
      .flatMap((process) => process.logs())
      .filter((line) => (line['level'] === 'error' || line['level'] === 'warn') && !isExpected(line));
    expect(wrong).toEqual([]);
  });

  it('passes on that a statement is given up', async () => {
    const { DATABASE_URL = '', DATABASE_DIRECT_URL = '', DATABASE_POOLER } = platform.settings;
    await giveUpStatement(DATABASE_URL, DATABASE_DIRECT_URL, DATABASE_POOLER);
  });

  it('is asked by doctor for the limits of its sessions; migrations and commands go past it', async () => {
    const plan = ['--apis', '3', '--workers', '2', '--worker-pool', '4'];
    // One after the other: each check of doctor has a time limit.
    const [, said] = await command(['doctor', ...plan], { SHUTDOWN_GRACE_MS: '870000', OPENAI_API_KEY: 'sk-nobody' });
    const misspelt = await command(['doctor', '--apis', 'many']);
    const direct = await command(['migrate']);
    const [migrated, reason] = await command(['migrate'], { DATABASE_DIRECT_URL: '' });
    expect(said).toMatch(/ok +postgres pooler +transaction mode, statement_timeout 5000 ms/);
    expect(said).toMatch(
      /warn +planned pools +APIs: 3 with 10 each, workers: 2 with 4 each; they may open 38 connections to the pooler; .* \d+ connections of Postgres/,
    );
    expect(said).toMatch(/ok +worker grace +870000 ms; the longest call takes 840000 ms at most \(openai\)/);
    expect(misspelt).toEqual([false, expect.stringContaining('It must be a whole number up to 10000.')]);
    expect(direct).toEqual([true, 'The database is up to date.\n']);
    expect(migrated).toBe(false);
    expect(reason).toMatch(/leads to a pooler; give the address of Postgres itself in DATABASE_DIRECT_URL/);
  });

  it('is told apart from Postgres, and what its sessions have that would change results is named by doctor', async () => {
    await admin.query(`ALTER ROLE ${role} SET bytea_output = 'escape'`);
    await admin.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${role}'`);
    try {
      const [, said] = await command(['doctor']);
      expect(said).toMatch(
        /fail +postgres pooler +.*bytea_output is escape; behind a pooler, the role must have it: ALTER ROLE/,
      );
    } finally {
      await admin.query(`ALTER ROLE ${role} RESET bytea_output`);
    }
  });
});
