import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestProcess } from './processes.js';

/** What a process did and held during an action; nothing of it depends on the machine, or on what else it does. */
export interface Seen {
  /**
   * CPU time of the longest turn of its event loop, in what the same process needs at that moment to parse 1 MB of plain
   * JSON. Measured from inside: from outside, several short ones before a response look like one.
   */
  readonly longestTurn: number;
  /** The same in ms, to be told and not to be judged. */
  readonly longestTurnMs: number;
  /** Memory in use at the end, in MB (10^6 bytes), after a full garbage collection: objects, texts and buffers. */
  readonly liveMb: number;
  /** How much more was in use at most than at the beginning, and at the end. */
  readonly grownMb: number;
  readonly nowMb: number;
}

/** Looks into processes that were started with its `settings`. */
export class ProcessProbe {
  private readonly folder = mkdtempSync(join(tmpdir(), 'darkroom-probe-'));
  readonly settings = {
    NODE_OPTIONS: `--import=${resolve('test', 'support', 'observed-process.mjs')}`,
    PROBE_FOLDER: this.folder,
  };

  /** Runs an action, and observes a process meanwhile. Throws when the process ends during it. */
  async during({ pid }: TestProcess, work: () => Promise<void>): Promise<Seen> {
    const socket = connect({ path: join(this.folder, `${pid}.sock`), allowHalfOpen: true });
    await once(socket, 'connect');
    const lines = createInterface(socket)[Symbol.asyncIterator]();
    try {
      await lines.next();
      await work();
    } finally {
      socket.end();
    }
    const { value, done } = await lines.next();
    if (done === true) throw new Error(`process ${pid} ended while it was observed`);
    return JSON.parse(String(value)) as Seen;
  }

  /** Memory that a process has in use now, in MB. */
  async liveMb(process: TestProcess): Promise<number> {
    return (await this.during(process, () => Promise.resolve())).liveMb;
  }

  close(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
