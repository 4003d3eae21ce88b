import { spawn } from 'node:child_process';

interface CommandOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  readonly uid?: number | undefined;
  readonly gid?: number | undefined;
}

/** How a command ended, and its output. */
export interface CommandResult {
  readonly ok: boolean;
  readonly stdout: string;
  /** Why it failed, in one line. */
  readonly reason: string;
}

/** Enough for any package list. */
const MAX_OUTPUT = 4 * 1024 * 1024;

/**
 * Runs a short command. After the time limit, kills it and everything it started. A failure is a result; only an abort
 * throws, after everything has ended.
 */
export async function runCommand(command: readonly string[], options: CommandOptions): Promise<CommandResult> {
  options.signal?.throwIfAborted();
  const result = await run(command, options);
  options.signal?.throwIfAborted();
  return result;
}

function run([file = '', ...args]: readonly string[], options: CommandOptions): Promise<CommandResult> {
  return new Promise((resolve) => {
    const child = spawn(file, args, {
      cwd: options.cwd,
      env: options.env ?? process.env,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
      ...(options.uid === undefined ? {} : { uid: options.uid }),
      ...(options.gid === undefined ? {} : { gid: options.gid }),
    });
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (text: string) => {
        if (output[name].length < MAX_OUTPUT) output[name] += text;
      });
    }
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      killGroup(child.pid);
    }, options.timeoutMs);
    const onAbort = (): void => killGroup(child.pid);
    options.signal?.addEventListener('abort', onAbort);
    const finish = (ok: boolean, reason: string): void => {
      clearTimeout(timer);
      options.signal?.removeEventListener('abort', onAbort);
      resolve({ ok, stdout: output.stdout, reason });
    };
    child.once('error', (error) => finish(false, error.message));
    child.once('close', (code, signal) => {
      const said = output.stderr.trim().split('\n').at(-1) ?? '';
      const ended = late ? `timed out after ${options.timeoutMs / 1000} s` : `ended with ${signal ?? `code ${code}`}`;
      finish(code === 0, said === '' || late ? `${file} ${ended}` : said);
    });
  });
}

/** Kills the command and everything it started: the command leads its own process group. */
function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has already ended.
  }
}
