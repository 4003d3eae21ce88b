import { chown, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChild } from '#embedded/child.js';
import { choosePostgresUser } from '#embedded/postgres-user.js';
import { runCommand } from '#embedded/run-command.js';
import { waitUntil } from '#embedded/wait-until.js';
import { freePort } from './free-port.js';
import { patient } from './patience.js';

const PACKAGES = '/usr/lib/postgresql';

/** A server of the Debian package `postgresql`, with its programs. */
export interface DebianPostgres {
  /** URL of one of its databases, which need not exist. */
  url(database: string, role?: string): string;
  /** Runs one of its programs (pg_dump, pg_restore, createdb). Throws with the output when it fails. */
  run(program: string, ...args: string[]): Promise<void>;
  stop(): Promise<void>;
}

/** Folder of its programs; undefined if the package is not installed. The embedded server has no pg_dump. */
export async function findDebianPostgres(): Promise<string | undefined> {
  const versions = await readdir(PACKAGES).catch(() => []);
  const newest = versions.sort((a, b) => Number(a) - Number(b)).at(-1);
  return newest === undefined ? undefined : join(PACKAGES, newest, 'bin');
}

/** Starts a server in a temporary folder. Throws when it does not start. */
export async function startDebianPostgres(programs: string): Promise<DebianPostgres> {
  const folder = await mkdtemp(join(tmpdir(), 'darkroom-backup-'));
  const port = await freePort();
  const env = {
    PATH: process.env['PATH'],
    LANG: 'C',
    TZ: 'UTC',
    PGUSER: 'postgres',
    PGHOST: '127.0.0.1',
    PGPORT: String(port),
    // For deploy/postgres.sql.
    POSTGRES_PASSWORD: 'own-postgres',
  };
  const user = await choosePostgresUser(folder, join(programs, 'postgres'), env);
  if (user.uid !== undefined) await chown(folder, user.uid, user.gid ?? user.uid);
  const run = async (program: string, ...args: string[]): Promise<void> => {
    const command = [...user.wrap, join(programs, program), ...args];
    const { ok, reason } = await runCommand(command, {
      cwd: '/',
      env,
      timeoutMs: patient(120_000),
      uid: user.uid,
      gid: user.gid,
    });
    if (!ok) throw new Error(`${program} failed: ${reason}`);
  };
  const data = join(folder, 'data');
  await run(
    'initdb',
    `--pgdata=${data}`,
    '--username=postgres',
    '--auth=trust',
    '--encoding=UTF8',
    '--no-locale',
    '--no-sync',
  );
  const child = await startChild({
    command: join(programs, 'postgres'),
    args: ['-D', data, ...settings({ port, listen_addresses: '127.0.0.1', unix_socket_directories: '', fsync: 'off' })],
    env,
    cwd: '/',
    log: join(folder, 'postgres.log'),
    deathSignal: 'SIGINT',
    ...user,
  });
  const answers = (): Promise<boolean> =>
    run('pg_isready').then(
      () => true,
      () => false,
    );
  if (!(await waitUntil(answers, { timeoutMs: 60_000 }))) throw new Error(child.lastLines(5).join('\n'));
  return {
    url: (database, role = 'postgres') => `postgresql://${role}@127.0.0.1:${port}/${database}`,
    run,
    stop: async () => {
      await child.stop([['SIGINT', patient(20_000)]]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function settings(values: Readonly<Record<string, string | number>>): string[] {
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}
