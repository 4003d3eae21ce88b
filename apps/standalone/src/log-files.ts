import { closeSync, fstatSync, ftruncateSync, openSync, readSync, renameSync, writeSync } from 'node:fs';

/** Bytes of one log file, and how many older ones are kept beside it as `.1` (the newest), `.2` and so on. */
export interface LogBounds {
  readonly maxBytes: number;
  readonly older: number;
}

const LOOK_EVERY_MS = 2_000;
const CHUNK = 1_048_576;

/**
 * Keeps logs that running processes append to within their bounds. They write through a file of their own which nobody can
 * take from them, so a full log is copied and emptied; what is written between the two, microseconds, is lost.
 */
export class LogFiles {
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly files: readonly string[],
    private readonly bounds: LogBounds,
  ) {}

  /** Looks at once and from now on, every `everyMs`, until stop(). */
  watch(everyMs = LOOK_EVERY_MS): void {
    this.rotate();
    this.timer ??= setInterval(() => this.rotate(), everyMs);
    this.timer.unref();
  }

  stop(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  /** A log that can't be moved now, for a full disk or rights that changed, is tried again at the next look. */
  private rotate(): void {
    for (const file of this.files) {
      try {
        rotateLog(file, this.bounds);
      } catch {
        continue;
      }
    }
  }
}

/** Puts the newest `maxBytes` of a larger log aside and empties it; true when it did. Throws the file system's error. */
export function rotateLog(file: string, { maxBytes, older }: LogBounds): boolean {
  let log: number;
  try {
    log = openSync(file, 'r+');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
  try {
    if (fstatSync(log).size <= maxBytes) return false;
    for (let age = older - 1; age >= 1; age--) rename(`${file}.${age}`, `${file}.${age + 1}`);
    copyEnd(log, `${file}.1`, maxBytes);
    ftruncateSync(log);
    return true;
  } finally {
    closeSync(log);
  }
}

/** Until nothing was added meanwhile, so that as little as possible is lost when the log is emptied right after. */
function copyEnd(log: number, target: string, maxBytes: number): void {
  const copy = openSync(target, 'w', 0o600);
  try {
    const chunk = Buffer.allocUnsafe(CHUNK);
    const end = fstatSync(log).size;
    let at = Math.max(0, end - maxBytes);
    for (;;) {
      const length = readSync(log, chunk, 0, CHUNK, at);
      // A process that writes faster than this copies is not followed for ever.
      if (length === 0 || at >= end + CHUNK) return;
      writeSync(copy, chunk, 0, length);
      at += length;
    }
  } finally {
    closeSync(copy);
  }
}

function rename(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
