import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** A program that runs as a child of this process and ends with it. */
export interface ChildCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** File that stdout and stderr are appended to, mode 0600. */
  readonly log: string;
  /** Signal that the operating system sends to the child when this process dies unexpectedly. */
  readonly deathSignal: NodeJS.Signals;
  readonly cwd?: string;
  /** A command that runs the command, e.g. `unshare ... --`. */
  readonly wrap?: readonly string[];
  readonly uid?: number | undefined;
  readonly gid?: number | undefined;
}

/** How a program ended: with an exit code, or by a signal. */
export interface ChildExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A signal to send, and the milliseconds to wait before the next. */
export type StopStep = readonly [signal: NodeJS.Signals, waitMs: number];

/** A child in its own process group, so that Ctrl-C reaches only this process, which stops its children in order. */
export class Child {
  readonly pid: number;
  readonly exited: Promise<ChildExit>;
  private stopping: Promise<ChildExit> | undefined;

  constructor(
    private readonly process: ChildProcess,
    private readonly log: string,
    private readonly logStart: number,
  ) {
    if (process.pid === undefined) throw new Error('The process was not started');
    this.pid = process.pid;
    this.exited = new Promise((resolve) => {
      process.once('exit', (code, signal) => resolve({ code, signal }));
    });
  }

  get running(): boolean {
    return this.process.exitCode === null && this.process.signalCode === null;
  }

  kill(signal: NodeJS.Signals): void {
    if (this.running) this.process.kill(signal);
  }

  /** Sends the signals in order until the child exits; SIGKILL always comes last. */
  stop(steps: readonly StopStep[]): Promise<ChildExit> {
    this.stopping ??= this.stopByForce(steps);
    return this.stopping;
  }

  private async stopByForce(steps: readonly StopStep[]): Promise<ChildExit> {
    for (const [signal, waitMs] of steps) {
      this.kill(signal);
      const waited = new AbortController();
      const exit = await Promise.race([this.exited, delay(waitMs, undefined, { signal: waited.signal })]);
      waited.abort();
      if (exit !== undefined) return exit;
    }
    this.kill('SIGKILL');
    return await this.exited;
  }

  /** The last lines that this child wrote. */
  lastLines(count: number): string[] {
    return tail(this.log, this.logStart, count);
  }
}

/** Starts the command. Throws when it can't be executed. */
export async function startChild(order: ChildCommand): Promise<Child> {
  const [command, ...args] = [
    ...(order.wrap ?? []),
    ...deathSignalWrap(order.deathSignal),
    order.command,
    ...order.args,
  ];
  const output = openSync(order.log, 'a', 0o600);
  try {
    const started = spawn(command ?? order.command, args, {
      cwd: order.cwd,
      env: order.env,
      stdio: ['ignore', output, output],
      detached: true,
      ...(order.uid === undefined ? {} : { uid: order.uid }),
      ...(order.gid === undefined ? {} : { gid: order.gid }),
    });
    const child = new Promise<Child>((resolve, reject) => {
      started.once('error', reject);
      started.once('spawn', () => {
        started.removeListener('error', reject);
        started.on('error', () => undefined);
        resolve(new Child(started, order.log, logStart));
      });
    });
    const logStart = fstatSync(output).size;
    return await child;
  } finally {
    closeSync(output);
  }
}

let deathSignalWorks: boolean | undefined;

/** Command prefix that ends a child when this process dies (util-linux); without it, the next start ends leftovers. */
export function deathSignalWrap(signal: NodeJS.Signals): string[] {
  deathSignalWorks ??= spawnSync('setpriv', ['--pdeathsig', 'SIGTERM', 'true'], { timeout: 5_000 }).status === 0;
  return deathSignalWorks ? ['setpriv', '--pdeathsig', signal] : [];
}

function tail(file: string, from: number, count: number): string[] {
  const handle = openSync(file, 'r');
  try {
    const { size } = fstatSync(handle);
    const start = Math.max(Math.min(from, size), size - 16_384);
    const bytes = Buffer.alloc(size - start);
    readSync(handle, bytes, 0, bytes.length, start);
    return bytes
      .toString('utf8')
      .split('\n')
      .filter((line) => line.trim() !== '')
      .slice(-count);
  } finally {
    closeSync(handle);
  }
}
