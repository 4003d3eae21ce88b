import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestProcess } from './processes.js';
import type { Turns } from './turns.js';

/** Observations of a process during an action. */
export interface Seen {
  /**
   * The maximum CPU time of its event loop until it responded to one `GET /healthz`, in ms, without time used by other
   * processes of the machine.
   */
  readonly longestLoopMs: number;
  /** CPU time of its longest turn, in ms; 0 without `turns`. */
  readonly longestTurnMs: number;
  /** Peak and final growth of resident memory, in MB (10^6 bytes). */
  readonly grownMb: number;
  readonly nowMb: number;
}

/**
 * Runs an action on a process while another process watches it, with an event loop of its own. `turns`: of a process that
 * was started with their settings.
 */
export async function watched({ url, pid }: TestProcess, deed: () => Promise<void>, turns?: Turns): Promise<Seen> {
  const script = resolve('test', 'support', 'process-watcher.mjs');
  const watcher = spawn(process.execPath, [script, url, String(pid)], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface(watcher.stdout)[Symbol.asyncIterator]();
  const since = Date.now();
  try {
    await lines.next();
    await deed();
  } finally {
    watcher.stdin.end();
  }
  const { value } = await lines.next();
  if (watcher.exitCode === null) await once(watcher, 'exit');
  return { ...(JSON.parse(String(value)) as Seen), longestTurnMs: turns?.longestSince(since) ?? 0 };
}
