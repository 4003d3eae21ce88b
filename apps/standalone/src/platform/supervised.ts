import { setTimeout as delay } from 'node:timers/promises';
import type { ChildExit } from '#embedded/child.js';

/** A running process, one of ours or an embedded service. */
export interface Running {
  readonly pid: number;
  readonly exited: Promise<ChildExit>;
  lastLines(count: number): string[];
  stop(): Promise<void>;
}

interface ProcessOptions {
  /** Its name in terminal output. */
  readonly name: string;
  readonly log: string;
  /** Starts the process; `again`: after a crash or a restart. */
  readonly start: (again: boolean) => Promise<Running>;
  /** Called whenever the process id has changed. */
  readonly onChange: () => void;
  readonly say: (line: string) => void;
}

const FIRST_WAIT_MS = 200;
const LONGEST_WAIT_MS = 30_000;
/** A process that ran this long is restarted without a long delay. */
const STEADY_MS = 60_000;

/** Keeps one process running until it is stopped. */
export class Supervised {
  private running: Running | undefined;
  private watching: Promise<void> | undefined;
  private restarting = false;
  private readonly stopped = new AbortController();

  constructor(private readonly options: ProcessOptions) {}

  get pid(): number | undefined {
    return this.running?.pid;
  }

  /** The first start; throws what it throws. */
  async start(): Promise<Running> {
    const running = await this.options.start(false);
    this.running = running;
    this.options.onChange();
    return running;
  }

  /** Restarts the process from now on whenever it ends. */
  watch(): void {
    this.watching ??= this.keepAlive();
  }

  /** Stops the process, which the watch then restarts. */
  async restart(): Promise<void> {
    this.restarting = true;
    await this.running?.stop();
  }

  /** Stops the process for good. */
  async stop(): Promise<void> {
    this.stopped.abort();
    await this.running?.stop();
    await this.watching;
  }

  private async keepAlive(): Promise<void> {
    let waitMs = FIRST_WAIT_MS;
    while (this.running !== undefined) {
      const since = performance.now();
      const exit = await this.running.exited;
      if (this.isStopped()) return;
      if (performance.now() - since > STEADY_MS) waitMs = FIRST_WAIT_MS;
      if (!this.restarting) this.report(this.running, exit, waitMs);
      await this.startAgain(waitMs);
      waitMs = Math.min(waitMs * 3, LONGEST_WAIT_MS);
    }
  }

  private async startAgain(firstWaitMs: number): Promise<void> {
    const { name, say, start, onChange } = this.options;
    for (let waitMs = firstWaitMs; !this.isStopped(); waitMs = Math.min(waitMs * 3, LONGEST_WAIT_MS)) {
      if (!this.restarting) await delay(waitMs, undefined, { signal: this.stopped.signal }).catch(() => undefined);
      if (this.isStopped()) return;
      try {
        this.running = await start(true);
        if (this.isStopped()) return await this.running.stop();
        onChange();
        say(`${capital(name)} ${this.restarting ? 'was restarted' : 'runs again'} (process ${this.running.pid}).`);
        this.restarting = false;
        return;
      } catch (error) {
        this.restarting = false;
        say(`${capital(name)} could not be started: ${error instanceof Error ? error.message : 'unknown reason'}`);
      }
    }
  }

  private isStopped(): boolean {
    return this.stopped.signal.aborted;
  }

  private report(running: Running, exit: ChildExit, waitMs: number): void {
    const how = exit.signal === null ? `code ${exit.code ?? 'unknown'}` : `signal ${exit.signal}`;
    const lines = running.lastLines(5).map((line) => `    ${line.slice(0, 300)}`);
    this.options.say(
      [
        `${capital(this.options.name)} exited unexpectedly (process ${running.pid}, ${how}); restarting it in ${waitMs / 1000} s.`,
        ...(lines.length === 0 ? [] : [`  Its last lines, from ${this.options.log}:`, ...lines]),
      ].join('\n'),
    );
  }
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
