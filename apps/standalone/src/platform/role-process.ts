import { join } from 'node:path';
import { PACKAGE_ROOT } from '#config/package.js';
import { startChild, type StopStep } from '#embedded/child.js';
import { SetupError } from '#embedded/setup-error.js';
import type { Running } from './supervised.js';

export type Role = 'api' | 'worker';

/**
 * For glibc, ignored elsewhere: free buffers of 128 KiB (in bytes) and more return to the system at once. Otherwise
 * glibc soon keeps image buffers, fragmented: a worker that generates 4k images then takes nearly twice the memory.
 */
export const MALLOC_SETTINGS = { MALLOC_MMAP_THRESHOLD_: '131072', MALLOC_TRIM_THRESHOLD_: '131072' } as const;

/** Longer than any grace time, since the processes end by themselves; an impatient user sends a second signal. */
const STOP: readonly StopStep[] = [['SIGTERM', 3_660_000]];

interface RoleOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: string;
  /** Kills the process at once when aborted: the user has asked twice to stop. */
  readonly force: AbortSignal;
}

/**
 * Starts `dist/bin/<role>.js`. It is killed together with this process: without its database it could finish nothing.
 */
export async function startRole(role: Role, { env, log, force: hurry }: RoleOptions): Promise<Running> {
  const main = join(PACKAGE_ROOT, 'dist', 'bin', `${role}.js`);
  const child = await startChild({
    command: process.execPath,
    args: [main],
    log,
    deathSignal: 'SIGKILL',
    env: { ...MALLOC_SETTINGS, ...env },
  });
  const kill = (): void => child.kill('SIGKILL');
  hurry.addEventListener('abort', kill);
  void child.exited.then(() => hurry.removeEventListener('abort', kill));
  return {
    pid: child.pid,
    exited: child.exited,
    lastLines: (count) => child.lastLines(count),
    stop: async () => {
      await child.stop(hurry.aborted ? [] : STOP);
    },
  };
}

/** Rejects with a process's last lines of output when it ends; never resolves. */
export async function firstFailure(processes: readonly (readonly [name: string, Running])[]): Promise<never> {
  return await Promise.race(
    processes.map(async ([name, running]) => {
      await running.exited;
      const lines = running.lastLines(8).map((line) => `  ${line.slice(0, 500)}`);
      throw new SetupError([`The ${name} process exited during startup. Its last log lines:`, ...lines].join('\n'));
    }),
  );
}
