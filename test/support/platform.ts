import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { createKey } from './access.js';
import { patient, patientSetting } from './patience.js';
import { createTestDatabase } from './postgres.js';
import { startApi, startWorker, type TestProcess } from './processes.js';
import { createTestRedis } from './redis.js';

const SECRET_KEY = 'e2e-1f7b0c52d9a84e6fb3c8';
/**
 * Calls must succeed however many come at once and however busy the machine is. What a lost job's task waits for before
 * it is enqueued again depends on the database's limits, and callers wait for 100 s.
 */
export const LONG_TIMEOUTS = {
  DATABASE_CONNECT_TIMEOUT_MS: patientSetting(20_000, 30_000),
  DATABASE_QUERY_TIMEOUT_MS: patientSetting(20_000, 30_000),
  REDIS_COMMAND_TIMEOUT_MS: patientSetting(20_000, 60_000),
};
/** The product's own, for tests in which Redis or Postgres is away. */
export const SHIPPED_TIMEOUTS = {
  DATABASE_CONNECT_TIMEOUT_MS: '2000',
  DATABASE_QUERY_TIMEOUT_MS: '5000',
  REDIS_COMMAND_TIMEOUT_MS: '2000',
};

/** For tests of what a process reports about its services. Costs each idle process 1.5 % of a core more. */
export const FREQUENT_CHECKS = { HEALTH_CHECK_INTERVAL_MS: '500' };

/** A running API, and direct access for the test. */
export interface ApiPlatform {
  readonly url: string;
  /** A key of the default account. */
  readonly key: string;
  readonly secretKey: string;
  /** The environment of its processes, to start more of them. */
  readonly settings: Readonly<Record<string, string>>;
  readonly api: TestProcess;
  readonly pool: pg.Pool;
  /** Additional resources of a test, closed before the database is dropped. */
  readonly closing: (() => Promise<void>)[];
  /** Creates another key, with some columns changed. */
  newKey(columns?: Readonly<Record<string, unknown>>, accountId?: string): Promise<string>;
  /** Also returns its id: keys created in the same millisecond have no defined order. */
  newKeyWithId(columns?: Readonly<Record<string, unknown>>, accountId?: string): Promise<{ id: string; key: string }>;
  newAccount(): Promise<string>;
  /** Calls the API with the first key, unless another or none (null) is given. */
  call(path: string, options?: CallOptions): Promise<Response>;
  close(): Promise<void>;
}

/** With a worker, so that tasks end. */
export interface Platform extends ApiPlatform {
  readonly worker: TestProcess;
}

export interface CallOptions {
  readonly method?: string;
  readonly key?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** Objects are sent as JSON, everything else as it is. */
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  /** Where to call instead of the API itself: the balancer in front of it. */
  readonly at?: { readonly url: string };
}

/** A real API and a real worker with their own database, Redis prefix and folder. */
export async function startPlatform(changes: Changes = {}): Promise<Platform> {
  const room = await prepareRoom(changes);
  const [api, worker] = await Promise.all([startApi(room.settings), startWorker(room.settings)]);
  const platform = await platformOf(room, api);
  return {
    ...platform,
    worker,
    close: async () => {
      await Promise.all([api.stop(), worker.stop()]);
      await platform.close();
    },
  };
}

/** A real API with its own database, Redis prefix and folder, for tests that generate no images. */
export async function startApiPlatform(changes: Changes = {}): Promise<ApiPlatform> {
  const room = await prepareRoom(changes);
  return await platformOf(room, await startApi(room.settings));
}

type Settings = Readonly<Record<string, string>>;
/** Settings, or a function that returns them for the database's URL. */
type Changes = Settings | ((databaseUrl: string) => Promise<Settings>);
type Room = Awaited<ReturnType<typeof prepareRoom>>;

async function prepareRoom(changes: Changes) {
  const database = await createTestDatabase();
  const redis = createTestRedis();
  const folder = await mkdtemp(join(tmpdir(), 'darkroom-e2e-'));
  const settings: Settings = {
    DATABASE_URL: database.url,
    REDIS_URL: redis.url,
    REDIS_PREFIX: redis.prefix,
    DATA_DIR: folder,
    SECRET_KEY: SECRET_KEY.padEnd(40, 'x'),
    MAX_TASKS_IN_FLIGHT: '0',
    RATE_SUBMITS_PER_MINUTE: '0',
    RATE_POLLS_PER_MINUTE: '0',
    RATE_CHATS_PER_MINUTE: '0',
    // Faults caused by one test must not affect the next.
    PROVIDER_FAILURES: '1000',
    ...LONG_TIMEOUTS,
    ...(typeof changes === 'function' ? await changes(database.url) : changes),
  };
  return { database, redis, folder, settings };
}

async function platformOf({ database, redis, folder, settings }: Room, api: TestProcess): Promise<ApiPlatform> {
  const secretKey = settings['SECRET_KEY'] ?? '';
  const pool = new pg.Pool({ connectionString: database.url, max: 2 });
  // A connection that is still closing when its database is dropped emits an error; without a listener, that would end
  // the process.
  pool.on('error', () => undefined);
  const { key } = await createKey(pool, secretKey, { name: 'e2e' });
  let count = 0;
  const closing: (() => Promise<void>)[] = [];
  const newKeyWithId: ApiPlatform['newKeyWithId'] = async (columns = {}, accountId) => {
    const key = await createKey(pool, secretKey, { name: `e2e ${++count}`, accountId });
    for (const [column, value] of Object.entries(columns)) {
      await pool.query(`UPDATE api_keys SET ${column} = $2 WHERE id = $1`, [key.id, value]);
    }
    return key;
  };
  return {
    url: api.url,
    key,
    secretKey,
    settings,
    api,
    pool,
    closing,
    newKeyWithId,
    newKey: async (columns, accountId) => (await newKeyWithId(columns, accountId)).key,
    newAccount: async () => {
      const id = `acct_e2e_${++count}`;
      await pool.query('INSERT INTO accounts (id, name) VALUES ($1, $1)', [id]);
      return id;
    },
    call: (path, options = {}) => call((options.at ?? api).url + path, key, options),
    close: async () => {
      await api.stop();
      for (const close of closing) await close();
      await pool.end();
      await redis.clean();
      await database.drop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function call(url: string, defaultKey: string, options: CallOptions): Promise<Response> {
  const { body, key = defaultKey } = options;
  const isJson = body !== null && typeof body === 'object' && Object.getPrototypeOf(body) === Object.prototype;
  return await fetch(url, {
    method: options.method ?? (body === undefined ? 'GET' : 'POST'),
    headers: {
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...(isJson ? { 'content-type': 'application/json' } : {}),
      ...options.headers,
    },
    signal: options.signal ?? AbortSignal.timeout(patient(60_000)),
    ...(body === undefined ? {} : { body: (isJson ? JSON.stringify(body) : body) as string }),
    ...(body instanceof ReadableStream ? { duplex: 'half' } : {}),
  });
}
