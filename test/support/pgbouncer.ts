import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startChild } from '#embedded/child.js';
import { waitUntil } from '#embedded/wait-until.js';
import { freePort } from './free-port.js';
import { pastedLines } from './pasted-lines.js';
import { patient } from './patience.js';

/** The program, if the machine has it; its test is skipped on others. */
export const PGBOUNCER = [process.env['TEST_PGBOUNCER'], '/usr/sbin/pgbouncer', '/usr/bin/pgbouncer'].find(
  (file) => file !== undefined && existsSync(file),
);

/** PgBouncer with the configuration of docs/operations.md; only addresses and pool size are changed. */
export async function startPgBouncer(databaseUrl: string): Promise<{ url: string; stop(): Promise<void> }> {
  const { hostname, port, username, password, pathname } = new URL(databaseUrl);
  const folder = await mkdtemp(join(tmpdir(), 'darkroom-pgbouncer-'));
  const own = await freePort();
  const file = join(folder, 'pgbouncer.ini');
  const users = join(folder, 'userlist.txt');
  const changes: readonly (readonly [RegExp, string])[] = [
    [/^darkroom = .*$/m, `${pathname.slice(1)} = host=${hostname} port=${port}`],
    [/^listen_addr = .*$/m, 'listen_addr = 127.0.0.1'],
    [/^listen_port = .*$/m, `listen_port = ${own}`],
    [/^auth_file = .*$/m, `auth_file = ${users}`],
    // So few that the transactions of one process alternate between them.
    [/^default_pool_size = .*$/m, 'default_pool_size = 3'],
  ];
  let text = pastedLines('docs/operations.md', '### PgBouncer');
  for (const [from, to] of changes) {
    if (!from.test(text)) throw new Error(`docs/operations.md has no ${from.source}`);
    text = text.replace(from, to);
  }
  // It refuses to run as root, and the default socket folder does not exist on every machine.
  const rest = ['unix_socket_dir =', ...(process.getuid?.() === 0 ? ['user = nobody'] : []), ''];
  await writeFile(file, [text, ...rest].join('\n'));
  await writeFile(users, `"${decodeURIComponent(username)}" "${decodeURIComponent(password)}"\n`);
  await chmod(folder, 0o755);
  const log = join(folder, 'pgbouncer.log');
  const child = await startChild({ command: PGBOUNCER ?? '', args: [file], env: {}, log, deathSignal: 'SIGKILL' });
  const stop = async (): Promise<void> => {
    await child.stop([['SIGTERM', 5_000]]);
    await rm(folder, { recursive: true });
  };
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${own}`;
  // By a connection: a check that listens on its port could keep PgBouncer from listening there.
  await waitUntil(async () => !child.running || (await answers(url.href)), { timeoutMs: patient(10_000) });
  if (!child.running || !(await answers(url.href))) {
    const said = child.lastLines(10).join('\n');
    await stop();
    throw new Error(`PgBouncer does not answer:\n${said}`);
  }
  return { url: url.href, stop };
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000, query_timeout: 5_000 });
  // A failed connection also emits its error.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('SELECT 1');
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}
