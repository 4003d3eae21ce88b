import { execFile } from 'node:child_process';
import { appendFile, mkdtemp, rm, stat, writeFile, chown } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { startChild } from '#embedded/child.js';
import { findPostgres } from '#embedded/postgres-binaries.js';
import { choosePostgresUser } from '#embedded/postgres-user.js';
import { startPostgres } from '#embedded/postgres.js';
import { waitUntil } from '#embedded/wait-until.js';
import { freePort } from './free-port.js';
import { patient } from './patience.js';

const PASSWORD = 'pair';

/** A primary and its standby, which has every commit before the primary's client hears of it. */
export interface PostgresPair {
  readonly primary: string;
  readonly standby: string;
  /** The `host:port` of each, as a URL names several. */
  readonly hosts: { readonly primary: string; readonly standby: string };
  /** Whether the standby confirms commits; without that, each waits forever. */
  confirm(commits: boolean): Promise<void>;
  /** The primary is gone at once, as by a power cut. */
  killPrimary(): Promise<void>;
  /** The standby takes over. */
  promote(): Promise<void>;
  close(): Promise<void>;
}

export async function startPostgresPair(database: string): Promise<PostgresPair> {
  const folder = await mkdtemp(join(tmpdir(), 'darkroom-pair-'));
  const first = join(folder, 'first');
  const second = join(folder, 'second');
  const options = { folder: first, password: PASSWORD, database, log: join(folder, 'first.log') };
  await (await startPostgres(options)).stop();
  await promisify(execFile)('cp', ['-a', first, second]);
  const primary = await startPostgres(options);
  const port = await freePort();
  const standby = await startStandby(second, port, primary.port);
  const url = (at: number): string => `postgresql://darkroom:${PASSWORD}@127.0.0.1:${at}/${database}`;
  const isCopying = async (): Promise<boolean> =>
    (await query(primary.url, `SELECT FROM pg_stat_replication WHERE state = 'streaming'`)).rowCount === 1;
  expect(await waitUntil(isCopying, { timeoutMs: 60_000 })).toBe(true);
  const confirm = async (commits: boolean): Promise<void> => {
    await query(primary.url, `ALTER SYSTEM SET synchronous_standby_names = '${commits ? '*' : 'nobody'}'`);
    await query(primary.url, 'SELECT pg_reload_conf()');
  };
  await confirm(true);
  return {
    primary: primary.url,
    standby: url(port),
    hosts: { primary: `127.0.0.1:${primary.port}`, standby: `127.0.0.1:${port}` },
    confirm,
    killPrimary: async () => {
      process.kill(primary.pid, 'SIGKILL');
      await primary.exited;
    },
    promote: async () => {
      await query(url(port), 'SELECT pg_promote()');
    },
    close: async () => {
      await standby.stop([['SIGINT', 20_000]]);
      await primary.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function startStandby(folder: string, port: number, primaryPort: number) {
  const { postgres, env: libraries } = await findPostgres(folder);
  const env = { PATH: process.env['PATH'], LANG: 'C', TZ: 'UTC', ...libraries };
  const user = await choosePostgresUser(folder, postgres, env);
  const data = join(folder, 'data');
  const { uid, gid } = await stat(data);
  await writeFile(join(data, 'standby.signal'), '');
  await chown(join(data, 'standby.signal'), uid, gid);
  const source = `host=127.0.0.1 port=${primaryPort} user=darkroom password=${PASSWORD}`;
  await appendFile(join(data, 'postgresql.auto.conf'), `primary_conninfo = '${source}'\n`);
  const settings = { port, listen_addresses: '127.0.0.1', unix_socket_directories: '', max_connections: 200 };
  return await startChild({
    command: postgres,
    args: ['-D', data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    env,
    cwd: '/',
    log: join(folder, 'postgres.log'),
    deathSignal: 'SIGINT',
    ...user,
  });
}

async function query(url: string, text: string): Promise<pg.QueryResult> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: patient(10_000),
    query_timeout: patient(60_000),
  });
  client.on('error', () => undefined);
  await client.connect();
  return await client.query(text).finally(() => client.end());
}
