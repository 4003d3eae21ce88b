import { chown, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { deathSignalWrap, startChild, type Child, type ChildExit, type StopStep } from './child.js';
import { freePort } from './free-port.js';
import { findPostgres, type PostgresBinaries } from './postgres-binaries.js';
import { choosePostgresUser, type PostgresUser } from './postgres-user.js';
import { stopLeftover } from './leftover.js';
import { runCommand } from './run-command.js';
import { SetupError } from './setup-error.js';
import { waitUntil } from './wait-until.js';

/** Settings of an embedded Postgres: its folder, its superuser, and the database to create. */
export interface PostgresOptions {
  /** Holds the cluster, its port, and spare library links; created if missing, with mode 0700. */
  readonly folder: string;
  /** Password of the user `darkroom`, the cluster's superuser. */
  readonly password: string;
  /** Database to create if it does not exist. */
  readonly database: string;
  /** File for the server's log. */
  readonly log: string;
  /** False: a machine crash may lose the cluster. For tests. */
  readonly durable?: boolean;
  /** Uses exactly this port, because other processes already have the address. */
  readonly port?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A running server that this process started. */
export interface EmbeddedService {
  /** URL with credentials. */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly exited: Promise<ChildExit>;
  lastLines(count: number): string[];
  /** Stops the server, by force if necessary; resolves when it has exited. */
  stop(): Promise<void>;
}

const USER = 'darkroom';
const START_MS = 60_000;
const STOP: readonly StopStep[] = [
  ['SIGINT', 20_000],
  ['SIGQUIT', 5_000],
];

/**
 * Starts Postgres on 127.0.0.1, and creates the cluster at the first start. Throws SetupError for problems that the
 * operator can fix.
 */
export async function startPostgres(options: PostgresOptions): Promise<EmbeddedService> {
  const { folder, signal } = options;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const binaries = await findPostgres(folder);
  const env = { PATH: process.env['PATH'], LANG: 'C', TZ: 'UTC', ...binaries.env };
  const user = await choosePostgresUser(folder, binaries.postgres, env);
  const data = join(folder, 'data');
  await stopLeftover(join(data, 'postmaster.pid'), 'postgres', STOP);
  await makeCluster(data, options.password, binaries, user, env, signal);
  const port = options.port ?? (await freePort(await keptPort(folder)));
  await writeFile(join(folder, 'port'), String(port));
  const child = await startChild({
    command: binaries.postgres,
    args: ['-D', data, ...settings(port, options.durable ?? true)],
    env,
    cwd: '/',
    log: options.log,
    deathSignal: 'SIGINT',
    ...user,
  });
  try {
    await ready(child, data, signal);
    await makeDatabase(port, options);
  } catch (error) {
    await child.stop(STOP);
    throw error;
  }
  return {
    url: address(port, options.password, options.database),
    port,
    pid: child.pid,
    exited: child.exited,
    lastLines: (count) => child.lastLines(count),
    stop: async () => {
      await child.stop(STOP);
    },
  };
}

function settings(port: number, durable: boolean): string[] {
  const values = {
    port,
    listen_addresses: '127.0.0.1',
    // A socket path longer than 107 bytes would stop the server from starting.
    unix_socket_directories: '',
    max_connections: 200,
    timezone: 'UTC',
    log_timezone: 'UTC',
    // The details of a failed statement quote rows, and rows contain prompts.
    log_error_verbosity: 'terse',
    log_min_error_statement: 'panic',
    ...(durable ? {} : { fsync: 'off', full_page_writes: 'off' }),
  };
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

async function makeCluster(
  data: string,
  password: string,
  binaries: PostgresBinaries,
  user: PostgresUser,
  env: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const version = await readFile(join(data, 'PG_VERSION'), 'utf8').catch(() => undefined);
  if (version !== undefined) return;
  // Created under another name and then renamed, so that an interrupted start never leaves an incomplete cluster.
  const unfinished = `${data}.new`;
  const passwordFile = `${data}.password`;
  await rm(unfinished, { recursive: true, force: true, maxRetries: 5 });
  await writeFile(passwordFile, password, { mode: 0o600 });
  if (user.uid !== undefined) await chown(passwordFile, user.uid, user.gid ?? user.uid);
  try {
    const result = await runCommand(
      [
        ...user.wrap,
        ...deathSignalWrap('SIGKILL'),
        binaries.initdb,
        `--pgdata=${unfinished}`,
        `--username=${USER}`,
        `--pwfile=${passwordFile}`,
        '--auth=scram-sha-256',
        '--encoding=UTF8',
        '--locale-provider=builtin',
        '--builtin-locale=C.UTF-8',
        '--no-locale',
        '--no-instructions',
      ],
      { cwd: '/', env, timeoutMs: 120_000, signal, uid: user.uid, gid: user.gid },
    );
    if (!result.ok) throw new SetupError(`Postgres could not create its data folder ${data}: ${result.reason}`);
    await rename(unfinished, data);
  } finally {
    await rm(passwordFile, { force: true });
  }
}

async function keptPort(folder: string): Promise<number | undefined> {
  const text = await readFile(join(folder, 'port'), 'utf8').catch(() => '');
  return /^\d{2,5}$/.test(text) ? Number(text) : undefined;
}

async function ready(child: Child, data: string, signal: AbortSignal | undefined): Promise<void> {
  const file = join(data, 'postmaster.pid');
  const up = await waitUntil(
    async () => {
      if (!child.running) throw startFailure(child);
      const lines = (await readFile(file, 'utf8').catch(() => '')).split('\n');
      return lines[0] === String(child.pid) && lines[7]?.trim() === 'ready';
    },
    { timeoutMs: START_MS, everyMs: 10, signal },
  );
  if (!up) throw startFailure(child);
}

function startFailure(child: Child): SetupError {
  const said = child.lastLines(5).join('\n  ');
  return new SetupError(`Postgres did not start. The last lines of its log:\n  ${said}`);
}

async function makeDatabase(port: number, { password, database }: PostgresOptions): Promise<void> {
  const client = new pg.Client({
    connectionString: address(port, password, 'postgres'),
    connectionTimeoutMillis: 10_000,
    query_timeout: 30_000,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const found = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [database]);
    if (found.rowCount === 0) await client.query(`CREATE DATABASE ${client.escapeIdentifier(database)}`);
  } catch (error) {
    if ((error as { code?: string }).code === '28P01')
      throw new SetupError(
        'The embedded database was created with a different password than the one in the secrets file. ' +
          'Restore the old secrets file, or remove the database folder to start over.',
      );
    throw error;
  } finally {
    await client.end().catch(() => undefined);
  }
}

function address(port: number, password: string, database: string): string {
  return `postgresql://${USER}:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}`;
}
