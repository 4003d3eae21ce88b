import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import pg from 'pg';
import { newApiKey, prefixOf } from '#accounts/api-keys.js';
import { hashApiKey } from '#accounts/key-hashes.js';
import { migrate } from '#database/migrate.js';
import { startChild } from '#embedded/child.js';
import { freePort } from '#embedded/free-port.js';
import { startPostgres } from '#embedded/postgres.js';
import { startRedis } from '#embedded/redis.js';
import { waitUntil } from '#embedded/wait-until.js';
import { secretIdOf } from '#secrets/sealed-text.js';
import { MALLOC_SETTINGS } from '../dist/apps/standalone/src/platform/role-process.js';
import { createFloorTable } from './floor/table.mjs';

export const ROOT = join(import.meta.dirname, '..');
/** Results and, during a run, all other data, so that it is on the same disk as the repository. */
export const RESULTS = join(ROOT, 'bench', 'results');

const READY_MS = 30_000;
const STOP = [['SIGTERM', 10_000]];
const API = join(ROOT, 'dist/bin/api.js');
const WORKER = join(ROOT, 'dist/bin/worker.js');
const INSTANT_WORKER = join(ROOT, 'bench/instant-worker.mjs');
const LEDGER_UPSTREAM = join(ROOT, 'bench/ledger-upstream.mjs');
const RETENTION_WORKER = join(ROOT, 'bench/retention-worker.mjs');
const PROBE = join(ROOT, 'bench/probe.mjs');
const floorProgram = (name) => join(ROOT, 'bench/floor', name);

/**
 * Postgres (durable) and Redis (append-only) with a migrated database for Darkroom and one for the floor, and methods
 * to start the processes of both. `close` leaves no processes or files behind.
 */
export class Stage {
  #running = new Set();
  #pools = [];
  #closed = false;
  #started = 0;

  constructor(folder, postgres, redis, options) {
    Object.assign(this, { folder, postgres, redis, ...options });
  }

  static async open({ profile, tell, signal }) {
    await mkdir(RESULTS, { recursive: true });
    const folder = await mkdtemp(join(RESULTS, 'run-'));
    const password = randomBytes(24).toString('base64url');
    const log = (name) => join(folder, `${name}.log`);
    const postgres = await startPostgres({
      folder: join(folder, 'postgres'),
      password,
      database: 'darkroom',
      log: log('postgres'),
      signal,
    });
    const redis = await startRedis({
      folder: join(folder, 'redis'),
      password,
      log: log('redis'),
      toolFolders: [join(ROOT, 'node_modules', '.cache', 'darkroom'), join(folder, 'tools')],
      onDownload: () => tell('Fetching Redis ...'),
      signal,
    });
    const stage = new Stage(folder, postgres, redis, { profile, secretKey: randomBytes(32).toString('base64url') });
    await stage.#prepareDatabases();
    return stage;
  }

