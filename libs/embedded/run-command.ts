import { execFile } from 'node:child_process';

interface CommandOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  readonly uid?: number | undefined;
  readonly gid?: number | undefined;
}

export interface CommandResult {
  readonly ok: boolean;
  readonly stdout: string;
  /** Why it failed, one line. */
  readonly reason: string;
}

/** Runs a short command to its end; a failure is a result, only an abort throws. */
export async function runCommand(command: readonly string[], options: CommandOptions): Promise<CommandResult> {
  const [file = '', ...args] = command;
  const result = await new Promise<CommandResult>((resolve) => {
    execFile(
      file,
      args,
      {
        cwd: options.cwd,
        env: options.env ?? process.env,
        timeout: options.timeoutMs,
        signal: options.signal,
        maxBuffer: 16 * 1024 * 1024,
        ...(options.uid === undefined ? {} : { uid: options.uid }),
        ...(options.gid === undefined ? {} : { gid: options.gid }),
      },
      (error, stdout, stderr) => {
        const said = stderr.trim().split('\n').at(-1) ?? '';
        resolve({ ok: error === null, stdout, reason: said === '' ? (error?.message ?? '') : said });
      },
    );
  });
  options.signal?.throwIfAborted();
  return result;
}
