import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { startChild, type StopStep } from './child.js';
import { freePort, portIsFree } from './free-port.js';
import type { EmbeddedService } from './postgres.js';
import { findRedis } from './redis-binary.js';
import { SetupError } from './setup-error.js';
import { waitUntil } from './wait-until.js';

/** Settings of an embedded Redis. */
export interface RedisOptions {
  /** Holds the append-only file, the configuration, and the port; created if missing, with mode 0700. */
  readonly folder: string;
  /** Only letters, digits, - and _. */
  readonly password: string;
  /** File for the server's log. */
  readonly log: string;
  /** Folders for a downloaded server. */
  readonly toolFolders: readonly string[];
  /** False: nothing is written to disk. For tests. */
  readonly durable?: boolean;
  /** Additional lines for its configuration. */
  readonly lines?: readonly string[];
  /** Uses exactly this port, because other processes already have the address. */
  readonly port?: number | undefined;
  readonly onDownload?: () => void;
  readonly signal?: AbortSignal | undefined;
}

const START_MS = 60_000;
const STOP: readonly StopStep[] = [['SIGTERM', 15_000]];

/**
 * Starts Redis on 127.0.0.1, append-only and without eviction. Throws SetupError for problems that the operator can
 * fix.
 */
export async function startRedis(options: RedisOptions): Promise<EmbeddedService> {
  const { folder, password, signal } = options;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const binary = await findRedis({
    toolFolders: options.toolFolders,
    ...(options.onDownload === undefined ? {} : { onDownload: options.onDownload }),
    signal,
  });
  const kept = await keptPort(folder);
  if (kept !== undefined) await stopLeftover(kept, password);
  const port = options.port ?? (await freePort(kept));
  await writeFile(join(folder, 'port'), String(port));
  const configuration = join(folder, 'redis.conf');
  await writeFile(configuration, settings(port, options), { mode: 0o600 });
  const child = await startChild({
    command: binary.command,
    args: [configuration],
    env: { ...process.env, ...binary.env },
    cwd: folder,
    log: options.log,
    deathSignal: 'SIGTERM',
  });
  const up = await waitUntil(async () => !child.running || (await ask(port, password, 'PING')).includes('+PONG'), {
    timeoutMs: START_MS,
    signal,
  }).catch(async (error: unknown) => {
    await child.stop(STOP);
    throw error;
  });
  if (!up || !child.running) {
    await child.stop(STOP);
    throw new SetupError(`Redis did not start. The last lines of its log:\n  ${child.lastLines(5).join('\n  ')}`);
  }
  return {
    url: `redis://:${encodeURIComponent(password)}@127.0.0.1:${port}/0`,
    port,
    pid: child.pid,
    exited: child.exited,
    lastLines: (count) => child.lastLines(count),
    stop: async () => {
      await child.stop(STOP);
    },
  };
}

function settings(port: number, { folder, password, durable = true, lines = [] }: RedisOptions): string {
  return [
    'bind 127.0.0.1',
    `port ${port}`,
    `requirepass ${password}`,
    `dir ${JSON.stringify(folder)}`,
    'daemonize no',
    'save ""',
    `appendonly ${durable ? 'yes' : 'no'}`,
    'appendfsync everysec',
    // Redis must never evict BullMQ's jobs when it runs out of memory.
    'maxmemory-policy noeviction',
    ...lines,
    '',
  ].join('\n');
}

async function keptPort(folder: string): Promise<number | undefined> {
  const text = await readFile(join(folder, 'port'), 'utf8').catch(() => '');
  return /^\d{2,5}$/.test(text) ? Number(text) : undefined;
}

/** Stops the server of an earlier run; only that one accepts our password. */
async function stopLeftover(port: number, password: string): Promise<void> {
  if (await portIsFree(port)) return;
  if (!(await ask(port, password, 'PING')).includes('+PONG')) return;
  await ask(port, password, 'SHUTDOWN');
  await waitUntil(() => portIsFree(port), { timeoutMs: 15_000 });
}

/** Sends one command on its own connection; returns '' without a response within two seconds. */
function ask(port: number, password: string, command: string): Promise<string> {
  return new Promise((resolve) => {
    let answer = '';
    const socket = connect({ host: '127.0.0.1', port, timeout: 2_000 });
    const finish = (): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.on('timeout', finish);
    socket.on('error', finish);
    socket.on('close', finish);
    socket.on('data', (bytes) => {
      answer += bytes.toString('utf8');
      if (answer.split('\r\n').length > 2) finish();
    });
    socket.write(`AUTH ${password}\r\n${command}\r\n`);
  });
}