  async #prepareDatabases() {
    await migrate(this.postgres.url, join(ROOT, 'prisma', 'migrations'));
    this.pool = this.openPool(this.postgres.url);
    await this.pool.query('CREATE DATABASE floor');
    this.floorUrl = Object.assign(new URL(this.postgres.url), { pathname: '/floor' }).href;
    await createFloorTable(this.floorUrl);
    this.apiKey = await this.newKey('bench');
  }

  /** Creates an API key for another caller of Darkroom. */
  async newKey(name) {
    const key = newApiKey();
    await this.pool.query(
      `INSERT INTO api_keys (id, account_id, name, prefix, hash, secret_id) VALUES ($1, 'acct_default', $2, $3, $4, $5)`,
      [
        `key_${randomBytes(16).toString('hex')}`,
        name,
        prefixOf(key),
        hashApiKey(this.secretKey, key),
        secretIdOf(this.secretKey),
      ],
    );
    return key;
  }

  /** Deletes all tasks of both sides, finished or not; no process may be working on them. */
  async clearTasks() {
    await this.pool.query('TRUNCATE tasks');
    await this.openPool(this.floorUrl).query('TRUNCATE tasks');
    const redis = new Redis(this.redis.url);
    await redis.flushdb();
    redis.disconnect();
  }

  /** A pool for the benchmark itself, closed with the stage. */
  openPool(url) {
    const pool = new pg.Pool({ connectionString: url, max: 2 });
    // An idle connection's failure is an event; without a listener, it would end this process before the clean-up.
    pool.on('error', () => undefined);
    this.#pools.push(pool);
    return pool;
  }

  /** The API as `npm start` and the image start it, on a free port; `probed` adds the probe. */
  async startApi(settings = {}, { probed = false } = {}) {
    const port = await freePort();
    const { file, watched } = this.#probe(probed);
    const api = await this.#start('api', API, { ...this.#settings(), PORT: String(port), ...watched, ...settings });
    const readyUrl = `http://127.0.0.1:${port}/readyz`;
    await this.#answers(api, readyUrl);
    return { ...api, port, file, readyUrl };
  }

  #probe(probed) {
    const file = join(this.folder, `probe-${this.#started + 1}.json`);
    return { file, watched: probed ? { PROBE_FILE: file } : {} };
  }

  /** Event loop delay of a probed process since the last call, in ms: `{p50, p99, max}`; see probe.mjs. */
  async probe({ pid, file }) {
    const read = () => (existsSync(file) ? JSON.parse(readFileSync(file, 'utf8') || '{}') : {});
    const { times = 0 } = read();
    process.kill(pid, 'SIGUSR2');
    const written = await waitUntil(() => read().times === times + 1, { timeoutMs: READY_MS, everyMs: 20 });
    if (!written) throw new Error('the probe does not answer');
    return read();
  }

  /** Where API and workers store images. */
  get dataFolder() {
    return join(this.folder, 'data');
  }

  /** The worker: the real one with the sandbox, or one with the instant provider. */
  async startWorker({ instant = true, settings = {}, probed = false } = {}) {
    const { file, watched } = this.#probe(probed);
    const all = { ...this.#settings(), ...watched, ...settings };
    const worker = await this.#start('worker', instant ? INSTANT_WORKER : WORKER, all);
    await this.#says(worker, 'worker.started');
    return { ...worker, file };
  }

  /** A provider in a separate process; see ledger-upstream.mjs. */
  async startLedgerUpstream(settings) {
    const port = await freePort();
    const started = await this.#start('provider', LEDGER_UPSTREAM, {
      NODE_ENV: 'production',
      PORT: String(port),
      ...settings,
    });
    await this.#says(started, 'ready');
    const ask = async (path) => await (await fetch(`http://127.0.0.1:${port}${path}`)).text();
    return { ...started, port, begin: () => ask('/begin'), ledger: async () => JSON.parse(await ask('/ledger')) };
  }

  /** A worker on another database that runs retention continuously. */
  async startRetention(databaseUrl) {
    const settings = { ...this.#settings(), DATABASE_URL: databaseUrl, REDIS_PREFIX: '{retention}' };
    const worker = await this.#start('retention', RETENTION_WORKER, settings);
    await this.#says(worker, 'worker.started');
    return worker;
  }

  /** An HTTP server of bench/floor. */
  async startFloorServer(name, settings = {}) {
    const port = await freePort();
    const server = await this.#start(
      name,
      floorProgram(name),
      this.#floorSettings({ PORT: String(port), ...settings }),
    );
    await this.#says(server, 'ready');
    return { ...server, port };
  }

  async startFloorWorker(name, settings = {}) {
    const worker = await this.#start(name, floorProgram(name), this.#floorSettings(settings));
    await this.#says(worker, 'ready');
    return worker;
  }

  /**
   * Another gateway's server: `orderFor(port)` returns the program, its arguments and settings, and the path that
   * responds once it is ready.
   */
  async startPeer(name, orderFor) {
    const port = await freePort();
    const { command, args, settings, readyPath, readyMs } = orderFor(port);
    const peer = await this.#launch(name, { command, args, env: { PATH: process.env.PATH, ...settings } });
    const readyUrl = `http://127.0.0.1:${port}${readyPath}`;
    await this.#answers(peer, readyUrl, readyMs);
    return { ...peer, port, readyUrl };
  }

  /** Kills a process with its children, like a crash. */
  async kill({ child }) {
    process.kill(-child.pid, 'SIGKILL');
    await child.exited;
    this.#running.delete(child);
  }

  /** Starts the same program again; resolves before it is ready. */
  async startAgain({ order, name, ...same }) {
    return { ...same, ...(await this.#launch(name, order)) };
  }

  /** Resolves when Darkroom, or the floor, has no unfinished task. */
  async untilIdle(pool, table, timeoutMs = 120_000) {
    const idle = await waitUntil(
      async () => (await pool.query(`SELECT 1 FROM ${table} WHERE finished_at IS NULL LIMIT 1`)).rowCount === 0,
      { timeoutMs, everyMs: 20 },
    );
    if (!idle) throw new Error(`${table} still has unfinished tasks after ${timeoutMs / 1000} s`);
  }

  /** The processes that every measure shares, for the CPU time. */
  get servicePids() {
    return { postgres: this.postgres.pid, redis: this.redis.pid };
  }

  async stop(...processes) {
    await Promise.all(
      processes.map(async ({ child }) => {
        await child.stop(STOP);
        this.#running.delete(child);
      }),
    );
  }

  async close() {
    this.#closed = true;
    await Promise.all([...this.#running].map((child) => child.stop(STOP)));
    await Promise.all(this.#pools.map((pool) => pool.end()));
    await Promise.all([this.postgres.stop(), this.redis.stop()]);
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  #settings() {
    return {
      NODE_ENV: 'production',
      ...MALLOC_SETTINGS,
      DATABASE_URL: this.postgres.url,
      REDIS_URL: this.redis.url,
      SECRET_KEY: this.secretKey,
      DATA_DIR: this.dataFolder,
      HOST: '127.0.0.1',
      // Counted as usual, but never reached.
      MAX_TASKS_IN_FLIGHT: '1000000',
      RATE_SUBMITS_PER_MINUTE: '1000000000',
      RATE_POLLS_PER_MINUTE: '1000000000',
      RATE_CHATS_PER_MINUTE: '1000000000',
    };
  }

  #floorSettings(settings) {
    const places = { DATABASE_URL: this.floorUrl, REDIS_URL: this.redis.url, DATA_DIR: join(this.folder, 'floor') };
    return { NODE_ENV: 'production', ...places, ...settings };
  }

  async #start(name, script, settings) {
    const profiling = this.profile ? ['--cpu-prof', `--cpu-prof-dir=${join(RESULTS, 'profiles', name)}`] : [];
    return await this.#launch(name, {
      command: process.execPath,
      args: [...profiling, ...(settings.PROBE_FILE ? ['--import', PROBE] : []), script],
      env: { PATH: process.env.PATH, ...settings },
    });
  }

  async #launch(name, order) {
    if (this.#closed) throw new Error('interrupted');
    const log = join(this.folder, `${name}-${++this.#started}.log`);
    const child = await startChild({ ...order, log, deathSignal: 'SIGKILL' });
    this.#running.add(child);
    return { name, child, pid: child.pid, order };
  }

  async #answers(started, url, timeoutMs) {
    const ask = async () => {
      const answer = await fetch(url, { signal: AbortSignal.timeout(5_000) }).catch(() => undefined);
      await answer?.body?.cancel();
      return answer?.ok === true;
    };
    await this.#until(started, ask, timeoutMs);
  }

  async #says(started, word) {
    await this.#until(started, () => started.child.lastLines(50).some((line) => line.includes(word)));
  }

  async #until({ name, child }, condition, timeoutMs = READY_MS) {
    const ready = await waitUntil(() => !child.running || condition(), { timeoutMs, everyMs: 20 });
    if (ready && child.running) return;
    throw new Error(`${name} did not become ready. Its last lines:\n  ${child.lastLines(8).join('\n  ')}`);
  }
}
