import { readFileSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import type { StopStep } from './child.js';
import { runCommand } from './run-command.js';
import { SetupError } from './setup-error.js';
import { waitUntil } from './wait-until.js';

/** Whether a process with this id runs, including other users' processes but not zombies. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return processState(pid) !== 'Z';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** State letter in /proc, or '' on systems without it. */
function processState(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.charAt(stat.lastIndexOf(')') + 2);
  } catch {
    return '';
  }
}

/** The command line of a process, or '' when it has ended or can't be read. */
async function commandLine(pid: number): Promise<string> {
  try {
    return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ').trim();
  } catch {
    const listed = await runCommand(['ps', '-o', 'args=', '-p', String(pid)], { timeoutMs: 5_000 });
    return listed.ok ? listed.stdout.trim() : '';
  }
}

/** Start time of a process, in the system's own format; distinguishes it from a later process with the same id. */
export async function processStartTime(pid: number): Promise<string> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    const listed = await runCommand(['ps', '-o', 'lstart=', '-p', String(pid)], { timeoutMs: 5_000 });
    return listed.stdout.trim();
  }
}

/**
 * Stops the server of an earlier run whose parent died without stopping it, and removes its pid file. If the process
 * has ended or is not `name`, only removes the pid file.
 */
export async function stopLeftover(pidFile: string, name: string, steps: readonly StopStep[]): Promise<void> {
  const pid = Number((await readFile(pidFile, 'utf8').catch(() => '')).split('\n')[0]);
  if (!Number.isInteger(pid) || pid <= 1) return;
  if (isRunning(pid) && (await commandLine(pid)).includes(name)) await stopProcess(pid, steps);
  await rm(pidFile, { force: true });
}

/** Stops a process that is not a child of this one. Throws SetupError when it can't. */
export async function stopProcess(pid: number, steps: readonly StopStep[]): Promise<void> {
  for (const [signal, waitMs] of [...steps, ['SIGKILL', 5_000] as const]) {
    try {
      process.kill(pid, signal);
    } catch {
      if (!isRunning(pid)) return;
    }
    if (await waitUntil(() => !isRunning(pid), { timeoutMs: waitMs })) return;
  }
  throw new SetupError(`Process ${pid} of an earlier run can't be stopped; stop it and start again.`);
}
