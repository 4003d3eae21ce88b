import { appendFileSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { startChild, type Child, type ChildExit } from '#embedded/child.js';
import { waitUntil } from '#embedded/wait-until.js';

const START_MS = 60_000;

/** How to run the container image instead of this folder's build; scripts/check/image/drills.mjs writes it. */
export interface ImageRun {
  /** The engine's own environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Gets a line for each container, so that nobody takes tests of this folder's build for tests of the image. */
  readonly started: string;
  /** The engine's command line up to the image, and the image. */
  readonly roles: Readonly<Record<'api' | 'worker', { readonly flags: readonly string[]; readonly image: string }>>;
}

/** What tests do with a process, here or in a container. */
export type RunningProcess = Pick<Child, 'pid' | 'running' | 'exited' | 'kill' | 'stop'>;

/** The image that the tests were told to run, if any. */
export function imageRun(): ImageRun | undefined {
  const file = process.env['TEST_IMAGE_RUN'];
  return file === undefined ? undefined : (JSON.parse(readFileSync(file, 'utf8')) as ImageRun);
}

/** Starts a role in a container of its own, on this machine's network; `env` is its environment. */
export async function startInContainer(
  { env: own, started, roles }: ImageRun,
  role: 'api' | 'worker',
  env: Readonly<Record<string, string | undefined>>,
  log: string,
): Promise<RunningProcess> {
  const { flags, image } = roles[role];
  const pidFile = `${log}.pid`;
  const variables = Object.entries(env).flatMap(([name, value]) =>
    value === undefined ? [] : `--env=${name}=${value}`,
  );
  const engine = await startChild({
    command: 'podman',
    args: [...flags, `--pidfile=${pidFile}`, ...variables, image, role],
    env: own,
    log,
    deathSignal: 'SIGTERM',
  });
  // The engine forwards neither SIGKILL nor SIGSTOP, so signals go to the container's first process.
  const pid = await pidIn(pidFile, engine);
  appendFileSync(started, `${role}\n`);
  const kill = (signal: NodeJS.Signals): void => {
    try {
      if (engine.running) process.kill(pid, signal);
    } catch (error) {
      // The process has ended, and the engine is still removing its container.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  };
  return {
    pid,
    get running() {
      return engine.running;
    },
    exited: engine.exited.then(exitOf),
    kill,
    stop: async (steps) => {
      for (const [signal, waitMs] of steps) {
        kill(signal);
        await Promise.race([engine.exited, delay(waitMs, undefined, { ref: false })]);
      }
      kill('SIGKILL');
      return exitOf(await engine.exited);
    },
  };
}

async function pidIn(file: string, engine: Child): Promise<number> {
  const read = (): number => {
    try {
      return Number(readFileSync(file, 'utf8'));
    } catch {
      // Not written yet.
      return 0;
    }
  };
  await waitUntil(() => read() > 0 || !engine.running, { timeoutMs: START_MS });
  if (read() > 0) return read();
  engine.kill('SIGTERM');
  throw new Error(`the container did not start:\n${engine.lastLines(20).join('\n')}`);
}

/** The engine ends with the exit code of the process, or 128 and the signal that ended it. */
function exitOf({ code, signal }: ChildExit): ChildExit {
  const name = Object.entries(constants.signals).find(([, number]) => code !== null && number === code - 128)?.[0];
  return name === undefined ? { code, signal } : { code: null, signal: name as NodeJS.Signals };
}
