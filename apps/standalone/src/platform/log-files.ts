import { closeSync, fstatSync, ftruncateSync, openSync, readSync, renameSync, writeSync } from 'node:fs';

/** Size limit of a log file in bytes, and how many older files are kept as `.1` (the newest), `.2` and so on. */
export interface LogBounds {
  readonly maxBytes: number;
  readonly older: number;
}

const LOOK_EVERY_MS = 2_000;
const CHUNK = 1_048_576;

/**
 * Rotates logs that running processes append to. The processes keep their files open, so a full log is copied and
 * truncated; lines written in the microseconds between the two are lost.
 */
export class LogFiles {
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly files: readonly string[],
    private readonly bounds: LogBounds,
  ) {}

  /** Rotates now and every `everyMs`, until stop(). */
  watch(everyMs = LOOK_EVERY_MS): void {
    this.rotate();
    this.timer ??= setInterval(() => this.rotate(), everyMs);
    this.timer.unref();
  }

  stop(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  /** A log that can't be rotated, for example because the disk is full, is retried at the next interval. */
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

/**
 * Copies the newest `maxBytes` of a larger log to `.1` and truncates it; true when it did. Throws file system errors.
 */
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

/** Copies until nothing was appended meanwhile, so that truncating loses as little as possible. */
function copyEnd(log: number, target: string, maxBytes: number): void {
  const copy = openSync(target, 'w', 0o600);
  try {
    const chunk = Buffer.allocUnsafe(CHUNK);
    const end = fstatSync(log).size;
    let at = Math.max(0, end - maxBytes);
    for (;;) {
      const length = readSync(log, chunk, 0, CHUNK, at);
      // Stops at some point, in case a process writes faster than this copies.
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
