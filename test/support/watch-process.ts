import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestProcess } from './processes.js';

/** What was seen of a process while something was done to it. */
export interface Seen {
  /**
   * The most that its event loop did before it answered one `GET /healthz`, in ms of a processor: what others of the
   * machine do meanwhile is no part of it.
   */
  readonly longestLoopMs: number;
  /** Resident memory at its highest and at the end, in MB (10^6 bytes) more than before. */
  readonly grownMb: number;
  readonly nowMb: number;
}

/** Does something to a process that is looked at from outside meanwhile, by a process with a loop of its own. */
export async function watched({ url, pid }: TestProcess, deed: () => Promise<void>): Promise<Seen> {
  const script = resolve('test', 'support', 'process-watcher.mjs');
  const watcher = spawn(process.execPath, [script, url, String(pid)], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface(watcher.stdout)[Symbol.asyncIterator]();
  try {
    await lines.next();
    await deed();
  } finally {
    watcher.stdin.end();
  }
  const { value } = await lines.next();
  if (watcher.exitCode === null) await once(watcher, 'exit');
  return JSON.parse(String(value)) as Seen;
}
