import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/**
 * Longest turns of a process's event loop, measured from inside: from outside, several short ones before a response look
 * like one. Start the process with the `settings`.
 */
export class Turns {
  private readonly folder = mkdtempSync(join(tmpdir(), 'darkroom-turns-'));
  private readonly file = join(this.folder, 'turns.txt');
  readonly settings = {
    NODE_OPTIONS: `--import=${resolve('test', 'support', 'turn-probe.mjs')}`,
    TURNS_FILE: this.file,
  };

  constructor() {
    writeFileSync(this.file, '');
  }

  /**
   * CPU time of the longest turn that ended since then (ms since the epoch), in ms; 0 if none took 10 ms. Throws if nothing
   * was measured at all: starting a process takes longer turns.
   */
  longestSince(since: number): number {
    const text = readFileSync(this.file, 'utf8');
    if (text === '') throw new Error('the process was not started with the settings of these turns');
    const turns = text.split('\n').map((line) => line.split(' ').map(Number));
    return Math.max(0, ...turns.map(([endedAt = 0, ms = 0]) => (endedAt >= since ? ms : 0)));
  }

  close(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
