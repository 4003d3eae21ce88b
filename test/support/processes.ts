import { closeSync, fstatSync, mkdtempSync, openSync, readFileSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { startChild, type ChildExit } from '#embedded/child.js';
import { imageRun, startInContainer, type RunningProcess } from './container.js';
import { freePort } from './free-port.js';
import { waitUntil } from '#embedded/wait-until.js';
import { patient } from './patience.js';

type Settings = Readonly<Record<string, string | undefined>>;

/** One of our real processes, from dist, started for a test. */
export interface TestProcess {
  readonly pid: number;
  /** URL of its HTTP server; a worker only serves /healthz and /readyz. */
  readonly url: string;
  readonly exited: Promise<ChildExit>;
  /** All log lines so far, parsed; lines that are not JSON are left out. */
  logs(): Record<string, unknown>[];
  /** The complete output so far. */
  output(): string;
  /** The first log line with this event; waits up to 45 s, then throws with the output. */
  logged(event: string): Promise<Record<string, unknown>>;
  /** Sends a signal: SIGSTOP freezes it, SIGCONT resumes it, SIGKILL is a crash. */
  kill(signal: NodeJS.Signals): void;
  /** Stops it with SIGTERM, and by force after 30 s. */
  stop(): Promise<ChildExit>;
}

const READY_MS = 60_000;
const STOP_MS = patient(30_000);
const started = new Set<RunningProcess>();
const folder = mkdtempSync(join(tmpdir(), 'darkroom-processes-'));

// No test may leave a process behind: one that does not stop on request is a failure, and is killed.
afterAll(async () => {
  const exits = await Promise.all([...started].filter(({ running }) => running).map((child) => end(child)));
  rmSync(folder, { recursive: true, force: true });
  const killed = exits.filter(({ signal }) => signal === 'SIGKILL').length;
  if (killed > 0) throw new Error(`${killed} processes did not end within ${STOP_MS / 1000} s of SIGTERM`);
});

/** Starts an API on a free port and waits for /readyz; `settings` is its whole environment, except PATH. */
export async function startApi(settings: Settings): Promise<TestProcess> {
  const port = Number(settings['PORT'] ?? (await freePort()));
  return await start('api', port, { HOST: '127.0.0.1', ...settings, PORT: String(port) });
}

/** Starts a worker and waits for its /readyz; `settings` is its whole environment, except PATH. */
export async function startWorker(settings: Settings): Promise<TestProcess> {
  const port = Number(settings['WORKER_HEALTH_PORT'] ?? (await freePort()));
  return await start('worker', port, { ...settings, WORKER_HEALTH_PORT: String(port) });
}

/** Starts a worker that may never reach a service; waits for its own log line instead of /readyz. */
export async function startUnreachedWorker(settings: Settings): Promise<TestProcess> {
  return await start('worker', await freePort(), settings, {
    script: builtScript('worker'),
    hasProbe: false,
  });
}

/** Starts a worker whose provider immediately returns one tiny image; only for requests of size `auto`. */
export async function startInstantWorker(settings: Settings): Promise<TestProcess> {
  return await start('worker', await freePort(), settings, {
    script: resolve('bench', 'instant-worker.mjs'),
    hasProbe: false,
  });
}

async function start(
  app: 'api' | 'worker',
  port: number,
  settings: Settings,
  { script, hasProbe } = { script: builtScript(app), hasProbe: true },
): Promise<TestProcess> {
  const log = join(folder, `${app}-${port}-${Date.now()}.log`);
  const env = { DATA_DIR: folder, LOG_LEVEL: 'debug', ...settings };
  const image = script === builtScript(app) ? imageRun() : undefined;
  const child = await (image === undefined ? startHere(script, env, log) : startInContainer(image, app, env, log));
  started.add(child);
  const output = (): string => readFileSync(log, 'utf8');
  const logs = follow(log);
  const host = settings[app === 'api' ? 'HOST' : 'WORKER_HEALTH_HOST'] ?? '127.0.0.1';
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  // Without a probe, its log says when it is ready.
  const isReady = async (): Promise<boolean> =>
    hasProbe ? await answers(`${url}/readyz`) : output().includes(`"${app}.started"`);
  const ready = await waitUntil(async () => !child.running || (await isReady()), { timeoutMs: READY_MS });
  if (!ready || !child.running) {
    await end(child);
    throw new Error(`the ${app} process did not become ready:\n${output()}`);
  }
  return {
    pid: child.pid,
    url,
    exited: child.exited,
    output,
    logs,
    logged: async (event) => {
      const find = (): Record<string, unknown> | undefined => logs().find((line) => line['event'] === event);
      await waitUntil(() => find() !== undefined, { timeoutMs: 45_000 });
      const found = find();
      if (found === undefined) throw new Error(`the ${app} process never logged ${event}:\n${output()}`);
      return found;
    },
    kill: (signal) => {
      child.kill(signal);
    },
    stop: () => end(child),
  };
}

function builtScript(app: 'api' | 'worker'): string {
  return resolve('dist', 'bin', `${app}.js`);
}

async function startHere(script: string, env: Settings, log: string): Promise<RunningProcess> {
  return await startChild({
    command: process.execPath,
    args: [script],
    env: { PATH: process.env['PATH'], ...env },
    log,
    deathSignal: 'SIGKILL',
  });
}

async function end(child: RunningProcess): Promise<ChildExit> {
  started.delete(child);
  if (!child.running) return await child.exited;
  // A frozen process receives SIGTERM only once it is resumed.
  child.kill('SIGCONT');
  return await child.stop([['SIGTERM', STOP_MS]]);
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(patient(2_000)) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}

/** All lines of a log, parsed. Each call only reads new lines, because tests poll many times a second. */
function follow(log: string): () => Record<string, unknown>[] {
  const lines: Record<string, unknown>[] = [];
  let read = 0;
  return () => {
    const added = readFrom(log, read);
    const complete = added.subarray(0, added.lastIndexOf('\n') + 1);
    read += complete.length;
    lines.push(...parse(complete.toString('utf8')));
    return [...lines];
  };
}

function readFrom(file: string, start: number): Buffer {
  const handle = openSync(file, 'r');
  try {
    const bytes = Buffer.alloc(fstatSync(handle).size - start);
    return bytes.subarray(0, readSync(handle, bytes, 0, bytes.length, start));
  } finally {
    closeSync(handle);
  }
}

function parse(output: string): Record<string, unknown>[] {
  return output.split('\n').flatMap((line) => {
    try {
      const value: unknown = JSON.parse(line);
      return typeof value === 'object' && value !== null ? [{ ...value }] : [];
    } catch {
      return [];
    }
  });
}
